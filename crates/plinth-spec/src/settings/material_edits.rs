//! `materialEdits`: changes of materials, by material name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::SettingsError;
use super::nested::{choice, color, flag, number, object, only, text};
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// How a material's alpha is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaChoice {
    /// Alpha is ignored.
    Opaque,
    /// There or not there.
    Mask,
    /// Alpha is coverage.
    Blend,
}

/// Which faces of a surface are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faces {
    /// Front faces.
    Front,
    /// Back faces, as if they were the front.
    Back,
    /// Both.
    Double,
}

/// Changes of one material. What is `None` stays as the model has it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MaterialEdit {
    /// `color`, sRGB.
    pub color: Option<[u8; 3]>,
    /// `roughness`.
    pub roughness: Option<f64>,
    /// `metalness`.
    pub metalness: Option<f64>,
    /// `opacity`.
    pub opacity: Option<f64>,
    /// `alphaMode`.
    pub alpha_mode: Option<AlphaChoice>,
    /// `emissive`, sRGB.
    pub emissive: Option<[u8; 3]>,
    /// `emissiveIntensity`.
    pub emissive_intensity: Option<f64>,
    /// `aoMapIntensity`.
    pub occlusion_strength: Option<f64>,
    /// `envMapIntensity`.
    pub environment_strength: Option<f64>,
    /// `side`.
    pub faces: Option<Faces>,
    /// `flatShading`.
    pub flat_shading: Option<bool>,
    /// `wireframe`.
    pub wireframe: Option<bool>,
    /// `normalScale`.
    pub normal_scale: Option<f64>,
    /// `bumpScale`.
    pub bump_scale: Option<f64>,
    /// `displacementScale`.
    pub displacement_scale: Option<f64>,
    /// `transmission`.
    pub transmission: Option<f64>,
    /// `clearcoat`.
    pub clearcoat: Option<f64>,
    /// `clearcoatRoughness`.
    pub clearcoat_roughness: Option<f64>,
    /// `sheen`.
    pub sheen: Option<f64>,
    /// `sheenRoughness`.
    pub sheen_roughness: Option<f64>,
    /// `sheenColor`, sRGB.
    pub sheen_color: Option<[u8; 3]>,
    /// `iridescence`.
    pub iridescence: Option<f64>,
    /// `iridescenceIOR`.
    pub iridescence_ior: Option<f64>,
    /// `specularIntensity`.
    pub specular: Option<f64>,
    /// `specularColor`, sRGB.
    pub specular_color: Option<[u8; 3]>,
    /// `thickness`.
    pub thickness: Option<f64>,
    /// `ior`.
    pub ior: Option<f64>,
    /// `attenuationColor`, sRGB.
    pub attenuation_color: Option<[u8; 3]>,
    /// `textureMaps`: whether a map, by its three.js name, is used.
    pub texture_maps: BTreeMap<String, bool>,
    /// `mapAssetId`.
    pub map_asset_id: Option<String>,
}

/// Every field of an edit.
pub const MATERIAL_EDIT_FIELDS: &[&str] = &[
    "color",
    "roughness",
    "metalness",
    "opacity",
    "alphaMode",
    "emissive",
    "emissiveIntensity",
    "aoMapIntensity",
    "envMapIntensity",
    "side",
    "flatShading",
    "wireframe",
    "normalScale",
    "bumpScale",
    "displacementScale",
    "transmission",
    "clearcoat",
    "clearcoatRoughness",
    "sheen",
    "sheenRoughness",
    "sheenColor",
    "iridescence",
    "iridescenceIOR",
    "specularIntensity",
    "specularColor",
    "thickness",
    "ior",
    "attenuationColor",
    "textureMaps",
    "mapAssetId",
];

/// Reads `materialEdits`.
pub(super) fn material_edits(key: &str, value: &Value) -> Result<BTreeMap<String, MaterialEdit>> {
    let members = object(key, value)?;
    if members.len() > limits::MATERIAL_EDITS {
        let words = format!("{key} may have at most {} keys, not {}", limits::MATERIAL_EDITS, members.len());
        return Err(SettingsError::invalid(key, words));
    }
    let bytes = value.to_string().len();
    if bytes > limits::MATERIAL_EDITS_BYTES {
        let words = format!("{key} may take at most {} bytes, not {bytes}", limits::MATERIAL_EDITS_BYTES);
        return Err(SettingsError::invalid(key, words));
    }
    members
        .iter()
        .map(|(material, edit)| {
            let at = format!("{key}.{material}");
            let members = object(&at, edit)?;
            only(&at, members, MATERIAL_EDIT_FIELDS)?;
            Ok((material.clone(), Fields { at, members }.edit()?))
        })
        .collect()
}

/// The members of one edit.
struct Fields<'a> {
    at: String,
    members: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn read<T>(&self, name: &str, read: impl FnOnce(&str, &Value) -> Result<T>) -> Result<Option<T>> {
        self.members.get(name).map(|value| read(&format!("{}.{name}", self.at), value)).transpose()
    }

    fn number(&self, name: &str, min: f64, max: f64) -> Result<Option<f64>> {
        self.read(name, |at, value| number(at, value, min, max))
    }

    fn share(&self, name: &str) -> Result<Option<f64>> {
        self.number(name, 0.0, 1.0)
    }

    fn edit(&self) -> Result<MaterialEdit> {
        let alpha = [AlphaChoice::Opaque, AlphaChoice::Mask, AlphaChoice::Blend];
        let faces = [Faces::Front, Faces::Back, Faces::Double];
        Ok(MaterialEdit {
            color: self.read("color", color)?,
            roughness: self.share("roughness")?,
            metalness: self.share("metalness")?,
            opacity: self.share("opacity")?,
            alpha_mode: self
                .read("alphaMode", |at, value| choice(at, value, &["OPAQUE", "MASK", "BLEND"]))?
                .map(|i| alpha[i]),
            emissive: self.read("emissive", color)?,
            emissive_intensity: self.number("emissiveIntensity", 0.0, 100.0)?,
            occlusion_strength: self.share("aoMapIntensity")?,
            environment_strength: self.number("envMapIntensity", 0.0, 16.0)?,
            faces: self.read("side", |at, value| choice(at, value, &["front", "back", "double"]))?.map(|i| faces[i]),
            flat_shading: self.read("flatShading", flag)?,
            wireframe: self.read("wireframe", flag)?,
            normal_scale: self.number("normalScale", -10.0, 10.0)?,
            bump_scale: self.number("bumpScale", -10.0, 10.0)?,
            displacement_scale: self.number("displacementScale", -10.0, 10.0)?,
            transmission: self.share("transmission")?,
            clearcoat: self.share("clearcoat")?,
            clearcoat_roughness: self.share("clearcoatRoughness")?,
            sheen: self.share("sheen")?,
            sheen_roughness: self.share("sheenRoughness")?,
            sheen_color: self.read("sheenColor", color)?,
            iridescence: self.share("iridescence")?,
            iridescence_ior: self.number("iridescenceIOR", 1.0, 2.5)?,
            specular: self.share("specularIntensity")?,
            specular_color: self.read("specularColor", color)?,
            thickness: self.number("thickness", 0.0, 100.0)?,
            ior: self.number("ior", 1.0, 2.5)?,
            attenuation_color: self.read("attenuationColor", color)?,
            texture_maps: self.read("textureMaps", toggles)?.unwrap_or_default(),
            map_asset_id: self.read("mapAssetId", text)?,
        })
    }
}

fn toggles(at: &str, value: &Value) -> Result<BTreeMap<String, bool>> {
    object(at, value)?.iter().map(|(name, toggle)| Ok((name.clone(), flag(&format!("{at}.{name}"), toggle)?))).collect()
}
