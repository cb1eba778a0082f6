//! Progress of claimed renders, as their workers report it.

use std::sync::LazyLock;

use plinth_spec::id::{ModelId, RenderId, WorkspaceId};
use plinth_spec::state::{HlsStatus, RenderStatus};

use crate::renders::Render;
use crate::row::Row;
use crate::sql::{Param, params};
use crate::states::{BuiltSql, is_in};
use crate::table::numbered;
use crate::{Conn, Result, Tx};

/// Number of a model's newest renders among which [`find_unfinished`] searches.
const NEWEST: i64 = 8;

/// Progress that a worker reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Fraction of the work that is done, from 0 to 1.
    pub fraction: f64,
    /// Time at which the worker expects to have drawn all frames; `None` if it cannot tell.
    pub ends_at: Option<i64>,
}

/// State and progress of a render.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderState {
    pub id: RenderId,
    pub status: RenderStatus,
    /// Fraction of the work that is done. `None` for a render that failed.
    pub progress: Option<f64>,
    /// Time at which the worker expects to have drawn all frames.
    pub ends_at: Option<i64>,
    /// State of the HLS packaging.
    pub hls: HlsStatus,
}

impl Render {
    /// Returns state and progress of the render.
    pub fn state(&self) -> RenderState {
        let reported = self.progress.filter(|_fraction| self.progress_attempt == Some(self.attempt));
        state_of(&self.id, (self.status, self.hls_status), reported, self.progress_ends_at)
    }
}

/// Returns no progress for a render that no worker has claimed, even if an earlier attempt reported some.
fn state_of(
    id: &RenderId,
    (status, hls): (RenderStatus, HlsStatus),
    reported: Option<f64>,
    ends_at: Option<i64>,
) -> RenderState {
    let progress = match status {
        RenderStatus::Done => Some(1.0),
        status if status.has_failed() => None,
        status if status.is_held() => Some(reported.unwrap_or_default()),
        _queued => Some(0.0),
    };
    let is_current = status.is_held() && reported.is_some();
    RenderState { id: id.clone(), status, progress, ends_at: ends_at.filter(|_time| is_current), hls }
}

/// Stores the progress of a claimed render. If the attempt has already reported more, because it draws all frames again, keeps the
/// larger fraction and stores only the time. Changes nothing and returns false if the lease is lost. Does not change `updated_at`,
/// because the state of the render stays the same.
pub async fn store(tx: &mut Tx, id: &RenderId, token: &str, progress: Progress) -> Result<bool> {
    let sql = "UPDATE renders SET progress_attempt = attempt, progress_ends_at = $4, \
               progress = CASE WHEN progress_attempt = attempt AND progress > $3 THEN progress ELSE $3 END \
               WHERE id = $1 AND lease_token = $2";
    Ok(tx.execute(sql, params![id, token, progress.fraction, progress.ends_at]).await? == 1)
}

const COLUMNS: &str =
    "id, status, hls_status, progress_ends_at, CASE WHEN progress_attempt = attempt THEN progress END AS reported";

fn state(row: &Row) -> Result<RenderState> {
    let id = row.parsed("id", RenderId::parse)?;
    let states = (row.parsed("status", RenderStatus::from_name)?, row.parsed("hls_status", HlsStatus::from_name)?);
    Ok(state_of(&id, states, row.maybe_real("reported")?, row.maybe_int("progress_ends_at")?))
}

/// Finds the states of renders of a workspace, in any order. Deleted and unknown renders are left out.
pub async fn find_states(conn: &mut Conn, workspace: &WorkspaceId, ids: &[RenderId]) -> Result<Vec<RenderState>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut values: Vec<Param> = params![workspace].to_vec();
    values.extend(ids.iter().map(Param::from));
    let numbers = numbered(2, ids.len());
    let sql =
        format!("SELECT {COLUMNS} FROM renders WHERE workspace_id = $1 AND id IN {numbers} AND deleted_at IS NULL");
    conn.fetch_all_built(&sql, &values).await?.iter().map(state).collect()
}

/// Finds the newest unfinished render of a model in a workspace. Searches only the model's newest renders.
pub async fn find_unfinished(conn: &mut Conn, workspace: &WorkspaceId, model: &ModelId) -> Result<Option<RenderState>> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "SELECT {COLUMNS} FROM (SELECT * FROM renders WHERE model_id = $1 AND workspace_id = $2 \
             AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $3) AS newest \
             WHERE {} ORDER BY created_at DESC, id DESC LIMIT 1",
            is_in(|status| !status.is_final())
        ))
    });
    conn.fetch_optional(&SQL, params![model, workspace, NEWEST]).await?.as_ref().map(state).transpose()
}
