//! Looks: named render settings that a workspace has saved. The start look is the one with which the web UI's form for
//! renders starts.

use plinth_spec::id::{LookId, WorkspaceId};

use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx};

/// A look of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub id: LookId,
    /// Workspace that owns the look.
    pub workspace_id: WorkspaceId,
    /// Display name, unique in the workspace.
    pub name: String,
    /// Render settings as JSON.
    pub settings: String,
    /// Time of creation.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

table!(Look in "looks", columns, select: id, workspace_id, name, settings, created_at, updated_at);

/// Inserts a look.
/// Errors: the workspace has a look of this name already.
pub async fn insert(tx: &mut Tx, look: &Look) -> Result<()> {
    look.add(tx).await
}

/// Finds a look of a workspace.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &LookId) -> Result<Option<Look>> {
    let sql = select!("WHERE id = $1 AND workspace_id = $2");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Look::of).transpose()
}

/// Finds a look of a workspace by its name.
pub async fn find_by_name(conn: &mut Conn, workspace: &WorkspaceId, name: &str) -> Result<Option<Look>> {
    let sql = select!("WHERE workspace_id = $1 AND name = $2");
    conn.fetch_optional(sql, params![workspace, name]).await?.as_ref().map(Look::of).transpose()
}

/// Lists the looks of a workspace, newest first.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Vec<Look>> {
    let sql = select!("WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace]).await?.iter().map(Look::of).collect()
}

/// Counts the looks of a workspace.
pub async fn count(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    let sql = "SELECT count(*) AS n FROM looks WHERE workspace_id = $1";
    conn.fetch_one(sql, params![workspace]).await?.count("n")
}

/// Returns the total length of the settings of a workspace's looks, in characters.
pub async fn characters(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    let sql =
        "SELECT CAST(coalesce(sum(length(settings)), 0) AS BIGINT) AS characters FROM looks WHERE workspace_id = $1";
    conn.fetch_one(sql, params![workspace]).await?.count("characters")
}

/// Replaces the settings of a look.
pub async fn set_settings(tx: &mut Tx, id: &LookId, settings: &str, now: i64) -> Result<()> {
    let sql = "UPDATE looks SET settings = $2, updated_at = $3 WHERE id = $1";
    tx.execute(sql, params![id, settings, now]).await.map(drop)
}

/// Renames a look of a workspace. Returns false if it does not exist.
/// Errors: the workspace has another look of this name.
pub async fn rename(tx: &mut Tx, workspace: &WorkspaceId, id: &LookId, name: &str, now: i64) -> Result<bool> {
    let sql = "UPDATE looks SET name = $3, updated_at = $4 WHERE id = $1 AND workspace_id = $2";
    Ok(tx.execute(sql, params![id, workspace, name, now]).await? == 1)
}

/// Deletes a look of a workspace. Returns false if it does not exist.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &LookId) -> Result<bool> {
    let sql = "DELETE FROM looks WHERE id = $1 AND workspace_id = $2";
    Ok(tx.execute(sql, params![id, workspace]).await? == 1)
}

/// Returns the identifier of the start look of a workspace: one of the workspace's looks, or a look that the program
/// contains. `None` if none was chosen.
pub async fn start(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Option<String>> {
    let row = conn.fetch_optional("SELECT start_look FROM workspaces WHERE id = $1", params![workspace]).await?;
    row.map_or(Ok(None), |row| row.maybe_text("start_look"))
}

/// Sets the start look of a workspace.
pub async fn set_start(tx: &mut Tx, workspace: &WorkspaceId, look: Option<&str>) -> Result<()> {
    tx.execute("UPDATE workspaces SET start_look = $2 WHERE id = $1", params![workspace, look]).await.map(drop)
}
