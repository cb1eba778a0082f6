//! The materials that a scene uses, with the images that they read.

use std::collections::{BTreeMap, BTreeSet};

use plinth_model::{AlphaMode, Material, Model};
use plinth_scene::{PosedPrimitive, Scene};

use crate::gpu::Gpu;
use crate::opacity::{MIN_OPAQUE_ALPHA, with_opaque_texels};
use crate::prepare::PrepareInputs;
use crate::upload::first_level::first_levels;
use crate::upload::geometry::{DrawMode, MaterialUse, primitive_of};
use crate::upload::material::{self, DrawClass, MaterialOnGpu, VolumeScale, used_slots, variant_key};
use crate::upload::material_sets;
use crate::upload::texture::{Textures, WantedImage};

/// Returns the images that the used materials read. `indices` are those with which each posed primitive is drawn, and
/// `size` is the width and the height of the frames.
pub(crate) fn wanted_images(
    gpu: &Gpu,
    inputs: &PrepareInputs<'_>,
    indices: &[Vec<u32>],
    size: (u32, u32),
) -> BTreeSet<WantedImage> {
    let model: &Model = &inputs.scene.model;
    let first_levels = first_levels(gpu, inputs, indices, size);
    let mut wanted = BTreeSet::new();
    for index in used_materials(inputs.scene, inputs.posed) {
        let material = &model.materials[index];
        for used in used_slots(model, material) {
            let texture = used.slot.of(material).and_then(|reference| model.textures.get(reference.texture));
            if let Some(image) = texture.map(|texture| texture.image) {
                let first = first_levels.get(&image).cloned().unwrap_or_default();
                wanted.insert(WantedImage { image, encoding: used.slot.encoding(), first });
            }
        }
    }
    wanted
}

fn used_materials(scene: &Scene, posed: &[PosedPrimitive]) -> BTreeSet<usize> {
    posed.iter().filter_map(|one| primitive_of(scene, one)).map(|p| p.material).collect()
}

pub(crate) fn upload_materials(
    gpu: &Gpu,
    scene: &Scene,
    posed: &[PosedPrimitive],
    textures: &mut Textures,
) -> Vec<MaterialOnGpu> {
    let used = used_materials(scene, posed);
    let colored: BTreeSet<usize> = posed
        .iter()
        .filter_map(|one| primitive_of(scene, one))
        .filter(|p| !p.colors.is_empty())
        .map(|p| p.material)
        .collect();
    let model = &scene.model;
    let variant = |(i, material)| used.contains(&i).then(|| variant_key(model, material, colored.contains(&i)));
    let variants: Vec<_> = model.materials.iter().enumerate().map(variant).collect();
    let scale = scene.world_from_model_scale;
    let mut materials = material_sets::upload_all(gpu, model, textures, &variants, scale);
    for i in with_opaque_texels(scene, posed) {
        let material = opaque_texels(&model.materials[i]);
        let mut key = variant_key(model, &material, colored.contains(&i));
        key.class = DrawClass::OpaqueTexels;
        let scale = VolumeScale { world_from_scene: scale, world_from_mesh: scale };
        materials[i].opaque_texels = Some(materials.len());
        materials.push(material::upload(gpu, model, textures, (materials.len(), &material), key, scale));
    }
    materials
}

/// Returns the material that draws the opaque texels of an alpha-blended material. The texels lie on the surface of the
/// alpha-blended material, which casts their shadow.
fn opaque_texels(blended: &Material) -> Material {
    let alpha_mode = AlphaMode::Mask { cutoff: MIN_OPAQUE_ALPHA };
    Material { alpha_mode, overlay: true, ..blended.clone() }
}

/// Appends copies of volume materials for scaled nodes, one per scale. The copies differ because the thickness of a
/// volume is in units of its mesh, but its attenuation distance is in units of the scene (KHR_materials_volume,
/// "Properties"). Returns the indices of the copies by material and scale.
pub(crate) fn upload_scaled_volumes(
    gpu: &Gpu,
    scene: &Scene,
    posed: &[PosedPrimitive],
    textures: &mut Textures,
    materials: &mut Vec<MaterialOnGpu>,
) -> BTreeMap<ScaledVolume, usize> {
    let mut copies = BTreeMap::new();
    for one in posed {
        let Some(primitive) = primitive_of(scene, one) else { continue };
        let index = primitive.material;
        if !materials[index].refracts || (one.scale / scene.world_from_model_scale - 1.0).abs() < SAME_SCALE {
            continue;
        }
        copies.entry(ScaledVolume::of(index, one)).or_insert_with(|| {
            let (material, key) = (&scene.model.materials[index], materials[index].key.clone());
            let scale = VolumeScale { world_from_scene: scene.world_from_model_scale, world_from_mesh: one.scale };
            materials.push(material::upload(gpu, &scene.model, textures, (materials.len(), material), key, scale));
            materials.len() - 1
        });
    }
    copies
}

/// Relative difference of scales that is not visible.
const SAME_SCALE: f32 = 1e-3;

/// Index of a material in the model, and the scale of a mesh with this material, as the bits of an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScaledVolume(usize, u32);

impl ScaledVolume {
    fn of(material: usize, posed: &PosedPrimitive) -> Self {
        Self(material, posed.scale.to_bits())
    }
}

/// How the uploaded materials are drawn. The way of drawing determines which triangles can form a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaterialUses {
    list: Vec<MaterialUse>,
    scaled: BTreeMap<ScaledVolume, usize>,
}

impl MaterialUses {
    pub(crate) fn new(materials: &[MaterialOnGpu], scaled: BTreeMap<ScaledVolume, usize>) -> Self {
        Self { list: materials.iter().map(material_use).collect(), scaled }
    }

    /// Returns how the uploaded material with the index `uploaded` is drawn.
    pub(crate) fn of(&self, uploaded: usize) -> MaterialUse {
        self.list[uploaded]
    }

    /// Returns the index of the uploaded material of a primitive. `material` is the index of the primitive's material
    /// in the model.
    pub(crate) fn uploaded(&self, material: usize, posed: &PosedPrimitive) -> usize {
        self.scaled.get(&ScaledVolume::of(material, posed)).copied().unwrap_or(material)
    }
}

fn material_use(material: &MaterialOnGpu) -> MaterialUse {
    let drawn = match material.key.class {
        DrawClass::Opaque | DrawClass::Masked | DrawClass::OpaqueTexels => DrawMode::Opaque,
        DrawClass::Transmissive if !material.key.defines.contains("BLEND") => DrawMode::Glass,
        DrawClass::Transmissive | DrawClass::Blended => DrawMode::Blended,
    };
    MaterialUse { drawn, is_alpha_tested: material.alpha_test.is_some(), opaque_texels: material.opaque_texels }
}
