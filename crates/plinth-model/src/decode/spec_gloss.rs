//! Converts KHR_materials_pbrSpecularGlossiness to the metallic-roughness model. The algorithm is from the Khronos
//! example (KhronosGroup/glTF, extensions/2.0/Archived/KHR_materials_pbrSpecularGlossiness/examples).

use std::collections::BTreeMap;

use crate::decode::image::{linear_from_srgb, srgb_from_linear};
use crate::error::Result;
use crate::json::SpecularGlossiness;
use crate::limits::check;
use crate::model::{Image, Material, Texture, TextureRef};
use crate::source::Source;

/// Reflectance of dielectrics at normal incidence.
const DIELECTRIC: f32 = 0.04;

/// Converts the factors of a material. If the material has textures, its factors become neutral, because
/// [`convert_textures`] multiplies each texel by the original factors.
pub(crate) fn convert_factors(material: &mut Material, spec_gloss: &SpecularGlossiness) {
    let [r, g, b, a] = spec_gloss.diffuse_factor;
    if spec_gloss.diffuse_texture.is_some() || spec_gloss.specular_glossiness_texture.is_some() {
        (material.base_color, material.metallic, material.perceptual_roughness) = ([1.0; 4], 1.0, 1.0);
        return;
    }
    let texel = metallic_roughness([r, g, b], spec_gloss.specular_factor);
    let [r, g, b] = texel.base_color;
    material.base_color = [r, g, b, a];
    material.metallic = texel.metallic;
    material.perceptual_roughness = 1.0 - spec_gloss.glossiness_factor.clamp(0.0, 1.0);
}

/// All inputs of a conversion. Materials with equal inputs share the converted images. The elements are the index of
/// the diffuse image, the index of the specular-glossiness image, the bits of the factors, and whether both images use
/// the same texture coordinates.
type ConversionKey = (Option<usize>, Option<usize>, [u32; 8], bool);

/// Converts the textures of drawn materials to a base colour texture and a metallic-roughness texture. The new textures
/// and images are appended to `textures` and `images`. Materials with equal inputs are converted only once.
pub(crate) fn convert_textures(
    source: &Source<'_>,
    used: &[bool],
    materials: &mut [Material],
    textures: &mut Vec<Texture>,
    images: &mut Vec<Image>,
) -> Result<()> {
    let mut converted_images: BTreeMap<ConversionKey, usize> = BTreeMap::new();
    let mut pixels: u64 = images.iter().map(pixels_of).sum();
    for ((json, material), _) in source.root.materials.iter().zip(materials).zip(used).filter(|(_, used)| **used) {
        let Some(spec_gloss) = &json.extensions.specular_glossiness else { continue };
        let (diffuse, gloss) = (material.base_color_texture, material.metallic_roughness_texture);
        if gloss.is_none() && spec_gloss.specular_glossiness_texture.is_some() {
            // The texture was removed, because it has no image that can be used. The material is then not metallic.
            material.base_color = spec_gloss.diffuse_factor.map(|c| c.clamp(0.0, 1.0));
            continue;
        }
        let Some(any) = gloss.or(diffuse) else { continue };
        // A metal's colour comes from the specular-glossiness texture, so both textures must be sampled at the same
        // point. If their texture coordinates differ, the coordinates of the diffuse texture are used, and the
        // specular-glossiness texture is replaced by its mean.
        let same_coordinates =
            diffuse.zip(gloss).is_none_or(|(a, b)| (a.uv_set, a.transform) == (b.uv_set, b.transform));
        let reference = if same_coordinates { any } else { diffuse.unwrap_or(any) };
        let image_of = |r: Option<TextureRef>| r.map(|r| textures[r.texture].image);
        let [r, g, b] = spec_gloss.specular_factor;
        let [dr, dg, db, da] = spec_gloss.diffuse_factor;
        let factors = [r, g, b, spec_gloss.glossiness_factor, dr, dg, db, da].map(f32::to_bits);
        let key = (image_of(diffuse), image_of(gloss), factors, same_coordinates);
        let image = if let Some(image) = converted_images.get(&key) {
            *image
        } else {
            let sources = SourceTextures {
                diffuse: key.0.map(|i| &images[i]),
                gloss: key.1.map(|i| &images[i]),
                same_coordinates,
            };
            let (width, height) = sources.size();
            pixels += 2 * u64::from(width) * u64::from(height);
            check("pixels in images", pixels, source.limits.image_pixels)?;
            let (base, rough) = sources.converted(spec_gloss);
            images.extend([base, rough]);
            converted_images.insert(key, images.len() - 2);
            images.len() - 2
        };
        let sampler = textures[reference.texture].sampler;
        let first = textures.len();
        textures.extend([image, image + 1].map(|image| Texture { image, sampler }));
        material.base_color_texture = Some(TextureRef { texture: first, ..reference });
        material.metallic_roughness_texture = Some(TextureRef { texture: first + 1, ..reference });
    }
    Ok(())
}

fn pixels_of(image: &Image) -> u64 {
    u64::from(image.width) * u64::from(image.height)
}

/// The textures of a specular-glossiness material. A missing texture is treated as white.
struct SourceTextures<'a> {
    diffuse: Option<&'a Image>,
    gloss: Option<&'a Image>,
    /// Whether both textures use the same coordinates.
    same_coordinates: bool,
}

impl SourceTextures<'_> {
    /// Returns the size of the converted textures: the larger of the two source widths, and the larger of the two
    /// source heights.
    fn size(&self) -> (u32, u32) {
        let gloss = self.gloss.filter(|_| self.same_coordinates || self.diffuse.is_none());
        let both = || self.diffuse.into_iter().chain(gloss);
        (both().map(|i| i.width).max().unwrap_or(1), both().map(|i| i.height).max().unwrap_or(1))
    }

    /// Returns the base colour texture and the metallic-roughness texture.
    fn converted(&self, spec_gloss: &SpecularGlossiness) -> (Image, Image) {
        let (width, height) = self.size();
        let blank = || Vec::with_capacity(width as usize * height as usize * 4);
        let (mut base, mut rough) = (blank(), blank());
        let mean = self.gloss.filter(|_| !self.same_coordinates).map(mean_texel);
        let [dr, dg, db, da] = spec_gloss.diffuse_factor;
        let byte = |v: f32| (v.clamp(0.0, 1.0) * 255.0).round() as u8;
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let texel_of =
                |image: Option<&Image>| image.map_or([255; 4], |image| texel(image, (x, y), (width, height)));
            let (d, s) = (texel_of(self.diffuse), mean.unwrap_or_else(|| texel_of(self.gloss)));
            let decode = |c: u8, factor: f32| linear_from_srgb(f32::from(c) / 255.0) * factor;
            let diffuse = [decode(d[0], dr), decode(d[1], dg), decode(d[2], db)];
            let specular = std::array::from_fn(|i| decode(s[i], spec_gloss.specular_factor[i]));
            let glossiness = f32::from(s[3]) / 255.0 * spec_gloss.glossiness_factor;
            let out = metallic_roughness(diffuse, specular);
            base.extend(out.base_color.map(|c| byte(srgb_from_linear(c))));
            base.push(byte(f32::from(d[3]) / 255.0 * da));
            rough.extend([255, byte(1.0 - glossiness), byte(out.metallic), 255]);
        }
        let image = |pixels: Vec<u8>| Image {
            width,
            height,
            pixels: pixels.into(),
            source_width: width,
            source_height: height,
            encoded_hash: None,
        };
        (image(base), image(rough))
    }
}

/// Returns the texel of `image` at the position of the pixel (x, y) of another image, which covers the same area and
/// has the size (width, height).
fn texel(image: &Image, (x, y): (u32, u32), (width, height): (u32, u32)) -> [u8; 4] {
    let scaled =
        |coordinate: u32, from: u32, to: u32| (u64::from(coordinate) * u64::from(to) / u64::from(from)) as usize;
    let index = scaled(y, height, image.height) * image.width as usize + scaled(x, width, image.width);
    image.pixels.as_chunks::<4>().0.get(index).copied().unwrap_or([255; 4])
}

fn mean_texel(image: &Image) -> [u8; 4] {
    let texels = image.pixels.as_chunks::<4>().0;
    let sum = texels.iter().fold([0_u64; 4], |sum, t| std::array::from_fn(|c| sum[c] + u64::from(t[c])));
    sum.map(|s| (s / texels.len().max(1) as u64) as u8)
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
