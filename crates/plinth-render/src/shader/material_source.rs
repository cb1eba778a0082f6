//! Generates WGSL code for the textures of a material: a declaration and a function that reads the texture for each
//! used slot.

use std::fmt::Write as _;

use plinth_model::TextureSlot;

/// Returns a WGSL constant with the number of rows of texture coordinates in `Material`.
pub(super) fn uv_row_count() -> String {
    format!("const UV_ROW_COUNT = {}u;\n", 2 * TextureSlot::ALL.len())
}

/// How a shader variant reads a texture slot. The variant's key contains this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotUse {
    pub(crate) slot: TextureSlot,
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

/// Returns the declarations of the used slots, and a function that reads each slot. The function of an unused slot in
/// `wanted` returns white. The used slot with the index k has the bindings `1 + 2k` (texture) and `2 + 2k` (sampler).
pub(crate) fn declarations(uses: &[SlotUse], wanted: &[TextureSlot], footprint: Footprint) -> String {
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
pub(crate) fn define(slot: TextureSlot) -> String {
    format!("{}_TEX", slot.name().to_uppercase())
}
