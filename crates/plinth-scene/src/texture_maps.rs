//! The texture maps of a material by their names in three.js.

use plinth_model::{Material, Model, Texture, TextureRef, TextureSlot};

/// The equivalent of a map in glTF.
#[derive(Clone, Copy)]
enum Map {
    Texture(TextureSlot),
    /// A channel of the metallic-roughness texture.
    Channel(usize),
    /// No equivalent, so no model has the map.
    Nothing,
}

/// The names of all maps of three.js' `MeshPhysicalMaterial`, with their equivalents.
const MAPS: &[(&str, Map)] = &[
    ("map", Map::Texture(TextureSlot::BaseColor)),
    ("roughnessMap", Map::Channel(1)),
    ("metalnessMap", Map::Channel(2)),
    ("normalMap", Map::Texture(TextureSlot::Normal)),
    ("aoMap", Map::Texture(TextureSlot::Occlusion)),
    ("emissiveMap", Map::Texture(TextureSlot::Emissive)),
    ("specularIntensityMap", Map::Texture(TextureSlot::Specular)),
    ("specularColorMap", Map::Texture(TextureSlot::SpecularColor)),
    ("clearcoatMap", Map::Texture(TextureSlot::Clearcoat)),
    ("clearcoatRoughnessMap", Map::Texture(TextureSlot::ClearcoatRoughness)),
    ("clearcoatNormalMap", Map::Texture(TextureSlot::ClearcoatNormal)),
    ("sheenColorMap", Map::Texture(TextureSlot::SheenColor)),
    ("sheenRoughnessMap", Map::Texture(TextureSlot::SheenRoughness)),
    ("transmissionMap", Map::Texture(TextureSlot::Transmission)),
    ("thicknessMap", Map::Texture(TextureSlot::Thickness)),
    ("iridescenceMap", Map::Texture(TextureSlot::Iridescence)),
    ("iridescenceThicknessMap", Map::Texture(TextureSlot::IridescenceThickness)),
    ("anisotropyMap", Map::Texture(TextureSlot::Anisotropy)),
    ("alphaMap", Map::Nothing),
    ("bumpMap", Map::Nothing),
    ("displacementMap", Map::Nothing),
    ("lightMap", Map::Nothing),
    ("envMap", Map::Nothing),
];

fn map_named(name: &str) -> Option<Map> {
    MAPS.iter().find(|(known, _)| *known == name).map(|(_, map)| *map)
}

/// Returns whether three.js has a map of this name.
pub(crate) fn is_known(name: &str) -> bool {
    map_named(name).is_some()
}

/// Removes a map from a material. Unknown names are ignored.
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

/// Removes all maps that do not use the first set of texture coordinates. In a decal, the second set contains the
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
