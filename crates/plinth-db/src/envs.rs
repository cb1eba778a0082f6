//! Environment maps that workspaces have uploaded.

use plinth_spec::id::{EnvId, WorkspaceId};

use crate::assets::usage_of;
use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx, assets};

/// An environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Env {
    /// Identifier.
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
    /// Time of the upload.
    pub created_at: i64,
}

table!(Env in "envs", columns: id, workspace_id, name, file_size, width, height, has_thumb, created_at);

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM envs ", $rest)
    };
}

/// Inserts an environment.
pub async fn insert(tx: &mut Tx, env: &Env) -> Result<()> {
    env.add(tx).await
}

/// Finds an environment of a workspace.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &EnvId) -> Result<Option<Env>> {
    let sql = select!("WHERE id = $1 AND workspace_id = $2");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Env::of).transpose()
}

/// Lists all environments of a workspace, newest first.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Vec<Env>> {
    let sql = select!("WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace]).await?.iter().map(Env::of).collect()
}

/// Returns the number of environments and their total size in bytes, in all workspaces of the account that owns
/// `workspace`.
pub async fn usage(conn: &mut Conn, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    assets::usage(conn, usage_of!("envs"), workspace).await
}

/// Deletes an environment of a workspace. Returns false if it does not exist.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &EnvId) -> Result<bool> {
    let sql = "DELETE FROM envs WHERE id = $1 AND workspace_id = $2";
    Ok(tx.execute(sql, params![id, workspace]).await? == 1)
}
