//! Computes the values of materials at vertices. The bake and the simplification use these values.

use glam::Vec3;
use plinth_model::{Material, Model, Primitive, TextureRef};

use crate::upload::geometry::uv_of;
use crate::upload::material::f0_from_ior;
use crate::upload::texture::linear_from_byte;

/// Returns the coordinates at which a vertex reads a texture, with the transform of the texture.
pub(super) fn texture_uv(reference: TextureRef, primitive: &Primitive, v: usize) -> [f32; 2] {
    reference.transformed(uv_of(primitive, reference.uv_set, v))
}

/// Returns the nearest texel of a texture at a vertex, without decoding it. Without a texture, returns white.
fn texel(model: &Model, reference: Option<TextureRef>, primitive: &Primitive, v: usize) -> [u8; 4] {
    let white = [255; 4];
    let Some(reference) = reference else { return white };
    let Some(texture) = model.textures.get(reference.texture) else { return white };
    let Some(image) = model.images.get(texture.image) else { return white };
    let [s, t] = texture_uv(reference, primitive, v);
    let column = texture.sampler.wrap_u.texel(s, image.width as usize);
    let row = texture.sampler.wrap_v.texel(t, image.height as usize);
    let at = (row * image.width as usize + column) * 4;
    image.pixels.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or(white)
}

/// Converts a byte to 0..=1.
fn share(byte: u8) -> f32 {
    f32::from(byte) / 255.0
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

/// Default index of refraction (KHR_materials_ior).
const DEFAULT_IOR: f32 = 1.5;
/// Reflectance at normal incidence of a dielectric with the default index of refraction (glTF 2.0, appendix B.3.4).
const DEFAULT_F0: f32 = 0.04;

/// Returns the reflectance at normal incidence of the dielectric part of the surface at a vertex
/// (KHR_materials_specular).
pub(super) fn dielectric_f0(model: &Model, material: &Material, primitive: &Primitive, v: usize) -> Vec3 {
    // With the default index of refraction, the quotient is exactly 1.
    let of_ior = DEFAULT_F0 * (f0_from_ior(material.ior) / f0_from_ior(DEFAULT_IOR));
    let color = material.specular_color_texture.map_or(Vec3::ONE, |reference| {
        let [r, g, b, _] = texel(model, Some(reference), primitive, v);
        Vec3::from([r, g, b].map(linear_from_byte))
    });
    let [_, _, _, strength] = texel(model, material.specular_texture, primitive, v);
    let at_full_strength = (Vec3::from(material.specular_color) * color * of_ior).min(Vec3::ONE);
    at_full_strength * (material.specular * share(strength))
}

/// Returns the fraction of light that passes through the surface of a dielectric with this reflectance at normal
/// incidence, divided by the same fraction for a dielectric with the default reflectance. The quotient is at most 1.
pub(super) fn relative_passing_share(f0: Vec3) -> f32 {
    ((1.0 - f0.max_element()) / (1.0 - DEFAULT_F0)).min(1.0)
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
