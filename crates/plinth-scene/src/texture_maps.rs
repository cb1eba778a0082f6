//! Finds the texture maps of a material by their names in three.js.

use std::sync::Arc;

use plinth_model::{Image, Material, Model, Texture, TextureRef, TextureSlot};

/// The glTF equivalent of a texture map of three.js.
#[derive(Clone, Copy)]
enum Map {
    Texture(TextureSlot),
    /// A channel of the metallic-roughness texture.
    Channel(usize),
    /// glTF has no equivalent, so no model has the map.
    Nothing,
}

/// Maps of three.js' `MeshPhysicalMaterial` that have no equivalent in glTF.
const OTHER_MAPS: [&str; 5] = ["alphaMap", "bumpMap", "displacementMap", "lightMap", "envMap"];
/// The channel of roughness in the metallic-roughness texture. The next channel contains metalness.
const ROUGHNESS_CHANNEL: usize = 1;

fn map_named(name: &str) -> Option<Map> {
    for slot in TextureSlot::ALL {
        let Some(at) = slot.map_names().iter().position(|known| *known == name) else { continue };
        let is_shared = slot == TextureSlot::MetallicRoughness;
        return Some(if is_shared { Map::Channel(ROUGHNESS_CHANNEL + at) } else { Map::Texture(slot) });
    }
    OTHER_MAPS.contains(&name).then_some(Map::Nothing)
}

/// Returns whether three.js has a texture map of this name.
pub(crate) fn is_known(name: &str) -> bool {
    map_named(name).is_some()
}

/// Removes a texture map from a material. Unknown names are ignored.
pub(crate) fn remove_map(model: &mut Model, material: usize, name: &str) {
    match map_named(name) {
        Some(Map::Texture(slot)) => {
            if let Some(reference) = slot.of_mut(&mut model.materials[material]) {
                *reference = None;
            }
        }
        Some(Map::Channel(channel)) => whiten(model, material, channel),
        Some(Map::Nothing) | None => {}
    }
}

/// Removes all maps that do not use the first set of texture coordinates. The second set of a decal is reserved for the
/// coordinates of its image.
pub(crate) fn keep_first_set(material: &mut Material) {
    for slot in TextureSlot::ALL {
        if let Some(reference) = slot.of_mut(material)
            && reference.is_some_and(|r| r.uv_set != 0)
        {
            *reference = None;
        }
    }
}

/// Removes either the roughness map or the metalness map. Both are channels of one image, so the channel is set to
/// white in a copy of the image.
fn whiten(model: &mut Model, material: usize, channel: usize) {
    let Some(reference) = model.materials[material].metallic_roughness_texture else { return };
    let Some(texture) = model.textures.get(reference.texture).copied() else { return };
    let Some(image) = model.images.get(texture.image) else { return };
    let mut image = Image::clone(image);
    image.pixels.as_chunks_mut::<4>().0.iter_mut().for_each(|texel| texel[channel] = 255);
    let others_are_white = image.pixels.as_chunks::<4>().0.iter().all(|texel| texel[1] == 255 && texel[2] == 255);
    model.materials[material].metallic_roughness_texture = (!others_are_white).then(|| {
        model.images.push(Arc::new(image));
        model.textures.push(Texture { image: model.images.len() - 1, ..texture });
        TextureRef { texture: model.textures.len() - 1, ..reference }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roughness_and_metalness_are_channels_of_one_texture() {
        assert!(matches!(map_named("roughnessMap"), Some(Map::Channel(1))));
        assert!(matches!(map_named("metalnessMap"), Some(Map::Channel(2))));
        assert!(matches!(map_named("map"), Some(Map::Texture(TextureSlot::BaseColor))));
        assert!(matches!(map_named("envMap"), Some(Map::Nothing)));
        assert!(!is_known("Map") && is_known("anisotropyMap"));
    }
}
