//! Counts the renders in one state that changed since a time. Fast if most renders of the workspace changed since then: the number of
//! all renders in the state is stored, and only the renders that changed earlier are counted and subtracted.

use plinth_spec::id::WorkspaceId;
use plinth_spec::state::RenderStatus;

use super::lists::FEW_CHANGED;
use crate::sql::params;
use crate::{Conn, Result};

/// Returns the number of renders in a state that changed at or after `since`. Returns `None` if more than [`FEW_CHANGED`] renders of the
/// workspace changed earlier: no index contains both state and time, so the statement reads the row of each of these renders.
pub(super) async fn count_all_but_older(
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
