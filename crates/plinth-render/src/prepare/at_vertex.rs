//! Computes the values of materials at vertices. The bake and the simplification use these values.

use glam::Vec3;
use plinth_model::{Material, Model, Primitive, TextureRef};

use crate::upload::texture::linear_from_byte;

/// Returns the nearest texel of a texture at a vertex, without decoding it. Without a texture, returns white.
fn texel(model: &Model, reference: Option<TextureRef>, primitive: &Primitive, v: usize) -> [u8; 4] {
    let white = [255; 4];
    let Some(reference) = reference else { return white };
    let Some(image) = model.textures.get(reference.texture).and_then(|t| model.images.get(t.image)) else {
        return white;
    };
    let Some(uv) = primitive.uvs.get(reference.uv_set).and_then(|set| set.get(v)) else { return white };
    let [s, t] = reference.transformed(*uv);
    let wrap = |x: f32, size: u32| ((x.rem_euclid(1.0) * size as f32) as usize).min(size.max(1) as usize - 1);
    let at = (wrap(t, image.height) * image.width as usize + wrap(s, image.width)) * 4;
    image.pixels.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or(white)
}

/// Converts a byte to 0..=1.
fn share(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

/// Returns the linear colour of an sRGB texture at a vertex.
pub(super) fn texel_rgb(model: &Model, reference: Option<TextureRef>, primitive: &Primitive, v: usize) -> Vec3 {
    let [r, g, b, _] = texel(model, reference, primitive, v);
    Vec3::from([r, g, b].map(linear_from_byte))
}

/// Returns the red channel of a linear texture at a vertex, from 0 to 1.
pub(super) fn texel_red(model: &Model, reference: Option<TextureRef>, primitive: &Primitive, v: usize) -> f32 {
    share(texel(model, reference, primitive, v)[0])
}

/// Returns the linear base colour with alpha at a vertex.
pub(super) fn base_color(model: &Model, material: &Material, primitive: &Primitive, v: usize) -> [f32; 4] {
    let [r, g, b, a] = material.base_color;
    let vertex = primitive.colors.get(v).copied().unwrap_or([1.0; 4]);
    let texel = texel(model, material.base_color_texture, primitive, v);
    [
        r * vertex[0] * linear_from_byte(texel[0]),
        g * vertex[1] * linear_from_byte(texel[1]),
        b * vertex[2] * linear_from_byte(texel[2]),
        a * vertex[3] * share(texel[3]),
    ]
}

/// Returns the metalness and the perceptual roughness at a vertex.
pub(super) fn metallic_roughness(model: &Model, material: &Material, primitive: &Primitive, v: usize) -> (f32, f32) {
    let [_, roughness, metallic, _] = texel(model, material.metallic_roughness_texture, primitive, v);
    (material.metallic * share(metallic), material.perceptual_roughness * share(roughness))
}

/// Perceptual roughness above which a surface counts as rough.
const MATT: f32 = 0.4;

/// Returns whether the surface is polished at a vertex, which means that its reflections show small changes of the
/// normal.
pub(crate) fn is_polished(model: &Model, material: &Material, primitive: &Primitive, v: usize) -> bool {
    least_roughness(model, material, primitive, v) < MATT
}

/// Returns the perceptual roughness of the smoothest layer at a vertex.
fn least_roughness(model: &Model, material: &Material, primitive: &Primitive, v: usize) -> f32 {
    let (_, base) = metallic_roughness(model, material, primitive, v);
    match material.clearcoat {
        Some(coat) if coat.factor > 0.0 => {
            base.min(coat.roughness * share(texel(model, coat.roughness_texture, primitive, v)[1]))
        }
        _ => base,
    }
}
