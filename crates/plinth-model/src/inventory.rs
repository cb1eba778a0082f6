//! Summarises the contents of a model: counts and names.

use serde::Serialize;

use crate::decode::image;
use crate::error::Result;
use crate::load::{LoadOptions, element_count, load};
use crate::model::{Material, Topology};
use crate::source::{Source, cut_name};
use crate::texture_slot::TextureSlot;
use crate::warnings::Warnings;

/// Summary of the contents of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The program that wrote the file, as stated in the file.
    pub generator: Option<String>,
    /// The animation clips. This list, `mesh_names` and `material_names` are limited separately: each list has at most
    /// 10 000 entries, and its names have at most 1 MiB as JSON.
    pub animations: Vec<AnimationSummary>,
    /// The names by which the setting `hiddenMeshNames` refers to the nodes with meshes.
    pub mesh_names: Vec<String>,
    /// The names by which the setting `materialEdits` refers to the materials.
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

/// Maximum number of entries in a list of names.
const NAMES: usize = 10_000;
/// Maximum size in bytes of all names in a list, encoded as JSON.
const NAMES_BYTES: usize = 1 << 20;

/// Side length in pixels to which images are downscaled during an inspection.
const INSPECTED_TEXTURE_SIDE: u32 = 64;

/// Reads a GLB file and returns a summary of its contents. The file is checked as thoroughly as for rendering.
/// Errors: see [`crate::load_glb`].
pub fn inspect(bytes: &[u8], options: &LoadOptions) -> Result<Inventory> {
    // All images are decoded, because decoding checks them. Downscaling them saves memory.
    let source = Source::open(bytes, options.limits)?;
    let model = load(&source, INSPECTED_TEXTURE_SIDE, None)?;
    // The last material is glTF's default material, which has no name.
    let named = &model.materials[..source.root.materials.len()];
    let mut omitted = Warnings::default();
    let listed_materials = listed("materials", named, |material| Some(&material.name), &mut omitted);
    let mesh_names = listed("meshes", &model.nodes, |node| node.mesh.is_some().then_some(&node.name), &mut omitted);
    let animations = listed("animations", &model.animations, |clip| Some(&clip.name), &mut omitted);
    let material_names = listed_materials.iter().map(|material| material.name.clone()).collect();
    let maps = |material: &&Material| {
        let used = TextureSlot::ALL.into_iter().filter(|slot| slot.of(material).is_some());
        used.flat_map(|slot| slot.map_names().iter().copied()).collect()
    };
    let material_maps = listed_materials.iter().map(maps).collect();
    let mut unreadable = Warnings::default();
    let textures = textures(&source, &model.warnings, &mut unreadable);
    let drawn = || model.nodes.iter().filter_map(|n| Some((&model.meshes[n.mesh?], n.instances.len().max(1) as u64)));
    let sum = |count: fn(&crate::model::Primitive) -> u64| {
        drawn().map(|(mesh, times)| mesh.primitives.iter().map(count).sum::<u64>() * times).sum()
    };
    Ok(Inventory {
        generator: source.root.asset.as_ref().and_then(|a| a.generator.clone()),
        animations: animations
            .into_iter()
            .map(|a| AnimationSummary { name: a.name.clone(), duration: a.duration, channels: a.channels.len() })
            .collect(),
        mesh_names: mesh_names.into_iter().map(|node| node.name.clone()).collect(),
        material_names,
        material_maps,
        triangles: sum(|p| element_count(Topology::Triangles, p)),
        lines: sum(|p| element_count(Topology::Lines, p)),
        points: sum(|p| element_count(Topology::Points, p)),
        vertices: sum(|p| p.positions.len() as u64),
        textures,
        extensions_used: source.root.extensions_used.clone(),
        extensions_required: source.root.extensions_required.clone(),
        warnings: model.warnings.into_iter().chain(omitted.into_list()).chain(unreadable.into_list()).collect(),
    })
}

/// Returns the entries of `all` that have a name, up to the maximum length of a list. Adds a warning if there are more.
fn listed<'a, T>(kind: &str, all: &'a [T], name: impl Fn(&T) -> Option<&String>, omitted: &mut Warnings) -> Vec<&'a T> {
    let mut free_bytes = NAMES_BYTES;
    let mut listed: Vec<&T> = all.iter().filter(|one| name(one).is_some()).collect();
    let fits = listed.iter().take(NAMES).take_while(|one| {
        let left = free_bytes.checked_sub(name(one).map_or(0, |name| json_bytes(name)));
        free_bytes = left.unwrap_or_default();
        left.is_some()
    });
    let (fitting, total) = (fits.count(), listed.len());
    if fitting < total {
        omitted.add(&format!("{kind}: only the first {fitting} of {total} names are listed"));
    }
    listed.truncate(fitting);
    listed
}

/// Returns the number of bytes that a text takes in a JSON list, including the comma.
fn json_bytes(text: &str) -> usize {
    serde_json::to_string(text).map_or(text.len(), |json| json.len()) + 1
}

/// Returns the images that can be read, up to the maximum length of a list. Adds a warning for each other image unless
/// `known` contains it already.
fn textures(source: &Source<'_>, known: &[String], unreadable: &mut Warnings) -> Vec<TextureSummary> {
    let mut textures = Vec::new();
    for (i, image) in source.root.images.iter().enumerate().take(NAMES) {
        // The model has been loaded, so no material uses an image that cannot be read.
        match image::with_name(source, i, image_header(source, i)) {
            Ok((format, (width, height))) => {
                let (name, format) = (image.name.as_deref().map(|name| cut_name(name).to_owned()), format.to_owned());
                textures.push(TextureSummary { name, format, width, height });
            }
            Err(problem) => {
                let warning = image::not_used(&problem);
                if !known.contains(&warning) {
                    unreadable.add(&warning);
                }
            }
        }
    }
    textures
}

/// Returns the format and the size of an image, read from its header.
fn image_header(source: &Source<'_>, index: usize) -> Result<(&'static str, (u32, u32))> {
    let bytes = image::bytes(source, index)?;
    Ok((image::kind(&bytes).map_or("", image::Kind::name), image::size(&bytes, index)?))
}
