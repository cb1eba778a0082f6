//! Texture images.

use plinth_spec::id::{TextureId, WorkspaceId};

use crate::assets::{insert_counted, usage_of};
use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx, assets};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    pub id: TextureId,
    /// Workspace that owns the texture.
    pub workspace_id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// File size in bytes.
    pub file_size: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// MIME type with which the file is served.
    pub content_type: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// Time of the upload.
    pub created_at: i64,
}

table!(Texture in "textures", columns, select: id, workspace_id, name, file_size, width, height, content_type, sha256, created_at);

insert_counted!(Texture);

/// Finds a texture of a workspace.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &TextureId) -> Result<Option<Texture>> {
    let sql = select!("WHERE id = $1 AND workspace_id = $2");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Texture::of).transpose()
}

/// Finds a workspace's texture by the hash of its file.
pub async fn find_by_sha256(conn: &mut Conn, workspace: &WorkspaceId, sha256: &str) -> Result<Option<TextureId>> {
    let sql = "SELECT id FROM textures WHERE workspace_id = $1 AND sha256 = $2";
    let row = conn.fetch_optional(sql, params![workspace, sha256]).await?;
    row.map(|row| row.parsed("id", TextureId::parse)).transpose()
}

/// Lists all textures of a workspace, newest first.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Vec<Texture>> {
    let sql = select!("WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace]).await?.iter().map(Texture::of).collect()
}

/// Returns the number of textures and their total size in bytes, in all workspaces of the account that owns `workspace`, and in
/// workspaces that it has deleted.
pub async fn usage(conn: &mut Conn, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    assets::usage(conn, usage_of!("textures", "TRUE"), workspace).await
}

/// Deletes a texture of a workspace. Returns false if it does not exist.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &TextureId) -> Result<bool> {
    let sql = "DELETE FROM textures WHERE id = $1 AND workspace_id = $2 RETURNING workspace_id, file_size";
    assets::delete(tx, sql, params![id, workspace]).await
}

/// Deletes all textures of a workspace. Returns the identifiers of the deleted textures.
pub async fn delete_of_workspace(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Vec<TextureId>> {
    let sql = "DELETE FROM textures WHERE workspace_id = $1 RETURNING id, file_size";
    assets::delete_of_workspace(tx, sql, workspace, TextureId::parse).await
}
