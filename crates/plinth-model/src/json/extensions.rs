//! JSON objects of the supported extensions.

#![expect(clippy::struct_field_names, reason = "the fields are named like the JSON members")]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::document::TextureInfo;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RootExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub(crate) lights: Option<LightList>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct LightList {
    pub(crate) lights: Vec<Light>,
}

#[derive(Deserialize)]
pub(crate) struct Light {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default = "white")]
    pub(crate) color: [f32; 3],
    #[serde(default = "one")]
    pub(crate) intensity: f32,
    pub(crate) range: Option<f32>,
    pub(crate) spot: Option<Spot>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spot {
    pub(crate) inner_cone_angle: f32,
    pub(crate) outer_cone_angle: f32,
}

impl Default for Spot {
    fn default() -> Self {
        Self { inner_cone_angle: 0.0, outer_cone_angle: std::f32::consts::FRAC_PI_4 }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct NodeExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub(crate) light: Option<LightRef>,
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    pub(crate) instancing: Option<Instancing>,
}

#[derive(Deserialize)]
pub(crate) struct LightRef {
    pub(crate) light: usize,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Instancing {
    pub(crate) attributes: BTreeMap<String, usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct PrimitiveExtensions {
    #[serde(rename = "KHR_draco_mesh_compression")]
    pub(crate) draco: Option<DracoPrimitive>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DracoPrimitive {
    pub(crate) buffer_view: usize,
    pub(crate) attributes: BTreeMap<String, u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct MeshoptBuffer {
    /// Whether the buffer is a placeholder without data, for readers that do not support the extension.
    pub(crate) fallback: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MeshoptView {
    pub(crate) buffer: usize,
    #[serde(default)]
    pub(crate) byte_offset: u64,
    pub(crate) byte_length: u64,
    pub(crate) byte_stride: u64,
    pub(crate) count: u64,
    pub(crate) mode: String,
    pub(crate) filter: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
pub(crate) struct ImageTexture {
    pub(crate) source: Option<usize>,
}

#[derive(Deserialize, Clone, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TextureTransform {
    pub(crate) offset: [f32; 2],
    pub(crate) rotation: f32,
    pub(crate) scale: Option<[f32; 2]>,
    pub(crate) tex_coord: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct MaterialExtensions {
    #[serde(rename = "KHR_materials_unlit")]
    pub(crate) unlit: Option<serde::de::IgnoredAny>,
    #[serde(rename = "KHR_materials_emissive_strength")]
    pub(crate) emissive_strength: Option<Box<EmissiveStrength>>,
    #[serde(rename = "KHR_materials_ior")]
    pub(crate) ior: Option<Box<Ior>>,
    #[serde(rename = "KHR_materials_specular")]
    pub(crate) specular: Option<Box<Specular>>,
    #[serde(rename = "KHR_materials_clearcoat")]
    pub(crate) clearcoat: Option<Box<Clearcoat>>,
    #[serde(rename = "KHR_materials_sheen")]
    pub(crate) sheen: Option<Box<Sheen>>,
    #[serde(rename = "KHR_materials_transmission")]
    pub(crate) transmission: Option<Box<Transmission>>,
    #[serde(rename = "KHR_materials_volume")]
    pub(crate) volume: Option<Box<Volume>>,
    #[serde(rename = "KHR_materials_dispersion")]
    pub(crate) dispersion: Option<Box<Dispersion>>,
    #[serde(rename = "KHR_materials_iridescence")]
    pub(crate) iridescence: Option<Box<Iridescence>>,
    #[serde(rename = "KHR_materials_anisotropy")]
    pub(crate) anisotropy: Option<Box<Anisotropy>>,
    #[serde(rename = "KHR_materials_diffuse_transmission")]
    pub(crate) diffuse_transmission: Option<Box<DiffuseTransmission>>,
    #[serde(rename = "KHR_materials_pbrSpecularGlossiness")]
    pub(crate) specular_glossiness: Option<Box<SpecularGlossiness>>,
}

fn one() -> f32 {
    1.0
}

fn white() -> [f32; 3] {
    [1.0; 3]
}

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

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sheen {
    pub(crate) sheen_color_factor: [f32; 3],
    pub(crate) sheen_color_texture: Option<Box<TextureInfo>>,
    pub(crate) sheen_roughness_factor: f32,
    pub(crate) sheen_roughness_texture: Option<Box<TextureInfo>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Transmission {
    pub(crate) transmission_factor: f32,
    pub(crate) transmission_texture: Option<Box<TextureInfo>>,
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
        Self {
            iridescence_factor: 0.0,
            iridescence_texture: None,
            iridescence_ior: 1.3,
            iridescence_thickness_minimum: 100.0,
            iridescence_thickness_maximum: 400.0,
            iridescence_thickness_texture: None,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Anisotropy {
    pub(crate) anisotropy_strength: f32,
    pub(crate) anisotropy_rotation: f32,
    pub(crate) anisotropy_texture: Option<Box<TextureInfo>>,
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
