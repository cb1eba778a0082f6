//! Counts the renders that changed since a time, if these are most of a workspace: all renders, whose number is known, minus
//! those that changed earlier.

use plinth_spec::id::WorkspaceId;
use plinth_spec::state::RenderStatus;

use super::lists::FEW_CHANGED;
use crate::sql::params;
use crate::{Conn, Result};

/// Returns the number of renders that changed at or after `since`. Returns `None` if it is better to count these, because the
/// others are probably not fewer.
pub(super) async fn count_all_but_older(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    status: Option<RenderStatus>,
    since: i64,
) -> Result<Option<u64>> {
    match status {
        None => count_in_all_states(conn, workspace, since).await,
        Some(status) => count_in_state(conn, workspace, status, since).await,
    }
}

async fn count_in_all_states(conn: &mut Conn, workspace: &WorkspaceId, since: i64) -> Result<Option<u64>> {
    let sql = "SELECT (SELECT updated_at FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               ORDER BY updated_at LIMIT 1) AS earliest, \
               (SELECT updated_at FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               ORDER BY updated_at DESC LIMIT 1) AS latest";
    let row = conn.fetch_one(sql, params![workspace]).await?;
    let (Some(earliest), Some(latest)) = (row.maybe_int("earliest")?, row.maybe_int("latest")?) else {
        return Ok(None);
    };
    // Assumes that the times are spread evenly. If they are not, the total is as exact, but takes longer.
    if since.saturating_sub(earliest) > latest.saturating_sub(since) {
        return Ok(None);
    }
    // One statement, so that both numbers are those of the same instant.
    let sql = "SELECT render_count - (SELECT count(*) FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               AND updated_at < $2) AS n FROM workspaces WHERE id = $1";
    conn.fetch_one(sql, params![workspace, since]).await?.count("n").map(Some)
}

/// There is no index of state and time together, so the states of earlier renders are read only if these are few.
async fn count_in_state(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    status: RenderStatus,
    since: i64,
) -> Result<Option<u64>> {
    let sql = "SELECT count(*) AS n FROM (SELECT 1 AS one FROM renders \
               WHERE workspace_id = $1 AND deleted_at IS NULL AND updated_at < $2 LIMIT $3) older";
    if conn.fetch_one(sql, params![workspace, since, FEW_CHANGED + 1]).await?.int("n")? > FEW_CHANGED {
        return Ok(None);
    }
    let sql = "WITH older AS MATERIALIZED (SELECT id AS older_id FROM renders \
               WHERE workspace_id = $1 AND deleted_at IS NULL AND updated_at < $2) \
               SELECT (SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM (\
               SELECT renders AS n FROM render_counts WHERE workspace_id = $1 AND status = $3 \
               UNION ALL SELECT change FROM render_count_changes WHERE workspace_id = $1 AND status = $3) counted) - \
               (SELECT count(*) FROM renders WHERE id IN (SELECT older_id FROM older) AND deleted_at IS NULL \
               AND status = $3) AS n";
    conn.fetch_one(sql, params![workspace, since, status.as_str()]).await?.count("n").map(Some)
}
