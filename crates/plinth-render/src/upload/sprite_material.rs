//! The materials of points and lines.
//!
//! According to glTF 2.0, section 3.9.7, points and lines with normals are lit like surfaces, but without normal maps.
//! Points and lines without normals show the sum of the base colour and the emission.

use std::collections::BTreeMap;

use plinth_model::{AlphaMode, Clearcoat, Material, Model, TextureSlot, Topology};
use plinth_scene::{PosedPrimitive, Scene};

use super::geometry::primitive_of;
use super::material::{DrawClass, MaterialOnGpu, VariantKey, VolumeScale, upload, variant_key};
use super::texture::Textures;
use crate::gpu::Gpu;
use crate::shader::material_source::{SlotUse, define};

/// Points or lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SpriteKind {
    /// Points, with one vertex each.
    Points,
    /// Lines, with two vertices each.
    Lines,
}

impl SpriteKind {
    /// Returns the kind of a topology. Returns `None` for triangles.
    pub(crate) const fn of(topology: Topology) -> Option<Self> {
        match topology {
            Topology::Triangles => None,
            Topology::Lines => Some(Self::Lines),
            Topology::Points => Some(Self::Points),
        }
    }

    /// Returns the number of stored vertices per point or line.
    pub(crate) const fn vertices(self) -> usize {
        match self {
            Self::Points => 1,
            Self::Lines => 2,
        }
    }

    /// Returns the number of vertices that are drawn per point or line.
    pub(crate) const fn drawn_vertices(self) -> u32 {
        match self {
            Self::Points => 3,
            Self::Lines => 6,
        }
    }
}

/// The properties that determine the material of points and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpriteUse {
    /// Index of the material in the model.
    pub(crate) material: usize,
    pub(crate) kind: SpriteKind,
    /// Whether the vertices have normals, so that points and lines are lit.
    pub(crate) lit: bool,
}

/// Returns how a posed primitive is drawn as points or lines. Returns `None` if the primitive consists of triangles or
/// is empty.
pub(crate) fn sprite_use(scene: &Scene, posed: &PosedPrimitive) -> Option<SpriteUse> {
    let primitive = primitive_of(scene, posed)?;
    let kind = SpriteKind::of(primitive.topology)?;
    let some = primitive.indices.len() >= kind.vertices();
    some.then_some(SpriteUse { material: primitive.material, kind, lit: !posed.normals.is_empty() })
}

/// Appends the materials of points and lines to `materials`. Returns their indices.
pub(crate) fn upload_sprite_materials(
    gpu: &Gpu,
    scene: &Scene,
    posed: &[PosedPrimitive],
    textures: &mut Textures,
    materials: &mut Vec<MaterialOnGpu>,
) -> BTreeMap<SpriteUse, usize> {
    let mut colored: BTreeMap<SpriteUse, bool> = BTreeMap::new();
    for one in posed {
        if let (Some(used), Some(primitive)) = (sprite_use(scene, one), primitive_of(scene, one)) {
            *colored.entry(used).or_default() |= !primitive.colors.is_empty();
        }
    }
    colored
        .into_iter()
        .map(|(used, has_colors)| {
            let original = &scene.model.materials[used.material];
            let (material, key) = variant(&scene.model, original, used, has_colors);
            let scale = scene.world_from_model_scale;
            let scale = VolumeScale { world_from_scene: scale, world_from_mesh: scale };
            materials.push(upload(gpu, &scene.model, textures, (materials.len(), &material), key, scale));
            (used, materials.len() - 1)
        })
        .collect()
}

/// Returns a material for points and lines, and its shader variant.
fn variant(model: &Model, original: &Material, used: SpriteUse, has_colors: bool) -> (Material, VariantKey) {
    let alpha_varies = original.base_color[3] < 1.0 || original.base_color_texture.is_some() || has_colors;
    let material = Material {
        unlit: original.unlit || !used.lit,
        alpha_mode: if alpha_varies { original.alpha_mode } else { AlphaMode::Opaque },
        double_sided: true,
        normal_texture: None,
        anisotropy: None,
        clearcoat: original.clearcoat.map(|coat| Clearcoat { normal_texture: None, ..coat }),
        transmission: None,
        volume: None,
        overlay: false,
        ..original.clone()
    };
    let mut key = variant_key(model, &material, has_colors);
    if key.class != DrawClass::Opaque {
        // Blended points and lines are drawn like masked points and lines: they cover a part of the samples of a pixel
        // instead of being blended with the picture.
        key.class = DrawClass::Masked;
    }
    key.defines.insert("SPRITE".to_owned());
    if used.kind == SpriteKind::Lines {
        key.defines.insert("LINES".to_owned());
    }
    let emits = original.emissive.iter().any(|e| *e > 0.0);
    if material.unlit && !original.unlit && emits {
        key.defines.insert("EMITS".to_owned());
        if let Some(reference) = original.emissive_texture {
            let (second_uv, transformed) = (reference.uv_set == 1, reference.transform.is_some());
            key.slots.push(SlotUse { slot: TextureSlot::Emissive, second_uv, transformed });
            key.defines.extend([define(TextureSlot::Emissive), "UV".to_owned()]);
            if second_uv {
                key.defines.insert("UV1".to_owned());
            }
        }
    }
    (material, key)
}
