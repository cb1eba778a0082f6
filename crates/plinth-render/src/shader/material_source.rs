//! Generates WGSL code for the textures of a material: a declaration and a function that reads the texture for each
//! used slot.

use std::fmt::Write as _;

use plinth_model::{Material, TextureRef};

/// Declares the texture slots: the name in Rust, the name in the shader, the encoding, and the texture reference in the
/// material.
macro_rules! slots {
    ($material:ident; $($slot:ident = $name:literal, $encoding:ident, $reference:expr;)*) => {
        /// All textures that a glTF material can have. The order is that of `Material.uv_rows` in the shader.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Slot {
            $($slot,)*
        }

        impl Slot {
            pub(crate) const ALL: [Self; [$($name),*].len()] = [$(Self::$slot),*];

            /// Returns the lower-case name of the slot in the shader.
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$slot => $name,)*
                }
            }

            /// Returns the encoding, which determines how texels are averaged in mip levels.
            pub(crate) const fn encoding(self) -> Encoding {
                match self {
                    $(Self::$slot => Encoding::$encoding,)*
                }
            }

            /// Returns the material's texture reference for this slot.
            pub(crate) fn of(self, $material: &Material) -> Option<TextureRef> {
                match self {
                    $(Self::$slot => $reference,)*
                }
            }
        }
    };
}
slots! {
    m;
    BaseColor = "base_color", Srgb, m.base_color_texture;
    MetallicRoughness = "metallic_roughness", Linear, m.metallic_roughness_texture;
    Normal = "normal", Normal, m.normal_texture;
    Occlusion = "occlusion", Linear, m.occlusion_texture;
    Emissive = "emissive", Srgb, m.emissive_texture;
    Specular = "specular", Linear, m.specular_texture;
    SpecularColor = "specular_color", Srgb, m.specular_color_texture;
    Clearcoat = "clearcoat", Linear, m.clearcoat.and_then(|c| c.texture);
    ClearcoatRoughness = "clearcoat_roughness", Linear, m.clearcoat.and_then(|c| c.roughness_texture);
    ClearcoatNormal = "clearcoat_normal", Normal, m.clearcoat.and_then(|c| c.normal_texture);
    SheenColor = "sheen_color", Srgb, m.sheen.and_then(|c| c.color_texture);
    SheenRoughness = "sheen_roughness", Linear, m.sheen.and_then(|c| c.roughness_texture);
    Transmission = "transmission", Linear, m.transmission.and_then(|c| c.texture);
    Thickness = "thickness", Linear, m.volume.and_then(|c| c.thickness_texture);
    Iridescence = "iridescence", Linear, m.iridescence.and_then(|c| c.texture);
    IridescenceThickness = "iridescence_thickness", Linear, m.iridescence.and_then(|c| c.thickness_texture);
    Anisotropy = "anisotropy", Linear, m.anisotropy.and_then(|c| c.texture);
    DiffuseTransmission = "diffuse_transmission", Linear, m.diffuse_transmission.and_then(|c| c.texture);
    DiffuseTransmissionColor = "diffuse_transmission_color", Srgb, m.diffuse_transmission.and_then(|c| c.color_texture);
}

/// Returns a WGSL constant with the number of rows of texture coordinates in `Material`.
pub(super) fn uv_row_count() -> String {
    format!("const UV_ROW_COUNT = {}u;\n", 2 * Slot::ALL.len())
}

/// What the bytes of a texture mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Encoding {
    /// An sRGB-encoded colour with linear alpha.
    Srgb,
    /// Linear values.
    Linear,
    /// Unit vectors in tangent space.
    Normal,
}

/// How a shader variant reads a slot. It is part of the variant's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotUse {
    pub(crate) slot: Slot,
    pub(crate) second_uv: bool,
    pub(crate) transformed: bool,
}

/// How the size of a pixel on a texture is determined. This size selects the mip level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// By the texture coordinates of neighbouring pixels of the same triangle.
    Neighbors,
    /// By `uv0_steps` and `uv1_steps`, the change of the texture coordinates from one pixel to the next.
    Steps,
}

/// Returns the declarations of the used slots, and a function that reads each slot. The function of an unused slot
/// returns white. The used slot with the index k has the bindings `1 + 2k` (texture) and `2 + 2k` (sampler).
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

/// Returns the preprocessor define that tells the shader that a slot is used.
pub(crate) fn define(slot: Slot) -> String {
    format!("{}_TEX", slot.name().to_uppercase())
}
