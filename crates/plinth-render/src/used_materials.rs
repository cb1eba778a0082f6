//! The materials that a scene uses, with the images that they read.

use std::collections::BTreeSet;

use plinth_model::Model;
use plinth_scene::{PosedPrimitive, Scene};

use crate::gpu::Gpu;
use crate::upload::geometry::{DrawMode, MaterialUse, primitive_of};
use crate::upload::material::{self, DrawClass, MaterialOnGpu, used_slots};
use crate::upload::texture::Textures;

/// Returns the images that the used materials read, with their encodings.
pub(crate) fn wanted_images(scene: &Scene, posed: &[PosedPrimitive]) -> Vec<(usize, plinth_model::TextureEncoding)> {
    let model: &Model = &scene.model;
    used_materials(scene, posed)
        .into_iter()
        .flat_map(|index| {
            let material = &model.materials[index];
            used_slots(model, material).into_iter().filter_map(move |used| {
                let reference = used.slot.of(material)?;
                Some((model.textures.get(reference.texture)?.image, used.slot.encoding()))
            })
        })
        .collect()
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
    let plain = plinth_model::Material::default();
    scene
        .model
        .materials
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let m = if used.contains(&i) { m } else { &plain };
            material::upload(gpu, &scene.model, textures, m, colored.contains(&i), scene.world_from_model_scale)
        })
        .collect()
}

pub(crate) fn material_use(material: &MaterialOnGpu) -> MaterialUse {
    let drawn = match material.key.class {
        DrawClass::Opaque | DrawClass::Masked => DrawMode::Opaque,
        DrawClass::Transmissive if !material.key.defines.contains("BLEND") => DrawMode::Glass,
        DrawClass::Transmissive | DrawClass::Blended => DrawMode::Blended,
    };
    MaterialUse { drawn, is_alpha_tested: material.alpha_test.is_some() }
}
