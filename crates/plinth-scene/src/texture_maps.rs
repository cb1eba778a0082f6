//! The texture maps of a material by their names in three.js.

use plinth_model::{Material, Model, Texture, TextureRef};

/// The names of all maps of three.js' `MeshPhysicalMaterial`. glTF has no equivalent to the last five, so no model has
/// them.
pub(crate) const NAMES: &[&str] = &[
    "map",
    "roughnessMap",
    "metalnessMap",
    "normalMap",
    "aoMap",
    "emissiveMap",
    "specularIntensityMap",
    "specularColorMap",
    "clearcoatMap",
    "clearcoatRoughnessMap",
    "clearcoatNormalMap",
    "sheenColorMap",
    "sheenRoughnessMap",
    "transmissionMap",
    "thicknessMap",
    "iridescenceMap",
    "iridescenceThicknessMap",
    "anisotropyMap",
    "alphaMap",
    "bumpMap",
    "displacementMap",
    "lightMap",
    "envMap",
];

/// Removes a map from a material. Unknown names are ignored.
pub(crate) fn leave_out(model: &mut Model, material: usize, name: &str) {
    match name {
        "roughnessMap" => whiten(model, material, 1),
        "metalnessMap" => whiten(model, material, 2),
        _ => {
            if let Some(map) = map_of(&mut model.materials[material], name) {
                *map = None;
            }
        }
    }
}

/// Removes all maps that do not use the first set of texture coordinates. In a decal, the second set contains the
/// coordinates of its image.
pub(crate) fn keep_first_set(material: &mut Material) {
    for name in NAMES {
        if let Some(map) = map_of(material, name)
            && map.is_some_and(|r| r.uv_set != 0)
        {
            *map = None;
        }
    }
    if material.metallic_roughness_texture.is_some_and(|r| r.uv_set != 0) {
        material.metallic_roughness_texture = None;
    }
}

/// Sets a channel of the metallic-roughness image to white, in a copy of the image. Roughness and metalness share this
/// image, so this is how one of them is removed.
fn whiten(model: &mut Model, material: usize, channel: usize) {
    let Some(reference) = model.materials[material].metallic_roughness_texture else { return };
    let Some(texture) = model.textures.get(reference.texture).copied() else { return };
    let Some(mut image) = model.images.get(texture.image).cloned() else { return };
    image.pixels.as_chunks_mut::<4>().0.iter_mut().for_each(|texel| texel[channel] = 255);
    let others_are_white = image.pixels.as_chunks::<4>().0.iter().all(|texel| texel[1] == 255 && texel[2] == 255);
    model.materials[material].metallic_roughness_texture = (!others_are_white).then(|| {
        model.images.push(image);
        model.textures.push(Texture { image: model.images.len() - 1, ..texture });
        TextureRef { texture: model.textures.len() - 1, ..reference }
    });
}

fn map_of<'a>(m: &'a mut Material, name: &str) -> Option<&'a mut Option<TextureRef>> {
    match name {
        "map" => Some(&mut m.base_color_texture),
        "normalMap" => Some(&mut m.normal_texture),
        "aoMap" => Some(&mut m.occlusion_texture),
        "emissiveMap" => Some(&mut m.emissive_texture),
        "specularIntensityMap" => Some(&mut m.specular_texture),
        "specularColorMap" => Some(&mut m.specular_color_texture),
        "clearcoatMap" => m.clearcoat.as_mut().map(|c| &mut c.texture),
        "clearcoatRoughnessMap" => m.clearcoat.as_mut().map(|c| &mut c.roughness_texture),
        "clearcoatNormalMap" => m.clearcoat.as_mut().map(|c| &mut c.normal_texture),
        "sheenColorMap" => m.sheen.as_mut().map(|s| &mut s.color_texture),
        "sheenRoughnessMap" => m.sheen.as_mut().map(|s| &mut s.roughness_texture),
        "transmissionMap" => m.transmission.as_mut().map(|t| &mut t.texture),
        "thicknessMap" => m.volume.as_mut().map(|v| &mut v.thickness_texture),
        "iridescenceMap" => m.iridescence.as_mut().map(|i| &mut i.texture),
        "iridescenceThicknessMap" => m.iridescence.as_mut().map(|i| &mut i.thickness_texture),
        "anisotropyMap" => m.anisotropy.as_mut().map(|a| &mut a.texture),
        _ => None,
    }
}
