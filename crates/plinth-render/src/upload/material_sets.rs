//! Uploads the materials of a model. Opaque materials with the same shader variant and the same textures form sets. One
//! bind group contains all materials of a set, so that one draw call shades the surfaces of all of them.

use std::collections::{BTreeMap, BTreeSet};

use plinth_model::{Material, Model};

use super::material::{
    DrawClass, MaterialOnGpu, VariantKey, VolumeScale, bind, material_buffer, texture_of, uniform, upload, variant_key,
};
use super::texture::{SamplerKey, Textures, sampler_key};
use crate::gpu::Gpu;
use crate::gpu_types;

/// Maximum number of materials in a set (`MAX_MATERIALS` in `types/material.wgsl`).
const MAX_IN_SET: usize = 64;

/// Preprocessor define for shader variants that read a material from a set.
const DEFINE: &str = "MATERIAL_SET";

/// What the materials of a set have in common: the shader variant, and the image and the sampler of each slot.
type SetKey<'a> = (&'a VariantKey, Vec<(usize, SamplerKey)>);

/// Uploads the materials of meshes whose nodes are not scaled. `variants` has an entry for each material of the model:
/// its shader variant, or `None` if the material is not used.
pub(crate) fn upload_all(
    gpu: &Gpu,
    model: &Model,
    textures: &mut Textures,
    variants: &[Option<VariantKey>],
    world_from_scene: f32,
) -> Vec<MaterialOnGpu> {
    let scale = VolumeScale { world_from_scene, world_from_mesh: world_from_scene };
    let size = (MAX_IN_SET * size_of::<gpu_types::Material>()) as u64;
    let fits = size <= gpu.device.limits().max_uniform_buffer_binding_size;
    let sets = if fits { sets(model, variants) } else { Vec::new() };
    let mut in_sets: BTreeMap<usize, MaterialOnGpu> = BTreeMap::new();
    for (variant, members) in sets {
        let key = VariantKey { defines: with_define(&variant.defines), ..variant.clone() };
        let twins: Vec<_> = members.iter().map(|i| uniform(&model.materials[*i], scale)).collect();
        let buffer = material_buffer(gpu, size);
        gpu.write(&buffer, 0, bytemuck::cast_slice(&twins));
        let (layout, group) = bind(gpu, model, textures, &model.materials[members[0]], &buffer, &key.slots);
        for (place, i) in (0..).zip(&members) {
            let material = MaterialOnGpu {
                key: key.clone(),
                layout: layout.clone(),
                group: group.clone(),
                set: members[0],
                place,
                alpha_test: None,
                refracts: false,
                blurs: false,
                shadowless: false,
                overlay: false,
                opaque_texels: None,
            };
            in_sets.insert(*i, material);
        }
    }
    let unused = Material::default();
    let all = variants.iter().enumerate().map(|(i, variant)| {
        in_sets.remove(&i).unwrap_or_else(|| match variant {
            Some(key) => upload(gpu, model, textures, (i, &model.materials[i]), key.clone(), scale),
            None => upload(gpu, model, textures, (i, &unused), variant_key(model, &unused, false), scale),
        })
    });
    all.collect()
}

/// Returns the sets: their shader variants, and the indices of their materials. If two materials of a variant can share
/// a set, all materials of the variant are in sets, so that the variant is compiled only once.
fn sets<'a>(model: &Model, variants: &'a [Option<VariantKey>]) -> Vec<(&'a VariantKey, Vec<usize>)> {
    let mut alike: BTreeMap<SetKey<'_>, Vec<usize>> = BTreeMap::new();
    for (i, key) in variants.iter().enumerate() {
        let material = &model.materials[i];
        if let Some(key) = key.as_ref().filter(|key| key.class == DrawClass::Opaque && !material.overlay) {
            let textures = key.slots.iter().map(|used| texture_of(model, material, used.slot));
            let textures = textures.map(|texture| (texture.image, sampler_key(texture.sampler))).collect();
            alike.entry((key, textures)).or_default().push(i);
        }
    }
    let shared: BTreeSet<&VariantKey> =
        alike.iter().filter(|(_, members)| members.len() > 1).map(|((key, _), _)| *key).collect();
    let sets = alike.iter().filter(|((key, _), _)| shared.contains(key));
    sets.flat_map(|((key, _), members)| members.chunks(MAX_IN_SET).map(|part| (*key, part.to_vec()))).collect()
}

fn with_define(defines: &BTreeSet<String>) -> BTreeSet<String> {
    defines.iter().cloned().chain([DEFINE.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sets of materials. Each material is given by its roughness and whether it is unlit.
    fn sets_of(materials: &[(f32, bool)]) -> Vec<Vec<usize>> {
        let materials = materials.iter().map(|(perceptual_roughness, unlit)| Material {
            perceptual_roughness: *perceptual_roughness,
            unlit: *unlit,
            ..Material::default()
        });
        let model = Model { materials: materials.collect(), ..Model::default() };
        let variants: Vec<_> = model.materials.iter().map(|m| Some(variant_key(&model, m, false))).collect();
        sets(&model, &variants).into_iter().map(|(_, members)| members).collect()
    }

    #[test]
    fn materials_of_the_same_variant_form_sets() {
        assert_eq!(sets_of(&[(0.5, false), (0.6, true), (0.7, false)]), [vec![0, 2]]);
        assert!(sets_of(&[(0.5, false), (0.6, true)]).is_empty(), "no set of one material");
    }

    #[test]
    fn large_sets_are_divided() {
        let sets = sets_of(&[(0.5, false); 150]);
        assert_eq!(sets.iter().map(Vec::len).collect::<Vec<_>>(), [64, 64, 22]);
        assert_eq!(sets.concat(), (0..150).collect::<Vec<_>>());
    }

    #[test]
    fn shaders_agree_on_the_size_of_a_set() {
        let text = include_str!("../../shaders/types/material.wgsl");
        assert!(text.contains(&format!("const MAX_MATERIALS: u32 = {MAX_IN_SET}u;")));
    }
}
