//! Texture images.

use plinth_spec::id::{TextureId, WorkspaceId};

use crate::assets::usage_of;
use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx, assets};

/// A texture image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Identifier.
    pub id: TextureId,
    /// Whose it is.
    pub workspace_id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Bytes.
    pub file_size: u64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What it is served as.
    pub content_type: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// When it was uploaded.
    pub created_at: i64,
}

table!(Texture in "textures", columns: id, workspace_id, name, file_size, width, height, content_type, sha256, created_at);

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM textures ", $rest)
    };
}

/// Adds a texture.
pub async fn insert(tx: &mut Tx, texture: &Texture) -> Result<()> {
    texture.add(tx).await
}

/// A texture of a workspace.
pub async fn find(conn: &mut Conn, workspace: &WorkspaceId, id: &TextureId) -> Result<Option<Texture>> {
    let sql = select!("WHERE id = $1 AND workspace_id = $2");
    conn.fetch_optional(sql, params![id, workspace]).await?.as_ref().map(Texture::of).transpose()
}

/// The texture of a workspace with this content.
pub async fn find_by_sha256(conn: &mut Conn, workspace: &WorkspaceId, sha256: &str) -> Result<Option<TextureId>> {
    let sql = "SELECT id FROM textures WHERE workspace_id = $1 AND sha256 = $2";
    let row = conn.fetch_optional(sql, params![workspace, sha256]).await?;
    row.map(|row| row.parsed("id", TextureId::parse)).transpose()
}

/// All textures of a workspace, newest first.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Vec<Texture>> {
    let sql = select!("WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![workspace]).await?.iter().map(Texture::of).collect()
}

/// How many the account that owns a workspace has in all its workspaces, and their bytes together.
pub async fn usage(conn: &mut Conn, workspace: &WorkspaceId) -> Result<(u64, u64)> {
    assets::usage(conn, usage_of!("textures"), workspace).await
}

/// Removes a texture of a workspace.
pub async fn delete(tx: &mut Tx, workspace: &WorkspaceId, id: &TextureId) -> Result<bool> {
    let sql = "DELETE FROM textures WHERE id = $1 AND workspace_id = $2";
    Ok(tx.execute(sql, params![id, workspace]).await? == 1)
}
