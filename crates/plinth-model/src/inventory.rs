//! Summarises the contents of a model: counts and names.

use serde::Serialize;

use crate::decode::image;
use crate::error::Result;
use crate::load::{LoadOptions, element_count, load};
use crate::model::{Material, Topology};
use crate::source::Source;
use crate::texture_slot::TextureSlot;
use crate::warnings::Warnings;

/// Summary of the contents of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The program that wrote the file, as stated in the file.
    pub generator: Option<String>,
    pub animations: Vec<AnimationSummary>,
    /// Render-time names of the nodes with meshes. The setting `hiddenMeshNames` refers to these names.
    pub mesh_names: Vec<String>,
    /// Render-time names of the materials. The setting `materialEdits` refers to these names.
    pub material_names: Vec<String>,
    /// For each material, the names of its texture maps in three.js. The setting `textureMaps` refers to these names.
    pub material_maps: Vec<Vec<&'static str>>,
    /// Number of drawn triangles, including instances.
    pub triangles: u64,
    /// Number of drawn line segments, including instances.
    pub lines: u64,
    /// Number of drawn points, including instances.
    pub points: u64,
    /// Number of drawn vertices, including instances.
    pub vertices: u64,
    /// The images that can be read, including unused ones.
    pub textures: Vec<TextureSummary>,
    /// `extensionsUsed` of the file.
    pub extensions_used: Vec<String>,
    /// `extensionsRequired` of the file.
    pub extensions_required: Vec<String>,
    /// Messages about data in the file that was ignored or repaired.
    pub warnings: Vec<String>,
}

/// Summary of an animation clip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnimationSummary {
    /// The name of the clip.
    pub name: String,
    /// Duration in seconds.
    pub duration: f32,
    /// Number of animated properties.
    pub channels: usize,
}

/// Summary of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextureSummary {
    /// The image's name in the file.
    pub name: Option<String>,
    /// `png`, `jpeg`, `webp` or `ktx2`.
    pub format: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Maximum side length of decoded images during an inspection, in pixels.
const INSPECTED_TEXTURE_SIDE: u32 = 64;

/// Reads a GLB file and returns a summary of its contents. The file is checked as thoroughly as for rendering.
/// Errors: the same as those of [`crate::load_glb`].
pub fn inspect(bytes: &[u8], options: &LoadOptions) -> Result<Inventory> {
    // All images are decoded, because that checks them. They are downscaled to save memory.
    let source = Source::open(bytes, options.limits)?;
    let model = load(&source, INSPECTED_TEXTURE_SIDE)?;
    // The last material is glTF's default material, which has no name.
    let named = &model.materials[..source.root.materials.len()];
    let material_names = named.iter().map(|material| material.name.clone()).collect();
    let maps = |material: &Material| {
        let used = TextureSlot::ALL.into_iter().filter(|slot| slot.of(material).is_some());
        used.flat_map(|slot| slot.map_names().iter().copied()).collect()
    };
    let material_maps = named.iter().map(maps).collect();
    let mut unreadable = Warnings::default();
    let mut textures = Vec::new();
    for (i, image) in source.root.images.iter().enumerate() {
        // An image that cannot be read is not used by any material; otherwise `load` would have returned an error.
        match image_header(&source, i) {
            Ok((format, (width, height))) => {
                let (name, format) = (image.name.clone(), format.to_owned());
                textures.push(TextureSummary { name, format, width, height });
            }
            Err(problem) => unreadable.add(&format!("not used: {problem}")),
        }
    }
    let drawn = || model.nodes.iter().filter_map(|n| Some((&model.meshes[n.mesh?], n.instances.len().max(1) as u64)));
    let sum = |count: fn(&crate::model::Primitive) -> u64| {
        drawn().map(|(mesh, times)| mesh.primitives.iter().map(count).sum::<u64>() * times).sum()
    };
    Ok(Inventory {
        generator: source.root.asset.as_ref().and_then(|a| a.generator.clone()),
        animations: model
            .animations
            .iter()
            .map(|a| AnimationSummary { name: a.name.clone(), duration: a.duration, channels: a.channels.len() })
            .collect(),
        mesh_names: model.nodes.iter().filter(|n| n.mesh.is_some()).map(|n| n.name.clone()).collect(),
        material_names,
        material_maps,
        triangles: sum(|p| element_count(Topology::Triangles, p)),
        lines: sum(|p| element_count(Topology::Lines, p)),
        points: sum(|p| element_count(Topology::Points, p)),
        vertices: sum(|p| p.positions.len() as u64),
        textures,
        extensions_used: source.root.extensions_used.clone(),
        extensions_required: source.root.extensions_required.clone(),
        warnings: model.warnings.into_iter().chain(unreadable.into_list()).collect(),
    })
}

/// Returns the format and the size of an image, read from its header.
fn image_header(source: &Source<'_>, index: usize) -> Result<(&'static str, (u32, u32))> {
    let bytes = image::bytes(source, index)?;
    Ok((image::kind(&bytes).map_or("", image::Kind::name), image::size(&bytes, index)?))
}
