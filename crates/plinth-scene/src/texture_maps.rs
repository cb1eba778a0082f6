//! Finds the texture maps of a material by their names in three.js.

use std::collections::BTreeMap;
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

/// Copies of metallic-roughness images in which one channel is white. Materials with the same image share its copies.
#[derive(Default)]
pub(crate) struct WhitenedImages {
    /// Index of the copy of an image, by the index of the image and the channel. `None` if roughness and metalness
    /// would both be white, so that no image is needed.
    copies: BTreeMap<(usize, usize), Option<usize>>,
}

impl WhitenedImages {
    fn find_or_add(&mut self, images: &mut Vec<Arc<Image>>, image: usize, channel: usize) -> Option<usize> {
        *self.copies.entry((image, channel)).or_insert_with(|| {
            if is_white(&images[image], other(channel)) {
                return None;
            }
            if is_white(&images[image], channel) {
                return Some(image);
            }
            images.push(Arc::new(whitened(&images[image], channel)));
            Some(images.len() - 1)
        })
    }
}

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

/// Removes a texture map from a material. Unknown names are ignored. `whitened_images` must be the same value for all
/// materials of the model.
pub(crate) fn remove_map(model: &mut Model, material: usize, name: &str, whitened_images: &mut WhitenedImages) {
    match map_named(name) {
        Some(Map::Texture(slot)) => {
            if let Some(reference) = slot.of_mut(&mut model.materials[material]) {
                *reference = None;
            }
        }
        Some(Map::Channel(channel)) => whiten(model, material, channel, whitened_images),
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

/// Removes either the roughness map or the metalness map. Both are channels of one image, so the texture gets a copy of
/// the image in which the channel is white.
fn whiten(model: &mut Model, material: usize, channel: usize, whitened_images: &mut WhitenedImages) {
    let Some(reference) = model.materials[material].metallic_roughness_texture else { return };
    let Some(texture) = model.textures.get(reference.texture).copied() else { return };
    if texture.image >= model.images.len() {
        return;
    }
    let copy = whitened_images.find_or_add(&mut model.images, texture.image, channel);
    model.materials[material].metallic_roughness_texture = copy.map(|image| {
        model.textures.push(Texture { image, ..texture });
        TextureRef { texture: model.textures.len() - 1, ..reference }
    });
}

/// Returns the channel of metalness for that of roughness, and the other way round.
const fn other(channel: usize) -> usize {
    2 * ROUGHNESS_CHANNEL + 1 - channel
}

fn is_white(image: &Image, channel: usize) -> bool {
    match image.pixels.known_facts() {
        Some(facts) => facts.least[channel] == 255,
        None => image.pixels.as_chunks::<4>().0.iter().all(|texel| texel[channel] == 255),
    }
}

/// Returns a copy of an image in which a channel is white.
fn whitened(image: &Image, channel: usize) -> Image {
    let mut copy = Image { encoded_hash: None, ..image.clone() };
    copy.pixels.as_chunks_mut::<4>().0.iter_mut().for_each(|texel| texel[channel] = 255);
    copy
}

#[cfg(test)]
mod tests {
    use plinth_model::{ImageFacts, Pixels};

    use super::*;

    #[test]
    fn roughness_and_metalness_are_channels_of_one_texture() {
        assert!(matches!(map_named("roughnessMap"), Some(Map::Channel(1))));
        assert!(matches!(map_named("metalnessMap"), Some(Map::Channel(2))));
        assert!(matches!(map_named("map"), Some(Map::Texture(TextureSlot::BaseColor))));
        assert!(matches!(map_named("envMap"), Some(Map::Nothing)));
        assert!(!is_known("Map") && is_known("anisotropyMap"));
    }

    /// Returns a model whose `materials` materials have one metallic-roughness texture with a single texel.
    fn model_of(texel: [u8; 4], materials: usize) -> Model {
        let encoded_hash = Some([1; 16]);
        let image = Image { width: 1, height: 1, pixels: texel.to_vec().into(), encoded_hash, ..Image::default() };
        let reference = TextureRef { texture: 0, uv_set: 0, transform: None };
        let material = Material { metallic_roughness_texture: Some(reference), ..Material::default() };
        Model {
            images: vec![Arc::new(image)],
            textures: vec![Texture { image: 0, sampler: plinth_model::Sampler::default() }],
            materials: vec![material; materials],
            ..Model::default()
        }
    }

    /// Returns the texel of a material's metallic-roughness texture.
    fn texel_of(model: &Model, material: usize) -> Option<&[u8]> {
        let reference = model.materials[material].metallic_roughness_texture?;
        Some(model.images[model.textures[reference.texture].image].pixels.as_ref())
    }

    #[test]
    fn materials_with_one_image_share_its_copies() {
        let mut model = model_of([10, 20, 30, 40], 100);
        let mut whitened_images = WhitenedImages::default();
        for material in 0..100 {
            let map = if material < 50 { "roughnessMap" } else { "metalnessMap" };
            remove_map(&mut model, material, map, &mut whitened_images);
        }
        assert_eq!(model.images.len(), 3, "the image and a copy for each channel");
        assert_eq!(*model.images[0].pixels, [10, 20, 30, 40]);
        assert!(model.images[1..].iter().all(|copy| copy.encoded_hash.is_none()), "the hash is that of the original");
        for material in 0..50 {
            assert_eq!(texel_of(&model, material).unwrap(), [10, 255, 30, 40]);
            assert_eq!(texel_of(&model, material + 50).unwrap(), [10, 20, 255, 40]);
        }
        // Without both maps, a material needs no image.
        for material in 0..50 {
            remove_map(&mut model, material, "metalnessMap", &mut whitened_images);
            assert_eq!(texel_of(&model, material), None);
        }
        assert_eq!(model.images.len(), 3);
    }

    #[test]
    fn no_copy_is_made_of_an_image_with_a_white_channel() {
        let mut model = model_of([10, 20, 255, 40], 2);
        let mut whitened_images = WhitenedImages::default();
        remove_map(&mut model, 0, "roughnessMap", &mut whitened_images);
        assert_eq!((texel_of(&model, 0), model.images.len()), (None, 1));
        remove_map(&mut model, 1, "metalnessMap", &mut whitened_images);
        assert_eq!((texel_of(&model, 1).unwrap(), model.images.len()), (&[10, 20, 255, 40][..], 1));
    }

    #[test]
    fn a_known_image_with_a_white_channel_is_not_decoded() {
        let facts = ImageFacts { least: [10, 20, 255, 40] };
        let pixels = Pixels::known(facts, 0, || panic!("the image was decoded"));
        let mut model = model_of([10, 20, 255, 40], 2);
        model.images[0] = Arc::new(Image { pixels, ..Image::clone(&model.images[0]) });
        let mut whitened_images = WhitenedImages::default();
        remove_map(&mut model, 0, "roughnessMap", &mut whitened_images);
        remove_map(&mut model, 1, "metalnessMap", &mut whitened_images);
        assert!(model.materials[0].metallic_roughness_texture.is_none());
        assert!(model.materials[1].metallic_roughness_texture.is_some());
        assert_eq!(model.images.len(), 1);
    }

    #[test]
    fn a_map_that_is_removed_again_and_again_is_copied_once() {
        let mut model = model_of([10, 20, 30, 40], 1);
        let mut whitened_images = WhitenedImages::default();
        for _ in 0..3 {
            remove_map(&mut model, 0, "roughnessMap", &mut whitened_images);
        }
        assert_eq!((texel_of(&model, 0).unwrap(), model.images.len()), (&[10, 255, 30, 40][..], 2));
    }
}
