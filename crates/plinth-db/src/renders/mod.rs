//! Renders. A row is both the render and its entry in the work queue.

pub use lists::{
    RenderFilter, RenderSummary, count, list, list_if_small, list_summaries, newest, newest_done, newest_done_with,
    summaries_characters,
};
pub use replay::{Earlier, delete_replayed_keys, find_earlier, insert_replayed_keys};

use std::sync::LazyLock;

use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, ModelId, RenderId, WorkspaceId};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};
use plinth_spec::{FailureCode, WorkClass};

use crate::sql::{Param, params, touched};
use crate::states::{BuiltSql, after_packaging, is_in, may, may_package};
use crate::table::table;
use crate::{Conn, Result, Tx, storage};

#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    pub id: RenderId,
    /// Workspace that owns the render.
    pub workspace_id: WorkspaceId,
    /// Model that is rendered.
    pub model_id: ModelId,
    /// Account that is charged.
    pub payer_id: AccountId,
    /// Canonical settings, as JSON.
    pub settings: String,
    /// Hex SHA-256 of the settings.
    pub settings_sha256: String,
    /// Hex SHA-256 of the settings that affect the frames. Two renders of one model with the same hash have the same
    /// frames. Empty for renders that were created before the hash was stored.
    pub frames_sha256: String,
    /// Class of the work; `None` if the render was created before classes were stored.
    pub work_class: Option<WorkClass>,
    /// Idempotency key; empty if the request had none.
    pub replay_key: String,
    /// Index among those renders of one request that have the same model and settings.
    pub replay_ordinal: i64,
    /// Whether the render is the free preview that an upload creates.
    pub is_system_preview: bool,
    /// Pool of credits that was charged; `None` if the render was free.
    pub pool: Option<Pool>,
    /// Number of credits charged.
    pub credits: u64,
    pub status: RenderStatus,
    /// State of the HLS packaging.
    pub hls_status: HlsStatus,
    /// Machine-readable reason of a failure.
    pub failure_code: Option<FailureCode>,
    /// Human-readable reason of a failure.
    pub error_message: Option<String>,
    /// Warnings about items that the settings name but that do not exist, as a JSON array of strings.
    pub warnings: String,
    /// Number of times that a worker has claimed the render.
    pub attempt: i64,
    /// Number of times that a worker has claimed the HLS packaging.
    pub hls_attempt: i64,
    /// Number of the attempt whose poster is valid.
    pub poster_attempt: Option<i64>,
    /// Number of the attempt whose files are valid.
    pub files_attempt: Option<i64>,
    /// List of output files, as JSON.
    pub files: Option<String>,
    /// W3C trace context (`traceparent`) of the request that created the render; `None` if traces were not recorded.
    pub trace_parent: Option<String>,
    /// Fraction of the work that is done, from 0 to 1. Valid if `progress_attempt` is the current attempt.
    pub progress: Option<f64>,
    /// Number of the attempt that reported `progress`.
    pub progress_attempt: Option<i64>,
    /// Time at which the worker expects to have drawn all frames.
    pub progress_ends_at: Option<i64>,
    /// Time of creation.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

table!(Render in "renders", columns: id, workspace_id, model_id, payer_id, settings, settings_sha256, frames_sha256,
    work_class, replay_key, replay_ordinal, is_system_preview, pool, credits, status, hls_status, failure_code, error_message, warnings,
    attempt, hls_attempt, poster_attempt, files_attempt, files, trace_parent, progress, progress_attempt,
    progress_ends_at, created_at, updated_at);
pub(crate) use columns;

// These modules use the macro `columns!`, which must be declared before them.
mod changed_count;
mod lists;
mod newest_count;
mod replay;

/// Inserts a render and increments its workspace's counter of renders.
pub async fn insert(tx: &mut Tx, render: &Render) -> Result<()> {
    render.add(tx).await?;
    add_to_count(tx, &render.workspace_id, 1).await
}

/// Inserts renders of one workspace with one statement, and adds their number to the workspace's counter of renders.
pub async fn insert_all(tx: &mut Tx, renders: &[Render]) -> Result<()> {
    let Some(first) = renders.first() else { return Ok(()) };
    let values: Vec<Param> = renders.iter().flat_map(Render::values).collect();
    tx.insert_rows("renders", columns!(), &values).await?;
    add_to_count(tx, &first.workspace_id, i64::try_from(renders.len()).unwrap_or(i64::MAX)).await
}

async fn add_to_count(tx: &mut Tx, workspace: &WorkspaceId, more: i64) -> Result<()> {
    let sql = "UPDATE workspaces SET render_count = render_count + $2 WHERE id = $1";
    tx.execute(sql, params![workspace, more]).await.map(drop)
}

/// Finds a render of a workspace. Returns `None` for a deleted render.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &RenderId) -> Result<Option<Render>> {
    // The query does not name the workspace. Otherwise PostgreSQL, while it has no statistics of the table yet, searches all rows of
    // the workspace in another index than that of the identifiers.
    Ok(find_anywhere(conn, id).await?.filter(|render| render.workspace_id == *workspace))
}

/// Finds a render in any workspace. Used by workers, which serve all workspaces.
pub async fn find_anywhere(conn: &mut Conn, id: &RenderId) -> Result<Option<Render>> {
    let sql = concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND deleted_at IS NULL");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(Render::of).transpose()
}

/// Lists the renders that no worker has claimed and that were charged to the paid credits of an account, newest first.
pub async fn list_pending_paid(conn: &mut Conn, payer: &AccountId, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE payer_id = $1 AND status = $2 AND pool = $3 AND credits > 0 AND lease_token IS NULL \
         AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $4"
    );
    let params = params![payer, RenderStatus::Pending.as_str(), Pool::Paid.as_str(), i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(Render::of).collect()
}

/// Lists at most `limit` renders of a workspace that no worker has claimed, newest first.
pub async fn list_pending_in(conn: &mut Conn, workspace: &WorkspaceId, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE workspace_id = $1 AND status = $2 AND lease_token IS NULL AND deleted_at IS NULL \
         ORDER BY created_at DESC, id DESC LIMIT $3"
    );
    let params = params![workspace, RenderStatus::Pending.as_str(), i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(Render::of).collect()
}

/// Finds the newest system preview of a model. Ignores failed previews.
pub async fn find_system_preview(conn: &mut Conn, model: &ModelId) -> Result<Option<RenderId>> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "SELECT id FROM renders WHERE model_id = $1 AND is_system_preview AND deleted_at IS NULL AND NOT ({}) \
             ORDER BY created_at DESC, id DESC LIMIT 1",
            is_in(RenderStatus::has_failed)
        ))
    });
    let row = conn.fetch_optional(&SQL, params![model]).await?;
    row.map(|row| row.parsed("id", RenderId::parse)).transpose()
}

/// Counts the system previews that were created for an account after the time `since`, including deleted previews.
pub async fn count_system_previews(conn: &mut Conn, payer: &AccountId, since: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM renders WHERE payer_id = $1 AND is_system_preview AND created_at > $2";
    conn.fetch_one(sql, params![payer, since]).await?.count("n")
}

/// Counts the queued and the claimed renders by state.
pub async fn count_unfinished(conn: &mut Conn) -> Result<Vec<(RenderStatus, u64)>> {
    // Two queries joined with UNION ALL, so that each of them uses its own partial index.
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "SELECT status, count(*) AS n FROM renders WHERE {} AND deleted_at IS NULL GROUP BY status \
             UNION ALL SELECT status, count(*) AS n FROM renders WHERE lease_token IS NOT NULL AND {} GROUP BY status",
            may(RenderEvent::Claim),
            is_in(RenderStatus::is_held)
        ))
    });
    let rows = conn.fetch_all(&SQL, params![]).await?;
    rows.iter().map(|row| Ok((row.parsed("status", RenderStatus::from_name)?, row.count("n")?))).collect()
}

/// Counts the queued and the claimed renders of a workspace.
pub async fn count_unfinished_in(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        let is_unfinished = is_in(|status| !status.is_final());
        BuiltSql::same(format!(
            "SELECT count(*) AS n FROM renders WHERE workspace_id = $1 AND {is_unfinished} AND deleted_at IS NULL"
        ))
    });
    conn.fetch_one(&SQL, params![workspace]).await?.count("n")
}

static LIST_ENDED_IN: LazyLock<BuiltSql> = LazyLock::new(|| {
    BuiltSql::same(format!(
        "SELECT id FROM renders WHERE workspace_id = $1 AND {} AND deleted_at IS NULL LIMIT $2",
        is_in(RenderStatus::is_final)
    ))
});

/// Lists at most `limit` renders of a workspace that have ended, in any order.
pub async fn list_ended_in(conn: &mut Conn, workspace: &WorkspaceId, limit: u32) -> Result<Vec<RenderId>> {
    let rows = conn.fetch_all(&LIST_ENDED_IN, params![workspace, i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", RenderId::parse)).collect()
}

/// Counts the finished renders whose HLS packaging is queued.
pub async fn count_unpackaged(conn: &mut Conn) -> Result<u64> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        let queued = may_package(HlsEvent::Claim);
        BuiltSql::same(format!("SELECT count(*) AS n FROM renders WHERE {queued} AND deleted_at IS NULL"))
    });
    conn.fetch_one(&SQL, params![]).await?.count("n")
}

/// Changes the state of a render that no worker has claimed. Returns false if a worker has claimed it, or if it is not
/// in state `from`.
pub async fn set_status(
    tx: &mut Tx,
    id: &RenderId,
    from: RenderStatus,
    to: RenderStatus,
    message: Option<&str>,
    now: i64,
) -> Result<bool> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "UPDATE renders SET status = $3, error_message = coalesce($4, error_message), \
             hls_status = CASE WHEN $3 = '{}' THEN {} ELSE hls_status END, \
             failure_code = CASE WHEN $3 = '{}' THEN failure_code END, {} \
             WHERE id = $1 AND status = $2 AND lease_token IS NULL AND deleted_at IS NULL",
            RenderStatus::Failed.as_str(),
            after_packaging(HlsEvent::Skip),
            RenderStatus::Error.as_str(),
            touched!("$5")
        ))
    });
    Ok(tx.execute(&SQL, params![id, from.as_str(), to.as_str(), message, now]).await? == 1)
}

/// Marks a render as deleted, and subtracts it and its files from its workspace's counters. Returns false if the render does
/// not exist, is deleted already, or is not in a final state.
pub async fn set_deleted(tx: &mut Tx, id: &RenderId, now: i64) -> Result<bool> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "UPDATE renders SET deleted_at = $2, lease_token = NULL, lease_until = NULL, lease_ms = NULL, worker = NULL, {} \
             WHERE id = $1 AND deleted_at IS NULL AND {} RETURNING workspace_id, stored_bytes",
            touched!("$2"),
            is_in(RenderStatus::is_final)
        ))
    });
    let Some(row) = tx.fetch_optional(&SQL, params![id, now]).await? else { return Ok(false) };
    let workspace = row.parsed("workspace_id", WorkspaceId::parse)?;
    storage::add(tx, &workspace, -row.maybe_int("stored_bytes")?.unwrap_or_default()).await?;
    add_to_count(tx, &workspace, -1).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;
    use crate::sql::Sql;

    #[tokio::test(flavor = "multi_thread")]
    async fn ended_renders_of_a_workspace_are_found_by_an_index_of_workspaces() {
        for (database, searched) in [
            (TestDatabase::sqlite(), "INDEX renders_status (workspace_id=? AND status=?)"),
            (TestDatabase::postgres(), "Index Cond: (workspace_id = "),
        ] {
            let [plan] = plans_on(&database, [Sql::from(&LIST_ENDED_IN)], [params!["workspace", 9_i64]]).await;
            assert!(plan.contains(searched), "{plan}");
        }
    }
}
