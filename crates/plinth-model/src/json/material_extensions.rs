//! The JSON objects of the material extensions, and their conversion to the types of the model.

#![expect(clippy::struct_field_names, reason = "the fields are named like the JSON members")]

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::document::TextureInfo;
use super::extensions::{extensions, one, white};
use crate::error::Result;
use crate::model::{self, TextureRef};

/// A function that converts a JSON texture reference to a texture reference of the model.
pub(crate) type TextureReader<'a> = &'a dyn Fn(Option<&TextureInfo>) -> Result<Option<TextureRef>>;

extensions!(MaterialExtensions {
    "KHR_materials_unlit" unlit: IgnoredAny,
    "KHR_materials_emissive_strength" emissive_strength: Box<EmissiveStrength>,
    "KHR_materials_ior" ior: Box<Ior>,
    "KHR_materials_specular" specular: Box<Specular>,
    "KHR_materials_clearcoat" clearcoat: Box<Clearcoat>,
    "KHR_materials_sheen" sheen: Box<Sheen>,
    "KHR_materials_transmission" transmission: Box<Transmission>,
    "KHR_materials_volume" volume: Box<Volume>,
    "KHR_materials_dispersion" dispersion: Box<Dispersion>,
    "KHR_materials_iridescence" iridescence: Box<Iridescence>,
    "KHR_materials_anisotropy" anisotropy: Box<Anisotropy>,
    "KHR_materials_diffuse_transmission" diffuse_transmission: Box<DiffuseTransmission>,
    "KHR_materials_pbrSpecularGlossiness" specular_glossiness: Box<SpecularGlossiness>,
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmissiveStrength {
    #[serde(default = "one")]
    pub(crate) emissive_strength: f32,
}

#[derive(Deserialize)]
pub(crate) struct Ior {
    #[serde(default = "default_ior")]
    pub(crate) ior: f32,
}

fn default_ior() -> f32 {
    1.5
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Specular {
    #[serde(default = "one")]
    pub(crate) specular_factor: f32,
    pub(crate) specular_texture: Option<Box<TextureInfo>>,
    #[serde(default = "white")]
    pub(crate) specular_color_factor: [f32; 3],
    pub(crate) specular_color_texture: Option<Box<TextureInfo>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Clearcoat {
    pub(crate) clearcoat_factor: f32,
    pub(crate) clearcoat_texture: Option<Box<TextureInfo>>,
    pub(crate) clearcoat_roughness_factor: f32,
    pub(crate) clearcoat_roughness_texture: Option<Box<TextureInfo>>,
    pub(crate) clearcoat_normal_texture: Option<Box<TextureInfo>>,
}

impl Clearcoat {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Clearcoat> {
        Ok(model::Clearcoat {
            factor: self.clearcoat_factor.clamp(0.0, 1.0),
            texture: texture(self.clearcoat_texture.as_deref())?,
            roughness: self.clearcoat_roughness_factor.clamp(0.0, 1.0),
            roughness_texture: texture(self.clearcoat_roughness_texture.as_deref())?,
            normal_texture: texture(self.clearcoat_normal_texture.as_deref())?,
            normal_scale: self.clearcoat_normal_texture.as_ref().and_then(|t| t.scale).unwrap_or(1.0),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sheen {
    pub(crate) sheen_color_factor: [f32; 3],
    pub(crate) sheen_color_texture: Option<Box<TextureInfo>>,
    pub(crate) sheen_roughness_factor: f32,
    pub(crate) sheen_roughness_texture: Option<Box<TextureInfo>>,
}

impl Sheen {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Sheen> {
        Ok(model::Sheen {
            color: self.sheen_color_factor.map(|c| c.max(0.0)),
            color_texture: texture(self.sheen_color_texture.as_deref())?,
            roughness: self.sheen_roughness_factor.clamp(0.0, 1.0),
            roughness_texture: texture(self.sheen_roughness_texture.as_deref())?,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Transmission {
    pub(crate) transmission_factor: f32,
    pub(crate) transmission_texture: Option<Box<TextureInfo>>,
}

impl Transmission {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Transmission> {
        Ok(model::Transmission {
            factor: self.transmission_factor.clamp(0.0, 1.0),
            texture: texture(self.transmission_texture.as_deref())?,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Volume {
    #[serde(default)]
    pub(crate) thickness_factor: f32,
    pub(crate) thickness_texture: Option<Box<TextureInfo>>,
    pub(crate) attenuation_distance: Option<f32>,
    #[serde(default = "white")]
    pub(crate) attenuation_color: [f32; 3],
}

impl Volume {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Volume> {
        Ok(model::Volume {
            thickness: self.thickness_factor.max(0.0),
            thickness_texture: texture(self.thickness_texture.as_deref())?,
            attenuation_distance: self.attenuation_distance.filter(|d| *d > 0.0).unwrap_or(f32::INFINITY),
            attenuation_color: self.attenuation_color.map(|c| c.clamp(0.0, 1.0)),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Dispersion {
    pub(crate) dispersion: f32,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Iridescence {
    pub(crate) iridescence_factor: f32,
    pub(crate) iridescence_texture: Option<Box<TextureInfo>>,
    pub(crate) iridescence_ior: f32,
    pub(crate) iridescence_thickness_minimum: f32,
    pub(crate) iridescence_thickness_maximum: f32,
    pub(crate) iridescence_thickness_texture: Option<Box<TextureInfo>>,
}

impl Default for Iridescence {
    fn default() -> Self {
        let film = model::Iridescence::default();
        Self {
            iridescence_factor: film.factor,
            iridescence_texture: None,
            iridescence_ior: film.ior,
            iridescence_thickness_minimum: film.thickness_min,
            iridescence_thickness_maximum: film.thickness_max,
            iridescence_thickness_texture: None,
        }
    }
}

impl Iridescence {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Iridescence> {
        Ok(model::Iridescence {
            factor: self.iridescence_factor.clamp(0.0, 1.0),
            texture: texture(self.iridescence_texture.as_deref())?,
            ior: self.iridescence_ior.max(1.0),
            thickness_min: self.iridescence_thickness_minimum.max(0.0),
            thickness_max: self.iridescence_thickness_maximum.max(0.0),
            thickness_texture: texture(self.iridescence_thickness_texture.as_deref())?,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Anisotropy {
    pub(crate) anisotropy_strength: f32,
    pub(crate) anisotropy_rotation: f32,
    pub(crate) anisotropy_texture: Option<Box<TextureInfo>>,
}

impl Anisotropy {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::Anisotropy> {
        Ok(model::Anisotropy {
            strength: self.anisotropy_strength.clamp(0.0, 1.0),
            rotation: self.anisotropy_rotation,
            texture: texture(self.anisotropy_texture.as_deref())?,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffuseTransmission {
    #[serde(default)]
    pub(crate) diffuse_transmission_factor: f32,
    pub(crate) diffuse_transmission_texture: Option<Box<TextureInfo>>,
    #[serde(default = "white")]
    pub(crate) diffuse_transmission_color_factor: [f32; 3],
    pub(crate) diffuse_transmission_color_texture: Option<Box<TextureInfo>>,
}

impl DiffuseTransmission {
    pub(crate) fn decoded(&self, texture: TextureReader<'_>) -> Result<model::DiffuseTransmission> {
        Ok(model::DiffuseTransmission {
            factor: self.diffuse_transmission_factor.clamp(0.0, 1.0),
            texture: texture(self.diffuse_transmission_texture.as_deref())?,
            color: self.diffuse_transmission_color_factor.map(|c| c.max(0.0)),
            color_texture: texture(self.diffuse_transmission_color_texture.as_deref())?,
        })
    }
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SpecularGlossiness {
    pub(crate) diffuse_factor: [f32; 4],
    pub(crate) diffuse_texture: Option<Box<TextureInfo>>,
    pub(crate) specular_factor: [f32; 3],
    pub(crate) glossiness_factor: f32,
    pub(crate) specular_glossiness_texture: Option<Box<TextureInfo>>,
}

impl Default for SpecularGlossiness {
    fn default() -> Self {
        Self {
            diffuse_factor: [1.0; 4],
            diffuse_texture: None,
            specular_factor: [1.0; 3],
            glossiness_factor: 1.0,
            specular_glossiness_texture: None,
        }
    }
}
