//! Environment maps that workspaces have uploaded.

use plinth_spec::id::{EnvId, WorkspaceId};

use crate::assets::{insert_counted, usage_of};
use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx, assets};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Env {
    pub id: EnvId,
    /// Workspace that owns the environment.
    pub workspace_id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// Total size of the environment's files, in bytes.
    pub file_size: u64,
    /// Width in pixels.
    pub width: Option<u32>,
    /// Height in pixels.
    pub height: Option<u32>,
    /// Whether the environment has a thumbnail.
    pub has_thumb: bool,
    /// Whether the environment is available to all workspaces.
    pub is_system: bool,
    /// Time of the upload.
    pub created_at: i64,
}

table!(Env in "envs", columns, select: id, workspace_id, name, file_size, width, height, has_thumb, is_system, created_at);

insert_counted!(Env);

/// Finds an environment that a workspace can use: an environment of the workspace, or a system environment.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &EnvId) -> Result<Option<Env>> {
    let sql = select!("WHERE id = $1 AND (workspace_id = $2 OR is_system)");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Env::of).transpose()
}

/// Finds an environment by its identifier, in any workspace.
pub async fn find_anywhere(conn: &mut Conn, id: &EnvId) -> Result<Option<Env>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Env::of).transpose()
}

/// Lists the environments of a workspace and the system environments, newest first.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Vec<Env>> {
    let sql = select!("WHERE workspace_id = $1 OR is_system ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace]).await?.iter().map(Env::of).collect()
}

/// Lists the environments that are available to all workspaces, newest first.
pub async fn list_system(conn: &mut Conn) -> Result<Vec<Env>> {
    let sql = select!("WHERE is_system ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![]).await?.iter().map(Env::of).collect()
}

/// Makes an environment available to all workspaces, or only to its own. Returns false if the environment does not exist, or if
/// `is_system` already has this value.
pub async fn set_system(tx: &mut Tx, id: &EnvId, is_system: bool) -> Result<bool> {
    let sql = "UPDATE envs SET is_system = $2 WHERE id = $1 AND is_system <> $2";
    Ok(tx.execute(sql, params![id, is_system]).await? == 1)
}

/// Returns the number of environments and their total size in bytes, in all workspaces of the account that owns `workspace`, and in
/// workspaces that it has deleted. System environments are not counted.
pub async fn usage(conn: &mut Conn, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    assets::usage(conn, usage_of!("envs", "NOT is_system"), workspace).await
}

/// Deletes an environment of a workspace. Returns false if it does not exist.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &EnvId) -> Result<bool> {
    let sql =
        "DELETE FROM envs WHERE id = $1 AND workspace_id = $2 AND NOT is_system RETURNING workspace_id, file_size";
    assets::delete(tx, sql, params![id, workspace]).await
}

/// Deletes all environments of a workspace except system environments. Returns the identifiers of the deleted environments.
pub async fn delete_of_workspace(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Vec<EnvId>> {
    let sql = "DELETE FROM envs WHERE workspace_id = $1 AND NOT is_system RETURNING id, file_size";
    assets::delete_of_workspace(tx, sql, workspace, EnvId::parse).await
}
