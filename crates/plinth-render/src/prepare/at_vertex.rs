//! Computes the values of materials at vertices. The bake and the simplification use these values.

use glam::Vec3;
use plinth_model::{Material, Model, Primitive, TextureRef};

use crate::upload::geometry::uv_of;
use crate::upload::levels::linear_from_byte;
use crate::upload::material::f0_from_ior;

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
    let is_smooth = |roughness, map| is_smooth(model, (roughness, map), primitive, v);
    let coat = material.clearcoat.filter(|coat| coat.factor > 0.0);
    is_smooth(material.perceptual_roughness, material.metallic_roughness_texture)
        || coat.is_some_and(|coat| is_smooth(coat.roughness, coat.roughness_texture))
}

/// Returns whether a layer of the surface is smooth at a vertex. Its roughness is multiplied by the green values of its
/// map, which are read only if they decide.
fn is_smooth(model: &Model, (roughness, map): (f32, Option<TextureRef>), primitive: &Primitive, v: usize) -> bool {
    let is_smooth_with = |green: u8| roughness * share(green) < MATT;
    let image = map.and_then(|map| model.images.get(model.textures.get(map.texture)?.image));
    let least = image.and_then(|image| image.pixels.known_facts()).map(|facts| facts.least[1]);
    let may_be_smooth = least.is_none_or(is_smooth_with);
    is_smooth_with(u8::MAX) || (may_be_smooth && is_smooth_with(texel(model, map, primitive, v)[1]))
}

#[cfg(test)]
mod tests {
    use plinth_model::{Clearcoat, Image, ImageFacts, Pixels, Sampler, Texture};

    use super::*;

    #[test]
    fn a_known_map_is_read_only_if_it_decides_whether_a_surface_is_polished() {
        let pixels = Pixels::known(ImageFacts { least: [0, 128, 0, 0] }, 0, || vec![0, 255, 0, 0, 0, 128, 0, 0]);
        let image = Image { width: 2, height: 1, pixels, ..Image::default() };
        let unread = Image {
            pixels: Pixels::known(ImageFacts { least: [0, 128, 0, 0] }, 0, || panic!("the image was decoded")),
            ..image.clone()
        };
        let model = Model {
            images: vec![image.into(), unread.into()],
            textures: [0, 1].map(|image| Texture { image, sampler: Sampler::default() }).into(),
            ..Model::default()
        };
        let primitive = Primitive { uvs: vec![vec![[0.25, 0.5], [0.75, 0.5]]], ..Primitive::default() };
        let map = |texture: usize| Some(TextureRef { texture, uv_set: 0, transform: None });
        let polished = |perceptual_roughness: f32, texture: usize, v: usize| {
            let metallic_roughness_texture = map(texture);
            let material = Material { perceptual_roughness, metallic_roughness_texture, ..Material::default() };
            is_polished(&model, &material, &primitive, v)
        };
        assert!(!polished(0.7, 0, 0) && polished(0.7, 0, 1));
        assert!(!polished(0.9, 1, 1), "half of it is matt, too");
        assert!(polished(0.3, 1, 0), "a map does not increase it");
        let coated = |factor: f32| {
            let clearcoat =
                Some(Clearcoat { factor, roughness: 0.7, roughness_texture: map(0), ..Clearcoat::default() });
            is_polished(&model, &Material { clearcoat, ..Material::default() }, &primitive, 1)
        };
        assert!(coated(1.0) && !coated(0.0));
    }
}
