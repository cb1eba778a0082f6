//! Overlay images.

use plinth_spec::id::{OverlayId, WorkspaceId};
use plinth_spec::wire::{Alignment, Layer};

use crate::sql::{of_owner, params};
use crate::table::table;
use crate::{Conn, Result, Tx};

/// An overlay image.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// Identifier.
    pub id: OverlayId,
    /// Whose it is.
    pub workspace_id: WorkspaceId,
    /// What it is for.
    pub layer: Layer,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub description: String,
    /// Which part of it stays.
    pub alignment: Alignment,
    /// 0 is invisible, 1 opaque.
    pub opacity: f64,
    /// Bytes.
    pub file_size: u64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Name of the uploaded file.
    pub filename: String,
    /// What it is served as.
    pub content_type: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// Whether everybody sees it.
    pub is_system: bool,
    /// When it was uploaded.
    pub created_at: i64,
}

table!(Overlay in "overlays", columns: id, workspace_id, layer, name, description, alignment, opacity, file_size, width, height, filename,
    content_type, sha256, is_system, created_at);

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM overlays ", $rest)
    };
}

/// Adds an overlay.
pub async fn insert(tx: &mut Tx, overlay: &Overlay) -> Result<()> {
    overlay.add(tx).await
}

/// The overlay with an identifier, whose ever it is.
pub async fn find_anywhere(conn: &mut Conn, id: &OverlayId) -> Result<Option<Overlay>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Overlay::of).transpose()
}

/// The overlay of a workspace with this content.
pub async fn find_by_sha256(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    sha256: &str,
    layer: Layer,
) -> Result<Option<OverlayId>> {
    let sql = "SELECT id FROM overlays WHERE workspace_id = $1 AND sha256 = $2 AND layer = $3 \
               ORDER BY created_at DESC, id DESC LIMIT 1";
    let row = conn.fetch_optional(sql, params![workspace, sha256, layer.as_str()]).await?;
    row.map(|row| row.parsed("id", OverlayId::parse)).transpose()
}

/// Overlays of a workspace and those everybody sees, newest first; of one layer when it is given.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId, layer: Option<Layer>) -> Result<Vec<Overlay>> {
    let sql = select!(
        "WHERE (workspace_id = $1 OR is_system) AND ($2 IS NULL OR layer = $2) ORDER BY created_at DESC, id DESC"
    );
    conn.fetch_all(sql, params![workspace, layer.map(Layer::as_str)]).await?.iter().map(Overlay::of).collect()
}

/// How many the account that owns a workspace has in all its workspaces, without those everybody sees.
pub async fn count(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    let sql = concat!("SELECT count(*) AS n FROM overlays WHERE NOT is_system AND ", of_owner!());
    conn.fetch_one(sql, params![workspace]).await?.count("n")
}

/// Shows an overlay to everybody. False: there is none.
pub async fn publish(tx: &mut Tx, id: &OverlayId) -> Result<bool> {
    Ok(tx.execute("UPDATE overlays SET is_system = TRUE WHERE id = $1", params![id]).await? == 1)
}

/// Removes an overlay.
pub async fn delete(tx: &mut Tx, id: &OverlayId) -> Result<bool> {
    Ok(tx.execute("DELETE FROM overlays WHERE id = $1", params![id]).await? == 1)
}
