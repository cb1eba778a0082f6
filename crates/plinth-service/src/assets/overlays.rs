//! Overlay images.

use plinth_db::overlays::{self, Overlay};
use plinth_spec::id::{OverlayId, TextureId};
use plinth_spec::wire::{
    Alignment, AssetDeleted, Layer, OverlayCreated, OverlayResolved, OverlayRow, Page, ResolveOverlay, Timestamp,
};
use plinth_spec::{ErrorCode, limits};
use plinth_store::ObjectKey;

use super::picture::{Picture, received};
use super::{asset_name, bounded, found, limit_reached, not_found, page};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::hash::parse_sha256;
use crate::ids::New as _;
use crate::models::Incoming;
use crate::service::Service;
use crate::write::Inserted;

/// Form fields of an uploaded overlay.
#[derive(Debug, Default)]
pub struct NewOverlay {
    /// Uploaded image.
    pub file: Option<Incoming>,
    /// Name of the uploaded file.
    pub filename: String,
    /// Layer in which the overlay is drawn.
    pub layer: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// Description of the image.
    pub description: Option<String>,
    /// The part of the image that remains visible when the image is cropped.
    pub alignment: Option<String>,
    /// Opacity, from 0 to 1.
    pub opacity: Option<String>,
}

impl Service {
    /// Returns an error if the account has reached its limit of overlays. Handlers call this method before they read
    /// the upload.
    pub async fn check_overlay_count(&self, caller: &Caller) -> Result<()> {
        check_count(overlays::count(&mut self.db.read().await?, &caller.workspace_id).await?)
    }

    /// Stores an overlay.
    pub async fn create_overlay(&self, caller: &Caller, new: NewOverlay) -> Result<OverlayCreated> {
        let file = received(new.file).await?;
        let filename: String = new.filename.chars().filter(|c| !c.is_control()).take(limits::TITLE_CHARS).collect();
        let name = asset_name(new.name.as_deref())?;
        let mut overlay = Overlay {
            id: OverlayId::new_random(),
            workspace_id: caller.workspace_id.clone(),
            layer: layer(new.layer.as_deref())?,
            name: if name.is_empty() { filename.chars().take(limits::ASSET_NAME_CHARS).collect() } else { name },
            description: bounded("description", new.description.as_deref(), limits::OVERLAY_DESCRIPTION_CHARS)?,
            alignment: alignment(new.alignment.as_deref())?,
            opacity: opacity(new.opacity.as_deref())?,
            file_size: file.size,
            width: 0,
            height: 0,
            filename,
            content_type: String::new(),
            sha256: file.sha256.clone(),
            is_system: false,
            created_at: 0,
        };
        self.check_overlay_count(caller).await?;
        let Picture { width, height, content_type } = self.check_picture(&caller.payer_id, &file).await?;
        overlay = Overlay { width, height, content_type, ..overlay };
        let key = ObjectKey::Overlay(&overlay.id);
        let created = OverlayCreated {
            id: overlay.id.clone(),
            layer: overlay.layer,
            alignment: overlay.alignment,
            name: overlay.name.clone(),
        };
        let row = overlay.clone();
        let (prefix, files) = (key.path(), [(key, file.path())]);
        let inserting = self.store_referenced(caller, prefix, &files, move |tx, now| {
            Box::pin(async move {
                check_count(overlays::count(tx, &row.workspace_id).await?)?;
                overlays::insert(tx, &Overlay { created_at: now, ..row }).await?;
                Ok(Inserted::Referenced(()))
            })
        });
        inserting.await?;
        Ok(created)
    }

    /// Lists the workspace's overlays and the system overlays.
    pub async fn list_overlays(&self, caller: &Caller, wanted: Option<&str>) -> Result<Page<OverlayRow>> {
        let wanted = wanted.map(|name| layer(Some(name))).transpose()?;
        Ok(page(overlays::list(&mut self.db.read().await?, &caller.workspace_id, wanted).await?, row))
    }

    /// Deletes an overlay of the workspace.
    pub async fn delete_overlay(&self, caller: &Caller, id: &str) -> Result<AssetDeleted> {
        let id = OverlayId::parse(id).ok_or_else(|| not_found("overlay"))?;
        let (workspace, prefix) = (caller.workspace_id.clone(), ObjectKey::Overlay(&id).path());
        let deleted = self.delete_asset(caller, id.to_string(), prefix, move |tx| {
            Box::pin(async move {
                let overlay = overlays::find_anywhere(tx, &id).await?.ok_or_else(|| not_found("overlay"))?;
                if overlay.is_system || overlay.workspace_id != workspace {
                    let message = "this overlay belongs to another workspace";
                    return Err(ServiceError::new(ErrorCode::Forbidden, message));
                }
                found(overlays::delete(tx, &id).await?, "overlay")
            })
        });
        deleted.await
    }

    /// Finds an overlay or texture of the workspace by the hash of its file.
    pub async fn resolve_overlay(&self, caller: &Caller, request: &ResolveOverlay) -> Result<OverlayResolved> {
        let missing =
            || ServiceError::new(ErrorCode::Sha256Required, "send a hash of 64 hex digits in the field 'sha256'");
        let sha256 = request.sha256.as_deref().and_then(parse_sha256).ok_or_else(missing)?;
        let layer = layer(request.layer.as_deref())?;
        let mut conn = self.db.read().await?;
        let own = &caller.workspace_id;
        let overlay = overlays::find_by_sha256(&mut conn, own, &sha256, layer).await?.map(|id| id.to_string());
        // An image for materials can be stored as an overlay or as a texture.
        let id = match overlay {
            None if layer == Layer::Texture => {
                let texture: Option<TextureId> = plinth_db::textures::find_by_sha256(&mut conn, own, &sha256).await?;
                texture.map(|id| id.to_string())
            }
            found => found,
        };
        Ok(OverlayResolved { exists: id.is_some(), id })
    }
}

fn check_count(count: u64) -> Result<()> {
    if count < limits::OVERLAYS { Ok(()) } else { Err(limit_reached("overlays", limits::OVERLAYS)) }
}

fn layer(name: Option<&str>) -> Result<Layer> {
    let error = || ServiceError::bad_request(format!("layer must be one of {}", Layer::NAMES.join(", ")));
    name.map_or(Ok(Layer::DEFAULT), |name| Layer::from_name(name).ok_or_else(error))
}

fn alignment(name: Option<&str>) -> Result<Alignment> {
    let error = || ServiceError::bad_request(format!("alignment must be one of {}", Alignment::NAMES.join(", ")));
    name.filter(|name| !name.is_empty())
        .map_or(Ok(Alignment::DEFAULT), |name| Alignment::from_name(name).ok_or_else(error))
}

fn opacity(text: Option<&str>) -> Result<f64> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(1.0) };
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| ServiceError::bad_request("opacity must be a number from 0 to 1"))
}

fn row(overlay: Overlay) -> OverlayRow {
    OverlayRow {
        id: overlay.id,
        layer: overlay.layer,
        name: overlay.name,
        description: overlay.description,
        alignment: overlay.alignment,
        opacity: overlay.opacity,
        file_size: overlay.file_size,
        width: overlay.width,
        height: overlay.height,
        filename: overlay.filename,
        is_system: overlay.is_system,
        created_at: Timestamp(overlay.created_at),
    }
}
