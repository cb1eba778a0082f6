//! Generates WGSL for the textures of a material: a declaration and a reading function for each used slot.

use std::fmt::Write as _;

use plinth_model::{Material, TextureRef};

/// All textures that a glTF material can have, in the order of `Material.uv_rows` in the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Slot {
    BaseColor,
    MetallicRoughness,
    Normal,
    Occlusion,
    Emissive,
    Specular,
    SpecularColor,
    Clearcoat,
    ClearcoatRoughness,
    ClearcoatNormal,
    SheenColor,
    SheenRoughness,
    Transmission,
    Thickness,
    Iridescence,
    IridescenceThickness,
    Anisotropy,
    DiffuseTransmission,
    DiffuseTransmissionColor,
}

impl Slot {
    pub(crate) const ALL: [Self; 19] = [
        Self::BaseColor,
        Self::MetallicRoughness,
        Self::Normal,
        Self::Occlusion,
        Self::Emissive,
        Self::Specular,
        Self::SpecularColor,
        Self::Clearcoat,
        Self::ClearcoatRoughness,
        Self::ClearcoatNormal,
        Self::SheenColor,
        Self::SheenRoughness,
        Self::Transmission,
        Self::Thickness,
        Self::Iridescence,
        Self::IridescenceThickness,
        Self::Anisotropy,
        Self::DiffuseTransmission,
        Self::DiffuseTransmissionColor,
    ];

    /// Returns the lower-case name in the shader.
    const fn name(self) -> &'static str {
        match self {
            Self::BaseColor => "base_color",
            Self::MetallicRoughness => "metallic_roughness",
            Self::Normal => "normal",
            Self::Occlusion => "occlusion",
            Self::Emissive => "emissive",
            Self::Specular => "specular",
            Self::SpecularColor => "specular_color",
            Self::Clearcoat => "clearcoat",
            Self::ClearcoatRoughness => "clearcoat_roughness",
            Self::ClearcoatNormal => "clearcoat_normal",
            Self::SheenColor => "sheen_color",
            Self::SheenRoughness => "sheen_roughness",
            Self::Transmission => "transmission",
            Self::Thickness => "thickness",
            Self::Iridescence => "iridescence",
            Self::IridescenceThickness => "iridescence_thickness",
            Self::Anisotropy => "anisotropy",
            Self::DiffuseTransmission => "diffuse_transmission",
            Self::DiffuseTransmissionColor => "diffuse_transmission_color",
        }
    }

    /// Returns how texels are averaged in mip levels.
    pub(crate) const fn encoding(self) -> Encoding {
        match self {
            Self::BaseColor
            | Self::Emissive
            | Self::SpecularColor
            | Self::SheenColor
            | Self::DiffuseTransmissionColor => Encoding::Srgb,
            Self::Normal | Self::ClearcoatNormal => Encoding::Normal,
            _ => Encoding::Linear,
        }
    }

    /// Returns the material's texture reference for this slot.
    pub(crate) fn of(self, m: &Material) -> Option<TextureRef> {
        match self {
            Self::BaseColor => m.base_color_texture,
            Self::MetallicRoughness => m.metallic_roughness_texture,
            Self::Normal => m.normal_texture,
            Self::Occlusion => m.occlusion_texture,
            Self::Emissive => m.emissive_texture,
            Self::Specular => m.specular_texture,
            Self::SpecularColor => m.specular_color_texture,
            Self::Clearcoat => m.clearcoat.and_then(|c| c.texture),
            Self::ClearcoatRoughness => m.clearcoat.and_then(|c| c.roughness_texture),
            Self::ClearcoatNormal => m.clearcoat.and_then(|c| c.normal_texture),
            Self::SheenColor => m.sheen.and_then(|c| c.color_texture),
            Self::SheenRoughness => m.sheen.and_then(|c| c.roughness_texture),
            Self::Transmission => m.transmission.and_then(|c| c.texture),
            Self::Thickness => m.volume.and_then(|c| c.thickness_texture),
            Self::Iridescence => m.iridescence.and_then(|c| c.texture),
            Self::IridescenceThickness => m.iridescence.and_then(|c| c.thickness_texture),
            Self::Anisotropy => m.anisotropy.and_then(|c| c.texture),
            Self::DiffuseTransmission => m.diffuse_transmission.and_then(|c| c.texture),
            Self::DiffuseTransmissionColor => m.diffuse_transmission.and_then(|c| c.color_texture),
        }
    }
}

/// Meaning of the bytes of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Encoding {
    /// sRGB-encoded colour, linear alpha.
    Srgb,
    /// Linear values.
    Linear,
    /// Tangent-space unit vectors.
    Normal,
}

/// How a slot is read in one variant; part of the variant's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotUse {
    pub(crate) slot: Slot,
    pub(crate) second_uv: bool,
    pub(crate) transformed: bool,
}

/// How the size of a pixel on a texture is determined, which selects the mip level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// From the neighbouring pixels of the same triangle.
    Neighbors,
    /// From `uv0_steps` and `uv1_steps`, the change of the coordinates to the next pixels.
    Steps,
}

/// Returns declarations and reading functions of the used slots; an unused slot reads as white. The k-th used slot has
/// the bindings `1 + 2k` (texture) and `2 + 2k` (sampler).
pub(crate) fn declarations(uses: &[SlotUse], wanted: &[Slot], footprint: Footprint) -> String {
    let mut text = String::new();
    for (k, used) in uses.iter().enumerate() {
        let name = used.slot.name();
        let set = if used.second_uv { "uv1" } else { "uv0" };
        let row = 2 * used.slot as usize;
        let rows = |place: &str| {
            let next = row + 1;
            format!("vec2(dot(material.uv_rows[{row}].xyz, {place}), dot(material.uv_rows[{next}].xyz, {place}))")
        };
        let at = |coordinates: &str, third: &str| {
            if used.transformed { rows(&format!("vec3({coordinates}, {third})")) } else { coordinates.to_owned() }
        };
        let uv = at(set, "1.0");
        let lookup = match footprint {
            Footprint::Neighbors => format!("textureSample(t_{name}, s_{name}, {uv})"),
            Footprint::Steps => {
                let right = at(&format!("{set}_steps.xy"), "0.0");
                let down = at(&format!("{set}_steps.zw"), "0.0");
                format!("textureSampleGrad(t_{name}, s_{name}, {uv}, {right}, {down})")
            }
        };
        let _written = write!(
            text,
            "@group(2) @binding({}) var t_{name}: texture_2d<f32>;\n@group(2) @binding({}) var s_{name}: sampler;\n\
             fn tex_{name}(uv0: vec2<f32>, uv1: vec2<f32>) -> vec4<f32> {{\n    return {lookup};\n}}\n",
            1 + 2 * k,
            2 + 2 * k,
        );
    }
    for slot in wanted.iter().filter(|slot| uses.iter().all(|used| used.slot != **slot)) {
        let _written = write!(
            text,
            "fn tex_{}(uv0: vec2<f32>, uv1: vec2<f32>) -> vec4<f32> {{\n    return vec4(1.0);\n}}\n",
            slot.name()
        );
    }
    text
}

/// Returns the define which tells the shader that a slot is used.
pub(crate) fn define(slot: Slot) -> String {
    format!("{}_TEX", slot.name().to_uppercase())
}
