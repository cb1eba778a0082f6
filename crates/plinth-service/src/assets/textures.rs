//! Texture images.

use plinth_db::textures::{self, Texture};
use plinth_spec::id::TextureId;
use plinth_spec::limits;
use plinth_spec::wire::{AssetCreated, AssetDeleted, AssetRow, Page, Timestamp};
use plinth_store::ObjectKey;

use super::picture::{Picture, received};
use super::{asset_name, check_usage, found, not_found, page};
use crate::access::Caller;
use crate::error::Result;
use crate::ids::New as _;
use crate::models::Incoming;
use crate::service::Service;
use crate::write::Inserted;

/// Form fields of an uploaded texture.
#[derive(Debug, Default)]
pub struct NewTexture {
    /// Uploaded image.
    pub file: Option<Incoming>,
    /// Display name.
    pub name: Option<String>,
}

impl Service {
    /// Stores a texture. If the workspace has a texture with the same content, returns that texture instead.
    pub async fn create_texture(&self, caller: &Caller, new: NewTexture) -> Result<AssetCreated> {
        let file = received(new.file).await?;
        let mut texture = Texture {
            id: TextureId::new_random(),
            workspace_id: caller.workspace_id.clone(),
            name: asset_name(new.name.as_deref())?,
            file_size: file.size,
            width: 0,
            height: 0,
            content_type: String::new(),
            sha256: file.sha256.clone(),
            created_at: 0,
        };
        let mut conn = self.db.read().await?;
        if let Some(known) = textures::find_by_sha256(&mut conn, &texture.workspace_id, &texture.sha256).await? {
            return Ok(AssetCreated { id: known.to_string(), deduped: Some(true) });
        }
        check_quota(textures::usage(&mut conn, &texture.workspace_id).await?, texture.file_size)?;
        drop(conn);
        let Picture { width, height, content_type } = self.check_picture(&caller.payer_id, &file).await?;
        texture = Texture { width, height, content_type, ..texture };
        let row = texture.clone();
        let key = ObjectKey::Texture(&texture.id);
        let (prefix, files) = (key.path(), [(key, file.path())]);
        let inserting = self.store_referenced(caller, prefix, &files, move |tx, now| {
            Box::pin(async move {
                // Another request may have stored the same content in the meantime.
                if let Some(known) = textures::find_by_sha256(tx, &row.workspace_id, &row.sha256).await? {
                    return Ok(Inserted::Unneeded(AssetCreated { id: known.to_string(), deduped: Some(true) }));
                }
                check_quota(textures::usage(tx, &row.workspace_id).await?, row.file_size)?;
                let id = row.id.to_string();
                textures::insert(tx, &Texture { created_at: now, ..row }).await?;
                Ok(Inserted::Referenced(AssetCreated { id, deduped: None }))
            })
        });
        inserting.await
    }

    /// Lists the workspace's textures.
    pub async fn list_textures(&self, caller: &Caller) -> Result<Page<AssetRow>> {
        Ok(page(textures::list(&mut self.db.read().await?, &caller.workspace_id).await?, row))
    }

    /// Deletes a texture and its file.
    pub async fn delete_texture(&self, caller: &Caller, id: &str) -> Result<AssetDeleted> {
        let id = TextureId::parse(id).ok_or_else(|| not_found("texture"))?;
        let (workspace, prefix) = (caller.workspace_id.clone(), ObjectKey::Texture(&id).path());
        let deleted = self.delete_asset(caller, id.to_string(), prefix, move |tx| {
            Box::pin(async move { found(textures::delete(tx, &workspace, &id).await?, "texture") })
        });
        deleted.await
    }
}

fn row(texture: Texture) -> AssetRow {
    AssetRow {
        id: texture.id.to_string(),
        name: texture.name,
        file_size: texture.file_size,
        width: Some(texture.width),
        height: Some(texture.height),
        is_system: None,
        created_at: Timestamp(texture.created_at),
    }
}

fn check_quota(kept: (u64, u64), more: u64) -> Result<()> {
    check_usage("textures", kept, more, (limits::TEXTURES, limits::TEXTURES_BYTES))
}
