//! What is in a model, in numbers and names.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decode::image;
use crate::error::Result;
use crate::load::{LoadOptions, count_of, load, unique};
use crate::model::Topology;
use crate::source::Source;
use crate::warnings::Warnings;

/// What is in a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The tool that wrote the file.
    pub generator: Option<String>,
    /// Clips.
    pub animations: Vec<AnimationSummary>,
    /// Render-time mesh names: what `hiddenMeshNames` matches.
    pub mesh_names: Vec<String>,
    /// Render-time material names: what `materialEdits` matches.
    pub material_names: Vec<String>,
    /// Triangles drawn, instances counted.
    pub triangles: u64,
    /// Segments of lines drawn, instances counted.
    pub lines: u64,
    /// Points drawn, instances counted.
    pub points: u64,
    /// Vertices drawn, instances counted.
    pub vertices: u64,
    /// Images that can be read.
    pub textures: Vec<TextureSummary>,
    /// `extensionsUsed` of the file.
    pub extensions_used: Vec<String>,
    /// `extensionsRequired` of the file.
    pub extensions_required: Vec<String>,
    /// What was ignored or repaired.
    pub warnings: Vec<String>,
}

/// One clip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnimationSummary {
    /// Its name.
    pub name: String,
    /// Seconds.
    pub duration: f32,
    /// Animated properties.
    pub channels: usize,
}

/// One image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextureSummary {
    /// Its name in the file.
    pub name: Option<String>,
    /// `png`, `jpeg`, `webp` or `ktx2`.
    pub format: String,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// What images are reduced to when nothing is drawn.
const INSPECTED_TEXTURE_SIDE: u32 = 64;

/// Reads a GLB file and says what is in it. The file is checked as for rendering.
/// Errors: as [`crate::load_glb`].
pub fn inspect(bytes: &[u8], options: &LoadOptions) -> Result<Inventory> {
    // Pixels are decoded to be sure that they can be, but need not be kept.
    let source = Source::open(bytes, options.limits)?;
    let model = load(&source, INSPECTED_TEXTURE_SIDE)?;
    let mut seen = BTreeMap::new();
    let material_names = source
        .root
        .materials
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let name = m.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| format!("material_{i}"));
            unique_material(&mut seen, &name)
        })
        .collect();
    let mut unused = Warnings::default();
    let mut textures = Vec::new();
    for (i, image) in source.root.images.iter().enumerate() {
        // One that cannot be read is not drawn with: loading would have refused it.
        match header(&source, i) {
            Ok((format, (width, height))) => {
                let (name, format) = (image.name.clone(), format.to_owned());
                textures.push(TextureSummary { name, format, width, height });
            }
            Err(problem) => unused.add(&format!("not used: {problem}")),
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
        triangles: sum(|p| count_of(Topology::Triangles, p)),
        lines: sum(|p| count_of(Topology::Lines, p)),
        points: sum(|p| count_of(Topology::Points, p)),
        vertices: sum(|p| p.positions.len() as u64),
        textures,
        extensions_used: source.root.extensions_used.clone(),
        extensions_required: source.root.extensions_required.clone(),
        warnings: model.warnings.into_iter().chain(unused.into_list()).collect(),
    })
}

/// Format and size of an image, from its first bytes.
fn header(source: &Source<'_>, index: usize) -> Result<(&'static str, (u32, u32))> {
    let bytes = image::bytes(source, index)?;
    Ok((image::kind(&bytes).map_or("", image::Kind::name), image::size(&bytes, index)?))
}

/// Material names keep their spaces; repeated ones are one key that matches all of them.
fn unique_material(seen: &mut BTreeMap<String, usize>, name: &str) -> String {
    let _numbered = unique(seen, name);
    name.to_owned()
}
