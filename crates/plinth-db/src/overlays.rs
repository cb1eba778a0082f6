//! Overlay images.

use plinth_spec::id::{OverlayId, WorkspaceId};
use plinth_spec::wire::{Alignment, Layer};

use crate::assets::insert_counted;
use crate::sql::{of_owner, params};
use crate::table::table;
use crate::{Conn, Result, Tx, assets};

#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    pub id: OverlayId,
    /// Workspace that owns the overlay.
    pub workspace_id: WorkspaceId,
    /// Layer in which the overlay is drawn.
    pub layer: Layer,
    /// Display name.
    pub name: String,
    /// Description of the image.
    pub description: String,
    /// Determines which part of the image remains visible when the image is cropped.
    pub alignment: Alignment,
    /// Opacity, from 0 (invisible) to 1 (opaque).
    pub opacity: f64,
    /// File size in bytes.
    pub file_size: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Name of the uploaded file.
    pub filename: String,
    /// MIME type with which the file is served.
    pub content_type: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// Whether the overlay is available to all workspaces.
    pub is_system: bool,
    /// Time of the upload.
    pub created_at: i64,
}

table!(Overlay in "overlays", columns, select: id, workspace_id, layer, name, description, alignment, opacity, file_size, width, height, filename,
    content_type, sha256, is_system, created_at);

insert_counted!(Overlay);

/// Finds an overlay by its identifier, in any workspace.
pub async fn find_anywhere(conn: &mut Conn, id: &OverlayId) -> Result<Option<Overlay>> {
    conn.fetch_optional(select!("WHERE id = $1"), params![id]).await?.as_ref().map(Overlay::of).transpose()
}

/// Finds the newest overlay of a workspace that has this layer and whose file has this hash.
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

/// Lists the overlays of a workspace and the system overlays, newest first. With a `layer`, lists only the overlays of
/// this layer.
pub async fn list(conn: &mut Conn, workspace: &WorkspaceId, layer: Option<Layer>) -> Result<Vec<Overlay>> {
    let sql = select!(
        "WHERE (workspace_id = $1 OR is_system) AND ($2 IS NULL OR layer = $2) ORDER BY created_at DESC, id DESC"
    );
    conn.fetch_all(sql, params![workspace, layer.map(Layer::as_str)]).await?.iter().map(Overlay::of).collect()
}

/// Counts the overlays in all workspaces of the account that owns `workspace`, and in workspaces that it has deleted. System overlays
/// are not counted.
pub async fn count(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    let sql = concat!("SELECT count(*) AS n FROM overlays WHERE NOT is_system AND ", of_owner!(""));
    conn.fetch_one(sql, params![workspace]).await?.count("n")
}

/// Lists the overlays that are available to all workspaces, newest first.
pub async fn list_system(conn: &mut Conn) -> Result<Vec<Overlay>> {
    let sql = select!("WHERE is_system ORDER BY created_at DESC, id DESC");
    conn.fetch_all(sql, params![]).await?.iter().map(Overlay::of).collect()
}

/// Makes an overlay available to all workspaces, or only to its own. Returns false if the overlay does not exist, or if
/// `is_system` already has this value.
pub async fn set_system(tx: &mut Tx, id: &OverlayId, is_system: bool) -> Result<bool> {
    let sql = "UPDATE overlays SET is_system = $2 WHERE id = $1 AND is_system <> $2";
    Ok(tx.execute(sql, params![id, is_system]).await? == 1)
}

/// Deletes an overlay. Returns false if it does not exist, or if it is a system overlay.
pub async fn delete(tx: &mut Tx, id: &OverlayId) -> Result<bool> {
    let sql = "DELETE FROM overlays WHERE id = $1 AND NOT is_system RETURNING workspace_id, file_size";
    assets::delete(tx, sql, params![id]).await
}

/// Deletes all overlays of a workspace except system overlays. Returns the identifiers of the deleted overlays.
pub async fn delete_of_workspace(tx: &mut Tx, workspace: &WorkspaceId) -> Result<Vec<OverlayId>> {
    let sql = "DELETE FROM overlays WHERE workspace_id = $1 AND NOT is_system RETURNING id, file_size";
    assets::delete_of_workspace(tx, sql, workspace, OverlayId::parse).await
}
