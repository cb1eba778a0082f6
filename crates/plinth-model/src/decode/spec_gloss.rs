//! KHR_materials_pbrSpecularGlossiness as metallic-roughness, by the conversion of the Khronos sample
//! (KhronosGroup/glTF, extensions/2.0/Archived/KHR_materials_pbrSpecularGlossiness/examples).

use std::collections::BTreeMap;

use crate::error::Result;
use crate::json::SpecularGlossiness;
use crate::limits::check;
use crate::model::{Image, Material, Texture};
use crate::source::Source;

const DIELECTRIC: f32 = 0.04;

/// Converts the factors. A material with a specular-glossiness texture keeps plain factors: its textures are
/// converted texel by texel in [`convert_textures`].
pub(crate) fn convert_factors(material: &mut Material, old: &SpecularGlossiness) {
    let [r, g, b, a] = old.diffuse_factor;
    let texel = metallic_roughness([r, g, b], old.specular_factor);
    if old.diffuse_texture.is_none() {
        let [r, g, b] = texel.base_color;
        material.base_color = [r, g, b, a];
    }
    material.metallic = texel.metallic;
    material.perceptual_roughness = 1.0 - old.glossiness_factor.clamp(0.0, 1.0);
    if old.specular_glossiness_texture.is_some() {
        material.metallic = 1.0;
        material.perceptual_roughness = 1.0;
    }
}

/// Replaces the specular-glossiness textures of drawn materials by metallic-roughness ones, appended to the lists; equal
/// ones are made once.
pub(crate) fn convert_textures(
    source: &Source<'_>,
    used: &[bool],
    materials: &mut [Material],
    textures: &mut Vec<Texture>,
    images: &mut Vec<Image>,
) -> Result<()> {
    let mut made: BTreeMap<(usize, [u32; 4]), usize> = BTreeMap::new();
    let mut pixels: u64 = images.iter().map(pixels_of).sum();
    for ((json, material), _) in source.root.materials.iter().zip(materials).zip(used).filter(|(_, used)| **used) {
        let Some(old) = &json.extensions.specular_glossiness else { continue };
        let Some(reference) = &mut material.metallic_roughness_texture else { continue };
        let Texture { image, sampler } = textures[reference.texture];
        let [r, g, b] = old.specular_factor;
        let key = (image, [r, g, b, old.glossiness_factor].map(f32::to_bits));
        let image = if let Some(image) = made.get(&key) {
            *image
        } else {
            pixels += pixels_of(&images[image]);
            check("pixels in images", pixels, source.limits.image_pixels)?;
            images.push(converted(old, &images[image]));
            made.insert(key, images.len() - 1);
            images.len() - 1
        };
        reference.texture = textures.len();
        textures.push(Texture { image, sampler });
    }
    Ok(())
}

fn pixels_of(image: &Image) -> u64 {
    u64::from(image.width) * u64::from(image.height)
}

/// A specular-glossiness image as metallic-roughness.
fn converted(old: &SpecularGlossiness, image: &Image) -> Image {
    let mut image = image.clone();
    for p in image.pixels.chunks_exact_mut(4) {
        let decode = |c: u8| super::image::linear_from_srgb(f32::from(c) / 255.0);
        let specular: [f32; 3] = std::array::from_fn(|i| decode(p[i]) * old.specular_factor[i]);
        let glossiness = f32::from(p[3]) / 255.0 * old.glossiness_factor;
        let texel = metallic_roughness([0.5; 3], specular);
        p[0] = 255;
        p[1] = ((1.0 - glossiness.clamp(0.0, 1.0)) * 255.0).round() as u8;
        p[2] = (texel.metallic * 255.0).round() as u8;
        p[3] = 255;
    }
    image
}

struct Converted {
    base_color: [f32; 3],
    metallic: f32,
}

fn metallic_roughness(diffuse: [f32; 3], specular: [f32; 3]) -> Converted {
    let brightness = |c: [f32; 3]| (0.299 * c[0] * c[0] + 0.587 * c[1] * c[1] + 0.114 * c[2] * c[2]).sqrt();
    let strength = 1.0 - specular.iter().copied().fold(0.0_f32, f32::max);
    let metallic = solve_metallic(brightness(diffuse), brightness(specular), strength);
    let base_color = std::array::from_fn(|i| {
        let from_diffuse = diffuse[i] * strength / (1.0 - DIELECTRIC) / (1.0 - metallic).max(1e-6);
        let from_specular = (specular[i] - DIELECTRIC * (1.0 - metallic)) / metallic.max(1e-6);
        let blend = metallic * metallic;
        (from_diffuse * (1.0 - blend) + from_specular * blend).clamp(0.0, 1.0)
    });
    Converted { base_color, metallic }
}

fn solve_metallic(diffuse: f32, specular: f32, strength: f32) -> f32 {
    if specular < DIELECTRIC {
        return 0.0;
    }
    let a = DIELECTRIC;
    let b = diffuse * strength / (1.0 - DIELECTRIC) + specular - 2.0 * DIELECTRIC;
    let c = DIELECTRIC - specular;
    let d = (b * b - 4.0 * a * c).max(0.0);
    ((-b + d.sqrt()) / (2.0 * a)).clamp(0.0, 1.0)
}
