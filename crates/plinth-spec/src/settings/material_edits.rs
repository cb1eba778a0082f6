//! `materialEdits`: changes of materials, by material name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{Member, Shape, color, optional, text};
use crate::limits;

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

/// A part of a whole.
const SHARE: Shape = Shape::Number(0.0, 1.0);
/// Words of [`AlphaChoice`].
const ALPHAS: [(&str, AlphaChoice); 3] =
    [("OPAQUE", AlphaChoice::Opaque), ("MASK", AlphaChoice::Mask), ("BLEND", AlphaChoice::Blend)];
/// Words of [`Faces`].
const FACES: [(&str, Faces); 3] = [("front", Faces::Front), ("back", Faces::Back), ("double", Faces::Double)];

/// What `materialEdits` may be, its size apart.
pub(super) const MATERIAL_EDITS: Shape = Shape::Map(&EDIT, limits::MATERIAL_EDITS);
const EDIT: Shape = Shape::Object(EDIT_MEMBERS);
const EDIT_MEMBERS: &[Member] = &[
    optional("color", Shape::Color),
    optional("roughness", SHARE),
    optional("metalness", SHARE),
    optional("opacity", SHARE),
    optional("alphaMode", Shape::Choice(&[ALPHAS[0].0, ALPHAS[1].0, ALPHAS[2].0])),
    optional("emissive", Shape::Color),
    optional("emissiveIntensity", Shape::Number(0.0, 100.0)),
    optional("aoMapIntensity", SHARE),
    optional("envMapIntensity", Shape::Number(0.0, 16.0)),
    optional("side", Shape::Choice(&[FACES[0].0, FACES[1].0, FACES[2].0])),
    optional("flatShading", Shape::Flag),
    optional("wireframe", Shape::Flag),
    optional("normalScale", Shape::Number(-10.0, 10.0)),
    optional("bumpScale", Shape::Number(-10.0, 10.0)),
    optional("displacementScale", Shape::Number(-10.0, 10.0)),
    optional("transmission", SHARE),
    optional("clearcoat", SHARE),
    optional("clearcoatRoughness", SHARE),
    optional("sheen", SHARE),
    optional("sheenRoughness", SHARE),
    optional("sheenColor", Shape::Color),
    optional("iridescence", SHARE),
    optional("iridescenceIOR", Shape::Number(1.0, 2.5)),
    optional("specularIntensity", SHARE),
    optional("specularColor", Shape::Color),
    optional("thickness", Shape::Number(0.0, 100.0)),
    optional("ior", Shape::Number(1.0, 2.5)),
    optional("attenuationColor", Shape::Color),
    // As many as fit into the bytes of all edits.
    optional("textureMaps", Shape::Map(&Shape::Flag, limits::MATERIAL_EDITS_BYTES)),
    optional("mapAssetId", Shape::Text),
];

/// Every field of an edit.
pub fn material_edit_fields() -> impl Iterator<Item = &'static str> {
    EDIT_MEMBERS.iter().map(|member| member.name)
}

/// Reads checked `materialEdits`.
pub(super) fn material_edits(value: &Value) -> BTreeMap<String, MaterialEdit> {
    let edits = value.as_object().into_iter().flatten();
    edits.map(|(material, value)| (material.clone(), edit(value))).collect()
}

fn edit(value: &Value) -> MaterialEdit {
    let number = |name: &str| value[name].as_f64();
    let color = |name: &str| color(&value[name]);
    let flag = |name: &str| value[name].as_bool();
    let toggles = value["textureMaps"].as_object().into_iter().flatten();
    MaterialEdit {
        color: color("color"),
        roughness: number("roughness"),
        metalness: number("metalness"),
        opacity: number("opacity"),
        alpha_mode: ALPHAS.iter().find(|(word, _)| value["alphaMode"] == *word).map(|(_, alpha)| *alpha),
        emissive: color("emissive"),
        emissive_intensity: number("emissiveIntensity"),
        occlusion_strength: number("aoMapIntensity"),
        environment_strength: number("envMapIntensity"),
        faces: FACES.iter().find(|(word, _)| value["side"] == *word).map(|(_, faces)| *faces),
        flat_shading: flag("flatShading"),
        wireframe: flag("wireframe"),
        normal_scale: number("normalScale"),
        bump_scale: number("bumpScale"),
        displacement_scale: number("displacementScale"),
        transmission: number("transmission"),
        clearcoat: number("clearcoat"),
        clearcoat_roughness: number("clearcoatRoughness"),
        sheen: number("sheen"),
        sheen_roughness: number("sheenRoughness"),
        sheen_color: color("sheenColor"),
        iridescence: number("iridescence"),
        iridescence_ior: number("iridescenceIOR"),
        specular: number("specularIntensity"),
        specular_color: color("specularColor"),
        thickness: number("thickness"),
        ior: number("ior"),
        attenuation_color: color("attenuationColor"),
        texture_maps: toggles.filter_map(|(name, toggle)| Some((name.clone(), toggle.as_bool()?))).collect(),
        map_asset_id: value.get("mapAssetId").map(text),
    }
}
