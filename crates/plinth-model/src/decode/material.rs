//! Decodes materials with their extensions.

use crate::error::{ModelError, Result};
use crate::json;
use crate::model::{AlphaMode, Material, Sampler, Texture, TextureRef, Wrap};
use crate::source::{Source, cut_name, given_name, shortened};

/// Decodes all materials, and appends glTF's default material.
pub(crate) fn materials(source: &Source<'_>) -> Result<Vec<Material>> {
    source.budget.take::<Material>(source.root.materials.len())?;
    let decode = |(i, json)| {
        let material = MaterialReader { source, location: &format!("materials[{i}]") }.material(json)?;
        Ok(Material { name: name(i, json), ..material })
    };
    let mut out: Vec<Material> = source.root.materials.iter().enumerate().map(decode).collect::<Result<_>>()?;
    out.push(Material::default());
    Ok(out)
}

/// Returns the name of a material, as settings refer to it. Unlike in names of nodes, spaces are not replaced. Several
/// materials may have the same name.
fn name(i: usize, json: &json::Material) -> String {
    let name = given_name(json.name.as_deref());
    name.map_or_else(|| format!("material_{i}"), |name| cut_name(name).to_owned())
}

/// Decodes all textures. A texture without an image becomes `None`.
pub(crate) fn textures(source: &Source<'_>) -> Result<Vec<Option<Texture>>> {
    source.root.textures.iter().enumerate().map(|(i, texture)| decode_texture(source, i, texture)).collect()
}

fn decode_texture(source: &Source<'_>, i: usize, texture: &json::Texture) -> Result<Option<Texture>> {
    let location = format!("textures[{i}]");
    let extensions = &texture.extensions;
    let image =
        extensions.basisu.and_then(|e| e.source).or_else(|| extensions.webp.and_then(|e| e.source)).or(texture.source);
    let Some(image) = image else { return Ok(None) };
    if image >= source.root.images.len() {
        return Err(ModelError::invalid(location, format!("image {image} does not exist")));
    }
    let sampler = match texture.sampler {
        None => Sampler::default(),
        Some(index) => {
            let sampler = source
                .root
                .samplers
                .get(index)
                .ok_or_else(|| ModelError::invalid(location.as_str(), format!("sampler {index} does not exist")))?;
            let wrap = |code: Option<u32>| match code {
                None | Some(10497) => Wrap::Repeat,
                Some(33648) => Wrap::Mirror,
                Some(33071) => Wrap::Clamp,
                Some(other) => {
                    source.warn(&format!("samplers[{index}]: unknown wrap {other}, read as REPEAT"));
                    Wrap::Repeat
                }
            };
            Sampler {
                wrap_u: wrap(sampler.wrap_s),
                wrap_v: wrap(sampler.wrap_t),
                mag_nearest: sampler.mag_filter == Some(9728),
                min_nearest: matches!(sampler.min_filter, Some(9728 | 9984 | 9986)),
            }
        }
    };
    Ok(Some(Texture { image, sampler }))
}

#[derive(Clone, Copy)]
struct MaterialReader<'a> {
    source: &'a Source<'a>,
    location: &'a str,
}

impl MaterialReader<'_> {
    fn material(&self, m: &json::Material) -> Result<Material> {
        let pbr = &m.pbr_metallic_roughness;
        let e = &m.extensions;
        let strength = e.emissive_strength.as_ref().map_or(1.0, |s| s.emissive_strength.max(0.0));
        let alpha_mode = match m.alpha_mode.as_deref() {
            None | Some("OPAQUE") => AlphaMode::Opaque,
            Some("MASK") => AlphaMode::Mask { cutoff: m.alpha_cutoff.unwrap_or(0.5) },
            Some("BLEND") => AlphaMode::Blend,
            Some(other) => {
                let location = self.location;
                self.source.warn(&format!("{location}: unknown alphaMode '{}', read as OPAQUE", shortened(other)));
                AlphaMode::Opaque
            }
        };
        let specular = e.specular.as_ref();
        let texture = |info: Option<&json::TextureInfo>| self.texture(info);
        let mut out = Material {
            name: String::new(),
            base_color: pbr.base_color_factor,
            base_color_texture: self.texture(pbr.base_color_texture.as_deref())?,
            metallic: pbr.metallic_factor.clamp(0.0, 1.0),
            perceptual_roughness: pbr.roughness_factor.clamp(0.0, 1.0),
            metallic_roughness_texture: self.texture(pbr.metallic_roughness_texture.as_deref())?,
            normal_texture: self.texture(m.normal_texture.as_deref())?,
            normal_scale: m.normal_texture.as_ref().and_then(|t| t.scale).unwrap_or(1.0),
            occlusion_texture: self.texture(m.occlusion_texture.as_deref())?,
            occlusion_strength: m.occlusion_texture.as_ref().and_then(|t| t.strength).unwrap_or(1.0).clamp(0.0, 1.0),
            emissive: m.emissive_factor.map(|c| c.max(0.0) * strength),
            emissive_texture: self.texture(m.emissive_texture.as_deref())?,
            alpha_mode,
            double_sided: m.double_sided,
            unlit: e.unlit.is_some(),
            ior: e.ior.as_ref().map_or(1.5, |i| i.ior),
            specular: specular.map_or(1.0, |s| s.specular_factor.clamp(0.0, 1.0)),
            specular_texture: self.texture(specular.and_then(|s| s.specular_texture.as_deref()))?,
            specular_color: specular.map_or([1.0; 3], |s| s.specular_color_factor.map(|c| c.max(0.0))),
            specular_color_texture: self.texture(specular.and_then(|s| s.specular_color_texture.as_deref()))?,
            clearcoat: e.clearcoat.as_ref().map(|c| c.decoded(&texture)).transpose()?,
            sheen: e.sheen.as_ref().map(|s| s.decoded(&texture)).transpose()?,
            transmission: e.transmission.as_ref().map(|t| t.decoded(&texture)).transpose()?,
            volume: e.volume.as_ref().map(|v| v.decoded(&texture)).transpose()?,
            dispersion: e.dispersion.as_ref().map_or(0.0, |d| d.dispersion.max(0.0)),
            iridescence: e.iridescence.as_ref().map(|i| i.decoded(&texture)).transpose()?,
            anisotropy: e.anisotropy.as_ref().map(|a| a.decoded(&texture)).transpose()?,
            diffuse_transmission: e.diffuse_transmission.as_ref().map(|d| d.decoded(&texture)).transpose()?,
            environment_strength: 1.0,
            overlay: false,
        };
        if let Some(spec_gloss) = &e.specular_glossiness {
            out.base_color = spec_gloss.diffuse_factor;
            out.base_color_texture = self.texture(spec_gloss.diffuse_texture.as_deref())?;
            out.metallic_roughness_texture = self.texture(spec_gloss.specular_glossiness_texture.as_deref())?;
            // Only the factors are converted here. The textures are converted after the images have been decoded.
            super::spec_gloss::convert_factors(&mut out, spec_gloss);
        }
        self.check_finite(&out)?;
        Ok(out)
    }

    fn invalid(&self, problem: impl Into<String>) -> ModelError {
        ModelError::invalid(self.location, problem)
    }

    fn check_finite(&self, m: &Material) -> Result<()> {
        let numbers = m.base_color.iter().chain(&m.emissive).chain([&m.metallic, &m.perceptual_roughness, &m.ior]);
        if numbers.into_iter().all(|v| v.is_finite()) { Ok(()) } else { Err(self.invalid("a factor is not finite")) }
    }

    fn texture(&self, info: Option<&json::TextureInfo>) -> Result<Option<TextureRef>> {
        let Some(info) = info else { return Ok(None) };
        if info.index >= self.source.root.textures.len() {
            return Err(self.invalid(format!("texture {} does not exist", info.index)));
        }
        let transform = info.extensions.transform.as_ref();
        let rows = transform.map(|t| {
            let ([ox, oy], [sx, sy]) = (t.offset, t.scale.unwrap_or([1.0, 1.0]));
            let (sin, cos) = t.rotation.sin_cos();
            [cos * sx, sin * sy, ox, -sin * sx, cos * sy, oy]
        });
        if rows.is_some_and(|r| r.iter().any(|v| !v.is_finite())) {
            return Err(self.invalid("a texture transform is not finite"));
        }
        let uv_set = transform.and_then(|t| t.tex_coord).unwrap_or(info.tex_coord);
        Ok(Some(TextureRef { texture: info.index, uv_set, transform: rows }))
    }
}
