//! Renders. The row is the job.

use std::sync::LazyLock;

use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, ModelId, RenderId, WorkspaceId};
use plinth_spec::page::{PageRequest, Position, Start};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};

use crate::sql::{params, touched};
use crate::states::{Made, after_packaging, is_in, may, may_package};
use crate::table::table;
use crate::{Conn, Result, Tx, workspaces};

/// A render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Render {
    /// Identifier.
    pub id: RenderId,
    /// Whose it is.
    pub workspace_id: WorkspaceId,
    /// What it shows.
    pub model_id: ModelId,
    /// Who was charged.
    pub payer_id: AccountId,
    /// Canonical settings, as JSON.
    pub settings: String,
    /// Hex SHA-256 of the settings.
    pub settings_sha256: String,
    /// Hex SHA-256 of what decides the frames of a model; empty: unknown.
    pub frames_sha256: String,
    /// The idempotency key; empty for none.
    pub replay_key: String,
    /// Which one of equal renders of the same request.
    pub replay_ordinal: i64,
    /// Whether it is the free preview of an upload.
    pub is_system_preview: bool,
    /// The pool that was charged; none: it was free.
    pub pool: Option<Pool>,
    /// What was charged.
    pub credits: u64,
    /// Where it stands.
    pub status: RenderStatus,
    /// Where its HLS packaging stands.
    pub hls_status: HlsStatus,
    /// What went wrong, for programs.
    pub failure_code: Option<FailureCode>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// What the settings named and is missing, as a JSON list of texts.
    pub warnings: String,
    /// How often a worker has taken it.
    pub attempt: i64,
    /// How often a worker has taken its packaging.
    pub hls_attempt: i64,
    /// The attempt whose poster counts.
    pub poster_attempt: Option<i64>,
    /// The attempt whose files count.
    pub files_attempt: Option<i64>,
    /// Which files there are, as JSON.
    pub files: Option<String>,
    /// When it was created.
    pub created_at: i64,
    /// When its state last changed.
    pub updated_at: i64,
}

/// Which renders a list has.
#[derive(Clone, Debug)]
pub struct RenderFilter {
    /// Whose.
    pub workspace_id: WorkspaceId,
    /// Of this model only.
    pub model_id: Option<ModelId>,
    /// In this state only.
    pub status: Option<RenderStatus>,
    /// Changed at or after this instant.
    pub updated_since: Option<i64>,
}

table!(Render in "renders", columns: id, workspace_id, model_id, payer_id, settings, settings_sha256, frames_sha256,
    replay_key, replay_ordinal, is_system_preview, pool, credits, status, hls_status, failure_code, error_message, warnings,
    attempt, hls_attempt, poster_attempt, files_attempt, files, created_at, updated_at);
pub(crate) use columns;

// One text for each index: a plan that must serve every filter reads the whole list for each.
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
// A statement over a list, its text chosen by what the list is narrowed by.
macro_rules! over {
    ($filter:expr, $before:expr, $after:expr) => {
        match $filter {
            RenderFilter { model_id: Some(_), .. } => concat!($before, filter!(model), $after),
            RenderFilter { status: None, updated_since: None, .. } => concat!($before, filter!(none), $after),
            _ => concat!($before, filter!(workspace), $after),
        }
    };
}

/// Adds a render.
pub async fn insert(tx: &mut Tx, render: &Render) -> Result<()> {
    render.add(tx).await?;
    let sql = "UPDATE workspaces SET render_count = render_count + 1 WHERE id = $1";
    tx.execute(sql, params![&render.workspace_id]).await.map(drop)
}

/// A render of a workspace.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &RenderId) -> Result<Option<Render>> {
    let sql =
        concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Render::of).transpose()
}

/// A render of any workspace, for workers.
pub async fn find_anywhere(conn: &mut Conn, id: &RenderId) -> Result<Option<Render>> {
    let sql = concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND deleted_at IS NULL");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(Render::of).transpose()
}

/// The newest render that has the facts of `draft` (workspace, model, settings, place among equal ones) and answers its
/// request: one of its key made since `keyed_since`, or of any key since `any_since`, which is not before that.
pub async fn find_earlier(conn: &mut Conn, draft: &Render, keyed_since: i64, any_since: i64) -> Result<Option<Render>> {
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        Made::same(format!(
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

/// The newest system preview of a model that has not failed.
pub async fn find_system_preview(conn: &mut Conn, model: &ModelId) -> Result<Option<RenderId>> {
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        Made::same(format!(
            "SELECT id FROM renders WHERE model_id = $1 AND is_system_preview AND deleted_at IS NULL AND NOT ({}) \
             ORDER BY created_at DESC, id DESC LIMIT 1",
            is_in(RenderStatus::has_failed)
        ))
    });
    let row = conn.fetch_optional(&SQL, params![model]).await?;
    row.map(|row| row.parsed("id", RenderId::parse)).transpose()
}

/// Free previews that an account has had since an instant, deleted ones included.
pub async fn count_system_previews(conn: &mut Conn, payer: &AccountId, since: i64) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM renders WHERE payer_id = $1 AND is_system_preview AND created_at > $2";
    conn.fetch_one(sql, params![payer, since]).await?.count("n")
}

/// All renders of a model, newest first.
pub async fn list_of_model(conn: &mut Conn, model: &ModelId) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE model_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC"
    );
    conn.fetch_all(sql, params![model]).await?.iter().map(Render::of).collect()
}

/// One page, newest first. In cursor mode there is one row more than the limit when the list goes on.
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

/// Where the row with this number stands. Rows that are only skipped are not read: the index has what this needs.
async fn find_position(conn: &mut Conn, filter: &RenderFilter, number: u64) -> Result<Option<Position>> {
    let sql = over!(filter, "SELECT created_at, id", "ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $5");
    let f = filter;
    let status = f.status.map(RenderStatus::as_str);
    let params = params![&f.workspace_id, f.model_id.as_ref(), status, f.updated_since, number.cast_signed()];
    let row = conn.fetch_optional(sql, params).await?;
    row.map(|row| Ok(Position { created_at_ms: row.int("created_at")?, id: row.text("id")? })).transpose()
}

/// How many renders a list has on all its pages.
pub async fn count(conn: &mut Conn, filter: &RenderFilter) -> Result<u64> {
    let f = filter;
    if let RenderFilter { workspace_id, model_id: None, status: None, updated_since: None } = filter {
        return workspaces::render_count(conn, workspace_id).await;
    }
    let params = params![&f.workspace_id, f.model_id.as_ref(), f.status.map(RenderStatus::as_str), f.updated_since];
    conn.fetch_one(over!(filter, "SELECT count(*) AS n", ""), params).await?.count("n")
}

/// How many renders are in each state before the last one: those that wait, and those that a worker holds.
pub async fn count_unfinished(conn: &mut Conn) -> Result<Vec<(RenderStatus, u64)>> {
    // Two parts, because each has an index that holds nothing else.
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        Made::same(format!(
            "SELECT status, count(*) AS n FROM renders WHERE {} AND deleted_at IS NULL GROUP BY status \
             UNION ALL SELECT status, count(*) AS n FROM renders WHERE lease_token IS NOT NULL AND {} GROUP BY status",
            may(RenderEvent::Claim),
            is_in(RenderStatus::is_held)
        ))
    });
    let rows = conn.fetch_all(&SQL, params![]).await?;
    rows.iter().map(|row| Ok((row.parsed("status", RenderStatus::from_name)?, row.count("n")?))).collect()
}

/// How many finished renders wait for their packaging.
pub async fn count_unpackaged(conn: &mut Conn) -> Result<u64> {
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        let queued = may_package(HlsEvent::Claim);
        Made::same(format!("SELECT count(*) AS n FROM renders WHERE {queued} AND deleted_at IS NULL"))
    });
    conn.fetch_one(&SQL, params![]).await?.count("n")
}

/// Moves a render that no worker holds from one state to another. False: it is not in that state, or held.
pub async fn set_status(
    tx: &mut Tx,
    id: &RenderId,
    from: RenderStatus,
    to: RenderStatus,
    message: Option<&str>,
    now: i64,
) -> Result<bool> {
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        Made::same(format!(
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

/// Removes a render that has ended and that no worker holds. False: it is not there, or not ended.
pub async fn set_deleted(tx: &mut Tx, id: &RenderId, now: i64) -> Result<bool> {
    static SQL: LazyLock<Made> = LazyLock::new(|| {
        Made::same(format!(
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
