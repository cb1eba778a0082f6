//! Renders. A row is both the render and the job in the work queue.

use std::sync::LazyLock;

use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, ModelId, RenderId, WorkspaceId};
use plinth_spec::page::{PageRequest, Position, Start};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};
use plinth_spec::{FailureCode, WorkClass};

use crate::sql::{params, touched};
use crate::states::{BuiltSql, after_packaging, is_in, may, may_package};
use crate::table::table;
use crate::{Conn, Result, Tx, workspaces};

/// A render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Render {
    /// Identifier.
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
    /// Hex SHA-256 of the settings that affect the frames; equal for renders of a model that share frames. Empty if unknown.
    pub frames_sha256: String,
    /// Class of the work; `None` if the render was created before classes were stored.
    pub work_class: Option<WorkClass>,
    /// Idempotency key; empty if the request had none.
    pub replay_key: String,
    /// Index among identical renders of the same request.
    pub replay_ordinal: i64,
    /// Whether this is the free preview that is created on upload.
    pub is_system_preview: bool,
    /// Pool of credits that was charged; `None` if the render was free.
    pub pool: Option<Pool>,
    /// Number of credits charged.
    pub credits: u64,
    /// Current state.
    pub status: RenderStatus,
    /// State of the HLS packaging.
    pub hls_status: HlsStatus,
    /// Machine-readable reason of a failure.
    pub failure_code: Option<FailureCode>,
    /// Human-readable reason of a failure.
    pub error_message: Option<String>,
    /// Warnings about items that the settings name but that are missing, as a JSON array of strings.
    pub warnings: String,
    /// How often a worker has claimed the render.
    pub attempt: i64,
    /// How often a worker has claimed the HLS packaging.
    pub hls_attempt: i64,
    /// Attempt whose poster is valid.
    pub poster_attempt: Option<i64>,
    /// Attempt whose files are valid.
    pub files_attempt: Option<i64>,
    /// List of output files, as JSON.
    pub files: Option<String>,
    /// Time of creation.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

/// Filter of a list of renders.
#[derive(Clone, Debug)]
pub struct RenderFilter {
    /// Only renders of this workspace.
    pub workspace_id: WorkspaceId,
    /// Only renders of this model.
    pub model_id: Option<ModelId>,
    /// Only renders in this state.
    pub status: Option<RenderStatus>,
    /// Only renders that changed at or after this time.
    pub updated_since: Option<i64>,
}

table!(Render in "renders", columns: id, workspace_id, model_id, payer_id, settings, settings_sha256, frames_sha256,
    work_class, replay_key, replay_ordinal, is_system_preview, pool, credits, status, hls_status, failure_code, error_message, warnings,
    attempt, hls_attempt, poster_attempt, files_attempt, files, created_at, updated_at);
pub(crate) use columns;

// One condition per index. A single condition for all filters would make the database read the whole list.
macro_rules! filter {
    (none) => {
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND $2 IS NULL AND $3 IS NULL AND $4 IS NULL "
    };
    (workspace) => {
        " FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND $2 IS NULL \
         AND ($3 IS NULL OR status = $3) AND ($4 IS NULL OR updated_at >= $4) "
    };
    (model) => {
        " FROM renders WHERE model_id = $2 AND workspace_id = $1 AND deleted_at IS NULL \
         AND ($3 IS NULL OR status = $3) AND ($4 IS NULL OR updated_at >= $4) "
    };
}
// Builds a statement over a list, with the condition that fits the filter.
macro_rules! over {
    ($filter:expr, $before:expr, $after:expr) => {
        match $filter {
            RenderFilter { model_id: Some(_), .. } => concat!($before, filter!(model), $after),
            RenderFilter { status: None, updated_since: None, .. } => concat!($before, filter!(none), $after),
            _ => concat!($before, filter!(workspace), $after),
        }
    };
}

/// Inserts a render and increments its workspace's counter.
pub async fn insert(tx: &mut Tx, render: &Render) -> Result<()> {
    render.add(tx).await?;
    let sql = "UPDATE workspaces SET render_count = render_count + 1 WHERE id = $1";
    tx.execute(sql, params![&render.workspace_id]).await.map(drop)
}

/// Finds a render of a workspace; deleted renders are not found.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &RenderId) -> Result<Option<Render>> {
    let sql =
        concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Render::of).transpose()
}

/// Finds a render in any workspace, for workers.
pub async fn find_anywhere(conn: &mut Conn, id: &RenderId) -> Result<Option<Render>> {
    let sql = concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND deleted_at IS NULL");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(Render::of).transpose()
}

/// Finds the earlier render to return for a repeated request: the newest one with the workspace, model, settings and
/// ordinal of `draft` that was created since `keyed_since` with the same idempotency key, or since `any_since` with any key.
/// `any_since` must not be earlier than `keyed_since`.
pub async fn find_earlier(conn: &mut Conn, draft: &Render, keyed_since: i64, any_since: i64) -> Result<Option<Render>> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "SELECT {} FROM renders WHERE workspace_id = $1 AND settings_sha256 = $3 AND created_at >= $6 \
             AND model_id = $2 AND (replay_key = $4 OR created_at >= $7) AND replay_ordinal = $5 \
             AND NOT is_system_preview AND deleted_at IS NULL AND NOT ({}) \
             ORDER BY CASE WHEN replay_key = $4 THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT 1",
            columns!(),
            is_in(RenderStatus::has_failed)
        ))
    });
    let values = params![
        &draft.workspace_id,
        &draft.model_id,
        draft.settings_sha256.as_str(),
        draft.replay_key.as_str(),
        draft.replay_ordinal,
        keyed_since,
        any_since
    ];
    conn.fetch_optional(&SQL, values).await?.as_ref().map(Render::of).transpose()
}

/// Finds the newest system preview of a model that has not failed.
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

/// Counts the free previews created for an account after a time, including deleted ones.
pub async fn count_system_previews(conn: &mut Conn, payer: &AccountId, since: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM renders WHERE payer_id = $1 AND is_system_preview AND created_at > $2";
    conn.fetch_one(sql, params![payer, since]).await?.count("n")
}

/// Lists all renders of a model, newest first.
pub async fn list_of_model(conn: &mut Conn, model: &ModelId) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE model_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC"
    );
    conn.fetch_all(sql, params![model]).await?.iter().map(Render::of).collect()
}

/// Returns the newest finished renders of a model in a workspace, at most `limit`, newest first.
pub async fn newest_done(conn: &mut Conn, workspace: &WorkspaceId, model: &ModelId, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE model_id = $1 AND workspace_id = $2 AND status = $3 AND deleted_at IS NULL \
         ORDER BY created_at DESC, id DESC LIMIT $4"
    );
    let params = params![model, workspace, RenderStatus::Done.as_str(), i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(Render::of).collect()
}

/// Returns one page, newest first. In cursor mode it contains one extra row if there is another page.
pub async fn list(conn: &mut Conn, filter: &RenderFilter, page: &PageRequest) -> Result<Vec<Render>> {
    let (after, limit) = match &page.start {
        Start::Offset(0) => (None, page.limit),
        Start::Offset(offset) => match find_position(conn, filter, offset - 1).await? {
            None => return Ok(Vec::new()),
            found => (found, page.limit),
        },
        Start::After(position) => (position.clone(), page.limit + 1),
    };
    let sql = over!(
        filter,
        concat!("SELECT ", columns!()),
        "AND (created_at, id) < ($5, $6) ORDER BY created_at DESC, id DESC LIMIT $7"
    );
    let f = filter;
    let status = f.status.map(RenderStatus::as_str);
    let (at, id) = after.as_ref().map_or((i64::MAX, ""), |p| (p.created_at_ms, p.id.as_str()));
    let params = params![&f.workspace_id, f.model_id.as_ref(), status, f.updated_since, at, id, i64::from(limit)];
    conn.fetch_all(sql, params).await?.iter().map(Render::of).collect()
}

/// Finds the position of the row with this zero-based number in the list. Skipped rows are read from the index only.
async fn find_position(conn: &mut Conn, filter: &RenderFilter, number: u64) -> Result<Option<Position>> {
    let sql = over!(filter, "SELECT created_at, id", "ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $5");
    let f = filter;
    let status = f.status.map(RenderStatus::as_str);
    let params = params![&f.workspace_id, f.model_id.as_ref(), status, f.updated_since, number.cast_signed()];
    let row = conn.fetch_optional(sql, params).await?;
    row.map(|row| Ok(Position { created_at_ms: row.int("created_at")?, id: row.text("id")? })).transpose()
}

/// Counts the renders that match a filter, over all pages.
pub async fn count(conn: &mut Conn, filter: &RenderFilter) -> Result<u64> {
    let f = filter;
    if let RenderFilter { workspace_id, model_id: None, status: None, updated_since: None } = filter {
        return workspaces::render_count(conn, workspace_id).await;
    }
    let params = params![&f.workspace_id, f.model_id.as_ref(), f.status.map(RenderStatus::as_str), f.updated_since];
    conn.fetch_one(over!(filter, "SELECT count(*) AS n", ""), params).await?.count("n")
}

/// Counts the unfinished renders, queued or claimed, per state.
pub async fn count_unfinished(conn: &mut Conn) -> Result<Vec<(RenderStatus, u64)>> {
    // Two queries joined by UNION, because each has a partial index of its own.
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

/// Counts the finished renders whose HLS packaging is queued.
pub async fn count_unpackaged(conn: &mut Conn) -> Result<u64> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        let queued = may_package(HlsEvent::Claim);
        BuiltSql::same(format!("SELECT count(*) AS n FROM renders WHERE {queued} AND deleted_at IS NULL"))
    });
    conn.fetch_one(&SQL, params![]).await?.count("n")
}

/// Moves a render that no worker has claimed from one state to another. Returns false if it is claimed or not in `from`.
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

/// Marks a render in a final state as deleted, and decrements its workspace's counter. Returns false if it does not exist
/// or has not ended.
pub async fn set_deleted(tx: &mut Tx, id: &RenderId, now: i64) -> Result<bool> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "UPDATE renders SET deleted_at = $2, lease_token = NULL, lease_until = NULL, worker = NULL, {} \
             WHERE id = $1 AND deleted_at IS NULL AND {}",
            touched!("$2"),
            is_in(RenderStatus::is_final)
        ))
    });
    let is_removed = tx.execute(&SQL, params![id, now]).await? == 1;
    if is_removed {
        let sql = "UPDATE workspaces SET render_count = render_count - 1 \
                   WHERE id = (SELECT workspace_id FROM renders WHERE id = $1)";
        tx.execute(sql, params![id]).await?;
    }
    Ok(is_removed)
}
