//! Finds the assets that the settings of a render refer to.

use std::collections::{BTreeMap, BTreeSet};

use plinth_db::{Conn, envs, models, overlays, textures};
use plinth_spec::id::{EnvId, OverlayId, TextureId, WorkspaceId};
use plinth_spec::wire::Layer;
use plinth_spec::{FailureCode, RenderSettings};
use plinth_store::ObjectKey;

use super::claim::Claim;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Assets of a render, apart from its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderAssets {
    /// Environment map.
    pub env: Option<EnvId>,
    /// Images. The keys are the identifiers in the settings.
    pub images: BTreeMap<String, ImageAsset>,
}

/// An image that the settings refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageAsset {
    Overlay(OverlayId),
    Texture(TextureId),
}

impl ImageAsset {
    /// Returns the image's key in the store.
    pub const fn key(&self) -> ObjectKey<'_> {
        match self {
            Self::Overlay(id) => ObjectKey::Overlay(id),
            Self::Texture(id) => ObjectKey::Texture(id),
        }
    }
}

/// A required asset does not exist or belongs to another workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetMissing {
    pub code: FailureCode,
    pub message: String,
}

/// Asset identifiers in the settings.
#[derive(Debug, Default, PartialEq, Eq)]
struct AssetIds {
    env: Option<String>,
    overlays: BTreeSet<String>,
    textures: BTreeSet<String>,
}

impl Service {
    /// Returns the SHA-256 of the model file of a claimed render, in hex. Works even if the model was deleted after the
    /// render was created.
    /// Errors: the database has no row for the model.
    pub async fn model_sha256(&self, claim: &Claim) -> Result<String> {
        let found = models::file_sha256(&mut self.db.read().await?, &claim.render.model_id).await?;
        found.ok_or_else(|| ServiceError::internal("a render's model has no row"))
    }

    /// Finds the assets of a render. The assets must belong to the render's workspace or be system assets.
    pub async fn find_render_assets(
        &self,
        claim: &Claim,
        settings: &RenderSettings,
    ) -> Result<std::result::Result<RenderAssets, AssetMissing>> {
        self.find_assets(&claim.render.workspace_id, settings).await
    }

    /// Finds the assets that settings refer to. The assets must belong to the workspace or be system assets.
    pub(crate) async fn find_assets(
        &self,
        workspace: &WorkspaceId,
        settings: &RenderSettings,
    ) -> Result<std::result::Result<RenderAssets, AssetMissing>> {
        let ids = asset_ids(settings);
        let mut assets = RenderAssets::default();
        if ids == AssetIds::default() {
            return Ok(Ok(assets));
        }
        let mut conn = self.db.read().await?;
        if let Some(id) = &ids.env {
            assets.env = match EnvId::parse(id) {
                Some(id) => envs::find(&mut conn, workspace, &id).await?.map(|env| env.id),
                None => None,
            };
            if assets.env.is_none() {
                return Ok(Err(missing(FailureCode::EnvDownloadFailed, "environment", id)));
            }
        }
        for id in ids.overlays {
            match find_overlay(&mut conn, workspace, &id, None).await? {
                Some(overlay) => assets.images.insert(id, ImageAsset::Overlay(overlay)),
                None => return Ok(Err(missing(FailureCode::OverlayMissing, "overlay", &id))),
            };
        }
        // A missing texture is no error. The renderer keeps the material's original texture and reports a warning.
        for id in ids.textures {
            if let Some(image) = find_texture(&mut conn, workspace, &id).await? {
                assets.images.insert(id, image);
            }
        }
        Ok(Ok(assets))
    }
}

fn missing(code: FailureCode, what: &str, id: &str) -> AssetMissing {
    let message = format!("the {what} '{id}' was deleted or belongs to another workspace");
    AssetMissing { code, message }
}

async fn find_overlay(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    id: &str,
    layer: Option<Layer>,
) -> Result<Option<OverlayId>> {
    let Some(id) = OverlayId::parse(id) else { return Ok(None) };
    let overlay = overlays::find_anywhere(conn, &id).await?;
    let is_seen = |o: &overlays::Overlay| {
        (o.is_system || o.workspace_id == *workspace) && layer.is_none_or(|layer| o.layer == layer)
    };
    Ok(overlay.filter(is_seen).map(|overlay| overlay.id))
}

/// Finds an image for a material: a texture, or an overlay of [`Layer::Texture`].
async fn find_texture(conn: &mut Conn, workspace: &WorkspaceId, id: &str) -> Result<Option<ImageAsset>> {
    if let Some(texture) = TextureId::parse(id)
        && let Some(texture) = textures::find(conn, workspace, &texture).await?
    {
        return Ok(Some(ImageAsset::Texture(texture.id)));
    }
    Ok(find_overlay(conn, workspace, id, Some(Layer::Texture)).await?.map(ImageAsset::Overlay))
}

fn asset_ids(settings: &RenderSettings) -> AssetIds {
    let edits = settings.material_edits().values();
    AssetIds {
        env: settings.environment().id.clone(),
        overlays: settings.overlay_ids().cloned().collect(),
        textures: edits.filter_map(|edit| edit.map_asset_id.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use plinth_spec::settings::ParseOptions;
    use serde_json::json;

    use super::*;

    #[test]
    fn all_asset_identifiers_in_settings_are_found() {
        let decal = |image| {
            json!({"id": "a", "imageAssetId": image, "position": [0, 0, 0], "normal": [0, 0, 1], "euler": [0, 0, 0],
                "size": 1})
        };
        let settings = json!({
            "bgImageId": "o1", "envId": "e1",
            "decals": [decal("o2"), decal("o1")],
            "materialEdits": {"Wood": {"mapAssetId": "t1"}, "Steel": {"roughness": 0.5}},
        });
        let ids = asset_ids(&RenderSettings::from_json(&settings, ParseOptions::default()).unwrap());
        assert_eq!(ids.env.as_deref(), Some("e1"));
        assert_eq!(ids.overlays.into_iter().collect::<Vec<_>>(), ["o1", "o2"]);
        assert_eq!(ids.textures.into_iter().collect::<Vec<_>>(), ["t1"]);
        assert_eq!(asset_ids(&RenderSettings::default()), AssetIds::default());
        let dataset = json!({"output": "dataset", "bgImageId": "o1"});
        let dataset = RenderSettings::from_json(&dataset, ParseOptions::default()).unwrap();
        assert_eq!(asset_ids(&dataset), AssetIds::default(), "datasets have no background");
    }
}
