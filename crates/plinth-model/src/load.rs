//! Loads a GLB file into a [`Model`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decode::{clip, image, light, material, mesh, node, skin, spec_gloss, uv_sets};
use crate::error::{ModelError, Result};
use crate::limits::Limits;
use crate::model::{
    Animation, Image, KnownImages, Material, Mesh, Model, Node, Primitive, Property, Skin, Texture, TextureRef,
    Topology, Transform, Trs,
};
use crate::source::{NAME_CHARS, Source, given_name, shortened};
use crate::texture_slot::TextureSlot;
use crate::warnings::Warnings;

/// Options for loading a model.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Limits on the contents of the model.
    pub limits: Limits,
    /// Maximum side length of an image in pixels. The sides of a larger image are halved until neither is longer than
    /// this.
    pub max_texture_side: u32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { limits: Limits::default(), max_texture_side: 4096 }
    }
}

/// Reads and decodes a GLB file.
/// Errors: if the file violates the glTF specification, refers to data outside the file, requires an unknown extension
/// or exceeds the limits. The message names the problem and its location in the file.
pub fn load_glb(bytes: &[u8], options: &LoadOptions) -> Result<Model> {
    load(&Source::open(bytes, options.limits)?, options.max_texture_side, None)
}

/// Reads and decodes a GLB file like [`load_glb`]. The pixels of known images are decoded only when they are read.
/// Errors: those of [`load_glb`].
pub fn load_glb_with_known_images(bytes: &[u8], options: &LoadOptions, known: KnownImages<'_>) -> Result<Model> {
    load(&Source::open(bytes, options.limits)?, options.max_texture_side, Some(known))
}

/// Decodes the contents of an opened file.
pub(crate) fn load(source: &Source<'_>, max_texture_side: u32, known: Option<KnownImages<'_>>) -> Result<Model> {
    let graph = node::graph(source)?;
    let mut nodes = graph.nodes;
    let mut materials = material::materials(source)?;
    let uses = mesh_uses(source, &nodes);
    let mut meshes = mesh::meshes(source, &materials, &uses)?;
    if meshes.iter().all(|m| m.primitives.is_empty()) {
        return Err(ModelError::invalid("meshes", "there is nothing to draw"));
    }
    let skins = model_skins(skin::skins(source)?, &graph.model_index);
    check_joints(source, &nodes, &meshes, &skins)?;
    let targets = morph_targets(source);
    let target_count =
        |node: usize| source.root.nodes[node].mesh.and_then(|mesh| targets.get(mesh).copied()).unwrap_or_default();
    let animations = clip::clips(source, &graph.model_index, target_count)?;
    decompose_animated_matrices(source, &mut nodes, &animations);
    fill_in_defaults(source, &mut nodes, &graph.hidden_meshes, &targets)?;
    let textures = material::textures(source)?;
    let used_materials = used_materials(&meshes, materials.len());
    let is_used = used_images(source.root.images.len(), &materials, &used_materials, &textures);
    image::check_encoded(source)?;
    let mut images = image::images(source, &is_used, max_texture_side, known)?;
    drop_maps_without_image(source, &mut materials, &used_materials, &textures, &images);
    let mut textures = resolved_textures(textures, &mut images);
    spec_gloss::convert_textures(source, &used_materials, &mut materials, &mut textures, &mut images)?;
    let mut warnings = warnings(source, &meshes);
    uv_sets::renumber(&mut materials, &mut meshes, &mut warnings);
    Ok(Model {
        nodes,
        meshes,
        materials,
        textures,
        images: images.into_iter().map(Arc::new).collect(),
        skins,
        animations,
        lights: light::lights(source)?,
        warnings: warnings.into_list(),
    })
}

/// Returns the number of morph targets of each mesh. glTF requires the same number for all primitives of a mesh, so the
/// number of the first drawn primitive is returned.
fn morph_targets(source: &Source<'_>) -> Vec<usize> {
    let count = |mesh: &crate::json::Mesh| {
        let first = mesh.primitives.iter().find(|p| source.root.drawn_positions(p).is_some());
        first.map_or(0, |p| p.targets.len())
    };
    source.root.meshes.iter().map(count).collect()
}

/// Counts how often each mesh is drawn, including instances.
fn mesh_uses(source: &Source<'_>, nodes: &[Node]) -> Vec<u64> {
    let mut uses = vec![0; source.root.meshes.len()];
    for node in nodes {
        if let Some(mesh) = node.mesh {
            uses[mesh] += node.instances.len().max(1) as u64;
        }
    }
    uses
}

/// Converts the joints of skins from node indices of the document to node indices of the model. If joints of a skin are
/// not part of the model, no mesh uses the skin, and it becomes empty.
fn model_skins(skins: Vec<Skin>, model_index: &[Option<usize>]) -> Vec<Skin> {
    let convert = |skin: Skin| {
        let joints: Option<Vec<usize>> = skin.joints.iter().map(|joint| model_index[*joint]).collect();
        joints.map_or_else(Skin::default, |joints| Skin { joints, ..skin })
    };
    skins.into_iter().map(convert).collect()
}

fn check_joints(source: &Source<'_>, nodes: &[Node], meshes: &[Mesh], skins: &[Skin]) -> Result<()> {
    // Many nodes may have the same mesh, so its primitives are looked at again only if one of them has an error.
    let largest = |mesh: &Mesh| mesh.primitives.iter().flat_map(|p| p.joints.iter().flatten()).copied().max();
    let largest_joints: Vec<Option<u16>> = meshes.iter().map(largest).collect();
    for node in nodes {
        let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else { continue };
        let count = skins[skin].joints.len();
        if largest_joints[mesh].is_none_or(|joint| usize::from(joint) < count) {
            continue;
        }
        let all = source.root.meshes[mesh].primitives.iter().enumerate();
        let drawn = all.filter(|(_, p)| source.root.drawn_positions(p).is_some());
        for ((p, _), primitive) in drawn.zip(&meshes[mesh].primitives) {
            if let Some(joint) = primitive.joints.iter().flatten().find(|j| usize::from(**j) >= count) {
                let location = format!("meshes[{mesh}].primitives[{p}]");
                return Err(ModelError::invalid(
                    location,
                    format!("joint {joint} is out of range: the skin has {count} joints"),
                ));
            }
        }
    }
    Ok(())
}

/// Converts the matrices of animated nodes to translation, rotation and scale. glTF forbids such matrices (glTF 2.0,
/// section 3.11), but files that contain them are accepted with a warning.
fn decompose_animated_matrices(source: &Source<'_>, nodes: &mut [Node], animations: &[Animation]) {
    for channel in animations.iter().flat_map(|a| &a.channels).filter(|c| c.property != Property::Weights) {
        let node = &mut nodes[channel.node];
        let Transform::Matrix(matrix) = node.local else { continue };
        let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
        if rotation.is_finite() && scale.is_finite() {
            node.local = Transform::Trs(Trs { translation, rotation, scale });
            source.warn(&format!("the node '{}' has a matrix and is animated", shortened(&node.name)));
        }
    }
}

/// Gives nodes without morph weights the morph weights of their mesh, and gives all nodes that have a mesh unique
/// names. Hidden nodes get names as if they were visible, so the names of the others do not depend on what is hidden.
/// `targets` contains the number of morph targets of each mesh.
fn fill_in_defaults(
    source: &Source<'_>,
    nodes: &mut [Node],
    hidden_meshes: &BTreeMap<usize, usize>,
    targets: &[usize],
) -> Result<()> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (i, node) in nodes.iter_mut().enumerate() {
        if node.weights.is_empty()
            && let Some(mesh) = node.mesh
        {
            let weights = &source.root.meshes[mesh].weights;
            let weights = &weights[..weights.len().min(targets[mesh])];
            source.budget.take::<f32>(weights.len())?;
            node.weights = weights.to_vec();
        }
        let Some(mesh) = node.mesh.or_else(|| hidden_meshes.get(&i).copied()) else { continue };
        if node.name.is_empty() {
            let name = given_name(source.root.meshes[mesh].name.as_deref());
            source.budget.take::<u8>(name.map_or(0, str::len))?;
            node.name = name.map_or_else(|| format!("mesh_{mesh}"), str::to_owned);
        }
        node.name = unique_name(&mut seen, &node.name);
    }
    Ok(())
}

/// Returns a unique name for a node. Spaces are replaced by `_`. If another node has the name already, `_1`, `_2` and
/// so on is appended. The result has at most [`NAME_CHARS`] characters.
fn unique_name(seen: &mut BTreeMap<String, usize>, name: &str) -> String {
    let base: String = name.chars().take(NAME_CHARS).map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    let mut candidate = base.clone();
    while seen.contains_key(&candidate) {
        let next = seen.entry(base.clone()).or_insert(0);
        *next += 1;
        let suffix = format!("_{next}");
        candidate = base.chars().take(NAME_CHARS - suffix.len()).collect::<String>() + &suffix;
    }
    seen.insert(candidate.clone(), 0);
    candidate
}

fn used_materials(meshes: &[Mesh], count: usize) -> Vec<bool> {
    let mut used = vec![false; count];
    for primitive in meshes.iter().flat_map(|m| &m.primitives) {
        used[primitive.material] = true;
    }
    used
}

/// Returns for each image whether a drawn material uses it. All other images are not decoded.
fn used_images(count: usize, materials: &[Material], used: &[bool], textures: &[Option<Texture>]) -> Vec<bool> {
    let mut is_used = vec![false; count];
    for (material, _) in materials.iter().zip(used).filter(|(_, used)| **used) {
        for reference in TextureSlot::ALL.into_iter().filter_map(|slot| slot.of(material)) {
            if let Some(Some(texture)) = textures.get(reference.texture) {
                is_used[texture.image] = true;
            }
        }
    }
    is_used
}

/// Removes maps of drawn materials if their textures have no image that can be used and a white texel would change the
/// look: it would be a direction, or give the whole surface the emission, metalness, coat, sheen, film or transparency
/// that the map limits to some parts. The factor that the map would have limited is then 0.
fn drop_maps_without_image(
    source: &Source<'_>,
    materials: &mut [Material],
    used: &[bool],
    textures: &[Option<Texture>],
    images: &[Image],
) {
    let has_no_image = |reference: TextureRef| match textures.get(reference.texture) {
        Some(Some(texture)) => images[texture.image].is_missing(),
        Some(None) => true,
        None => false,
    };
    for (material, _) in materials.iter_mut().zip(used).filter(|(_, used)| **used) {
        for slot in SLOTS_WITHOUT_WHITE {
            let Some(map) = slot.of_mut(material) else { continue };
            if !map.is_some_and(has_no_image) {
                continue;
            }
            *map = None;
            match slot {
                TextureSlot::Emissive => material.emissive = [0.0; 3],
                TextureSlot::MetallicRoughness => material.metallic = 0.0,
                TextureSlot::Clearcoat => material.clearcoat.iter_mut().for_each(|coat| coat.factor = 0.0),
                TextureSlot::SheenColor => material.sheen.iter_mut().for_each(|sheen| sheen.color = [0.0; 3]),
                TextureSlot::Iridescence => material.iridescence.iter_mut().for_each(|film| film.factor = 0.0),
                TextureSlot::Transmission => material.transmission.iter_mut().for_each(|t| t.factor = 0.0),
                TextureSlot::DiffuseTransmission => {
                    material.diffuse_transmission.iter_mut().for_each(|t| t.factor = 0.0);
                }
                _ => {}
            }
            let name = shortened(&material.name);
            source.warn(&format!("{name}: the {} texture has no image, so it has no effect", slot.name()));
        }
    }
}

/// The maps in which a white texel would change the look.
const SLOTS_WITHOUT_WHITE: [TextureSlot; 10] = [
    TextureSlot::Normal,
    TextureSlot::ClearcoatNormal,
    TextureSlot::Anisotropy,
    TextureSlot::Emissive,
    TextureSlot::MetallicRoughness,
    TextureSlot::Clearcoat,
    TextureSlot::SheenColor,
    TextureSlot::Iridescence,
    TextureSlot::Transmission,
    TextureSlot::DiffuseTransmission,
];

/// Returns all textures. A texture without an image gets an image of one white texel.
fn resolved_textures(textures: Vec<Option<Texture>>, images: &mut Vec<Image>) -> Vec<Texture> {
    let missing = textures.iter().any(Option::is_none) || images.iter().any(Image::is_missing);
    let white = images.len();
    if missing {
        let (pixels, encoded_hash) = (vec![255; 4].into(), None);
        images.push(Image { width: 1, height: 1, pixels, source_width: 1, source_height: 1, encoded_hash });
    }
    textures
        .into_iter()
        .map(|texture| match texture {
            Some(texture) if !images[texture.image].is_missing() => texture,
            Some(texture) => Texture { image: white, ..texture },
            None => Texture { image: white, sampler: crate::model::Sampler::default() },
        })
        .collect()
}

fn warnings(source: &Source<'_>, meshes: &[Mesh]) -> Warnings {
    let mut warnings = source.take_warnings();
    let is_empty = |p: &&Primitive| p.indices.is_empty();
    let draws_nothing = meshes.iter().flat_map(|m| &m.primitives).all(|p| is_empty(&p));
    if draws_nothing {
        warnings.add("there is nothing to draw: no mesh has a whole triangle, line or point");
    }
    for mesh in meshes {
        let count = mesh.primitives.iter().filter(is_empty).count();
        if count > 0 && !draws_nothing {
            let name = shortened(&mesh.name);
            warnings.add(&format!("{name}: {count} primitives are not drawn, because they have too few vertices"));
        }
    }
    let ktx2_undeclared = source.root.textures.iter().any(|t| {
        let direct = t.extensions.basisu.is_none().then_some(t.source).flatten();
        direct.and_then(|i| source.root.images.get(i)).is_some_and(|i| i.mime_type.as_deref() == Some("image/ktx2"))
    });
    if ktx2_undeclared {
        warnings.add("KTX2 images are used without KHR_texture_basisu; they are used anyway");
    }
    warnings
}

/// Returns the number of triangles, line segments or points of a primitive. Returns 0 if the topology of the primitive
/// is not `topology`.
pub(crate) fn element_count(topology: Topology, primitive: &Primitive) -> u64 {
    let corners = match topology {
        Topology::Triangles => 3,
        Topology::Lines => 2,
        Topology::Points => 1,
    };
    if primitive.topology == topology { primitive.indices.len() as u64 / corners } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sampler;
    use crate::texture_slot::material_with_all_extensions;

    #[test]
    fn the_image_of_each_slot_is_decoded() {
        let textures = [None, Some(Texture { image: 1, sampler: Sampler::default() })];
        for slot in TextureSlot::ALL {
            let mut material = material_with_all_extensions();
            *slot.of_mut(&mut material).unwrap() = Some(TextureRef { texture: 1, uv_set: 0, transform: None });
            assert_eq!(used_images(3, &[material], &[true], &textures), [false, true, false], "{}", slot.name());
        }
    }
}
