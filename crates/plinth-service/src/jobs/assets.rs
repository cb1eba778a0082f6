//! What a render's settings name, and where it lies.

use std::collections::{BTreeMap, BTreeSet};

use plinth_db::renders::Render;
use plinth_db::{Conn, envs, overlays, textures};
use plinth_spec::FailureCode;
use plinth_spec::id::{EnvId, OverlayId, TextureId};
use plinth_spec::wire::Layer;
use plinth_store::ObjectKey;
use serde_json::Value;

use super::claim::Claim;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// What a render needs apart from its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderAssets {
    /// The environment.
    pub env: Option<EnvId>,
    /// Images by the identifiers that the settings name.
    pub images: BTreeMap<String, ImageAsset>,
    /// What the settings name in vain, where that is no failure.
    pub warnings: Vec<String>,
}

/// An image that settings name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageAsset {
    /// An overlay.
    Overlay(OverlayId),
    /// A texture.
    Texture(TextureId),
}

impl ImageAsset {
    /// Where it lies.
    pub const fn key(&self) -> ObjectKey<'_> {
        match self {
            Self::Overlay(id) => ObjectKey::Overlay(id),
            Self::Texture(id) => ObjectKey::Texture(id),
        }
    }
}

/// Something without which the render cannot be made is gone, or belongs to somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetMissing {
    /// What clients branch on.
    pub code: FailureCode,
    /// What people read.
    pub message: String,
}

/// Identifiers that settings name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Named {
    env: Option<String>,
    overlays: BTreeSet<String>,
    /// With the material that they are for.
    textures: BTreeMap<String, String>,
}

impl Service {
    /// What a render needs apart from its model: things of its own workspace, and overlays that everybody sees.
    pub async fn find_render_assets(&self, claim: &Claim) -> Result<std::result::Result<RenderAssets, AssetMissing>> {
        let render = &claim.render;
        let named = named(&serde_json::from_str(&render.settings).map_err(ServiceError::internal)?);
        let mut assets = RenderAssets::default();
        if named == Named::default() {
            return Ok(Ok(assets));
        }
        let mut conn = self.db.read().await?;
        if let Some(id) = &named.env {
            assets.env = match EnvId::parse(id) {
                Some(id) => envs::find(&mut conn, &render.workspace_id, &id).await?.map(|env| env.id),
                None => None,
            };
            if assets.env.is_none() {
                return Ok(Err(missing(FailureCode::EnvDownloadFailed, "environment", id)));
            }
        }
        for id in named.overlays {
            match find_overlay(&mut conn, render, &id, None).await? {
                Some(overlay) => assets.images.insert(id, ImageAsset::Overlay(overlay)),
                None => return Ok(Err(missing(FailureCode::OverlayMissing, "overlay", &id))),
            };
        }
        for (id, material) in named.textures {
            if let Some(image) = find_texture(&mut conn, render, &id).await? {
                assets.images.insert(id, image);
            } else {
                let words = format!("material '{material}' keeps its map: there is no texture '{id}'");
                assets.warnings.push(words);
            }
        }
        Ok(Ok(assets))
    }
}

fn missing(code: FailureCode, what: &str, id: &str) -> AssetMissing {
    let message = format!("the {what} '{id}' was deleted or belongs to another workspace");
    AssetMissing { code, message }
}

async fn find_overlay(conn: &mut Conn, render: &Render, id: &str, layer: Option<Layer>) -> Result<Option<OverlayId>> {
    let Some(id) = OverlayId::parse(id) else { return Ok(None) };
    let overlay = overlays::find_anywhere(conn, &id).await?;
    let is_seen = |o: &overlays::Overlay| {
        (o.is_system || o.workspace_id == render.workspace_id) && layer.is_none_or(|layer| o.layer == layer)
    };
    Ok(overlay.filter(is_seen).map(|overlay| overlay.id))
}

/// Images for materials are textures, or overlays of that layer.
async fn find_texture(conn: &mut Conn, render: &Render, id: &str) -> Result<Option<ImageAsset>> {
    if let Some(texture) = TextureId::parse(id)
        && let Some(texture) = textures::find(conn, &render.workspace_id, &texture).await?
    {
        return Ok(Some(ImageAsset::Texture(texture.id)));
    }
    Ok(find_overlay(conn, render, id, Some(Layer::Texture)).await?.map(ImageAsset::Overlay))
}

fn named(settings: &Value) -> Named {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let decals = settings["decals"].as_array().into_iter().flatten();
    let overlays = text(&settings["bgImageId"]).into_iter().chain(decals.filter_map(|d| text(&d["imageAssetId"])));
    let edits = settings["materialEdits"].as_object().into_iter().flatten();
    Named {
        env: text(&settings["envId"]),
        overlays: overlays.collect(),
        textures: edits.filter_map(|(material, edit)| Some((text(&edit["mapAssetId"])?, material.clone()))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_settings_name_is_found() {
        let settings = json!({
            "bgImageId": "o1", "envId": "e1",
            "decals": [{"imageAssetId": "o2"}, {"imageAssetId": "o1"}],
            "materialEdits": {"Wood": {"mapAssetId": "t1"}, "Steel": {"roughness": 0.5}},
        });
        let named = named(&settings);
        assert_eq!(named.env.as_deref(), Some("e1"));
        assert_eq!(named.overlays.into_iter().collect::<Vec<_>>(), ["o1", "o2"]);
        assert_eq!(named.textures.into_iter().collect::<Vec<_>>(), [("t1".to_owned(), "Wood".to_owned())]);
        assert_eq!(super::named(&json!({})), Named::default());
    }
}
