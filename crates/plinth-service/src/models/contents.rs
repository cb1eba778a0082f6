//! The contents of a model besides meshes, materials and animations.

use std::collections::BTreeMap;

use plinth_db::model_contents;
use plinth_model::{Inventory, TextureSlot};
use plinth_spec::id::ModelId;
use serde::{Deserialize, Serialize};

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum number of textures, of extensions, of warnings and of materials with maps that are stored.
const MOST: usize = 1000;
/// Maximum length of a stored text, in characters. Names in a file may be as long as the file.
const TEXT_CHARS: usize = 500;

/// The contents of a model besides meshes, materials and animations, as the check of its file found them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelContents {
    /// The program that wrote the file, as stated in the file.
    pub generator: Option<String>,
    /// Number of drawn triangles, including instances.
    pub triangles: u64,
    /// Number of drawn line segments.
    pub lines: u64,
    /// Number of drawn points.
    pub points: u64,
    /// The images in the file, at most 1000.
    pub textures: Vec<ModelTexture>,
    /// Number of all images in the file.
    pub texture_count: u64,
    /// Extensions that the file uses.
    pub extensions: Vec<String>,
    /// Messages about data in the file that was ignored or repaired. Those about the conversion of a ZIP come first.
    pub warnings: Vec<String>,
    /// The texture maps of each material that has texture maps, by the name of the material.
    pub material_maps: BTreeMap<String, Vec<String>>,
}

/// An image in a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelTexture {
    /// The image's name in the file.
    pub name: Option<String>,
    /// Format of the image, such as `png`.
    pub format: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Returns the names of all texture maps that a material can have, as in the setting `textureMaps`.
pub fn texture_map_names() -> impl Iterator<Item = &'static str> {
    TextureSlot::ALL.into_iter().flat_map(|slot| slot.map_names().iter().copied())
}

impl ModelContents {
    pub(crate) fn of(inventory: &Inventory) -> Self {
        let texts = |texts: &[String]| texts.iter().take(MOST).map(|text| cut(text)).collect();
        let textures = inventory.textures.iter().take(MOST).map(|texture| ModelTexture {
            name: texture.name.as_deref().map(cut),
            format: texture.format.clone(),
            width: texture.width,
            height: texture.height,
        });
        // Settings cannot contain names of more than `TEXT_CHARS` characters.
        let materials = inventory.material_names.iter().zip(&inventory.material_maps);
        let with_maps = materials.filter(|(name, maps)| !maps.is_empty() && name.chars().count() <= TEXT_CHARS);
        Self {
            generator: inventory.generator.as_deref().map(cut),
            triangles: inventory.triangles,
            lines: inventory.lines,
            points: inventory.points,
            textures: textures.collect(),
            texture_count: inventory.textures.len() as u64,
            extensions: texts(&inventory.extensions_used),
            warnings: texts(&inventory.warnings),
            material_maps: with_maps
                .take(MOST)
                .map(|(name, maps)| (name.clone(), maps.iter().map(|map| (*map).to_owned()).collect()))
                .collect(),
        }
    }
}

/// Shortens a text.
fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}

impl Service {
    /// Returns the contents of a model; `None` if the model was uploaded to a version that did not store them. The caller
    /// must have access to the model.
    pub async fn model_contents(&self, model: &ModelId) -> Result<Option<ModelContents>> {
        let text = model_contents::find(&mut self.db.read().await?, model).await?;
        text.map(|text| serde_json::from_str(&text).map_err(ServiceError::internal)).transpose()
    }
}
