//! Pictures, names and usage of overlays and textures, for the page that lists both.

use std::borrow::Cow;

use plinth_db::overlays::{self, Overlay};
use plinth_db::textures::{self, Texture};
use plinth_spec::id::{OverlayId, TextureId};
use plinth_store::ObjectKey;

use super::not_found;
use crate::access::Caller;
use crate::delivery::Delivery;
use crate::error::Result;
use crate::service::Service;

/// Number and size of the images in all workspaces of an account. Each of these values has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageUsage {
    /// Number of overlays.
    pub overlays: u64,
    /// Number of textures.
    pub textures: u64,
    /// Total size of the textures in bytes.
    pub texture_bytes: u64,
}

impl Service {
    /// Returns the number and size of the images of the account that pays for the workspace.
    pub async fn image_usage(&self, caller: &Caller) -> Result<ImageUsage> {
        let mut conn = self.db.read().await?;
        let overlays = overlays::count(&mut conn, &caller.workspace_id).await?;
        let (textures, texture_bytes) = textures::usage(&mut conn, &caller.workspace_id).await?;
        Ok(ImageUsage { overlays, textures, texture_bytes })
    }

    /// Finds the file of an overlay of the workspace, or of a system overlay.
    pub async fn overlay_picture(&self, caller: &Caller, id: &str) -> Result<Delivery> {
        let overlay = self.overlay_row(caller, id).await?;
        self.picture(ObjectKey::Overlay(&overlay.id), overlay.content_type.clone(), "overlay").await
    }

    /// Finds the file of a texture of the workspace.
    pub async fn texture_picture(&self, caller: &Caller, id: &str) -> Result<Delivery> {
        let texture = self.texture_row(caller, id).await?;
        self.picture(ObjectKey::Texture(&texture.id), texture.content_type.clone(), "texture").await
    }

    /// Returns the name of an overlay that the caller's workspace can delete.
    /// Errors: the workspace has no such overlay.
    pub async fn own_overlay_name(&self, caller: &Caller, id: &str) -> Result<String> {
        let overlay = self.overlay_row(caller, id).await?;
        if overlay.is_system { Err(not_found("overlay")) } else { Ok(overlay.name) }
    }

    /// Returns the name of a texture of the workspace.
    pub async fn texture_name(&self, caller: &Caller, id: &str) -> Result<String> {
        Ok(self.texture_row(caller, id).await?.name)
    }

    async fn picture(&self, key: ObjectKey<'_>, content_type: String, what: &str) -> Result<Delivery> {
        let mut found = self.deliver(&key, None).await?.ok_or_else(|| not_found(what))?;
        found.content_type = Cow::Owned(content_type);
        Ok(found)
    }

    async fn overlay_row(&self, caller: &Caller, id: &str) -> Result<Overlay> {
        let id = OverlayId::parse(id).ok_or_else(|| not_found("overlay"))?;
        let found = overlays::find_anywhere(&mut self.db.read().await?, &id).await?;
        let seen = found.filter(|overlay| overlay.is_system || overlay.workspace_id == caller.workspace_id);
        seen.ok_or_else(|| not_found("overlay"))
    }

    async fn texture_row(&self, caller: &Caller, id: &str) -> Result<Texture> {
        let id = TextureId::parse(id).ok_or_else(|| not_found("texture"))?;
        let found = textures::find(&mut self.db.read().await?, &caller.workspace_id, &id).await?;
        found.ok_or_else(|| not_found("texture"))
    }
}
