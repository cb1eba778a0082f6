//! Gathered light on the device: at vertices on both sides, and on lattices over single triangles. Read by
//! `lib/gathered_light.wgsl`.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use plinth_bake::{BakedMesh, GatheredLight, LUMINANCE, LightGrid};

use super::geometry::filled;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;

/// Bits of a triangle's word that hold the level of its lattice.
const LEVEL_BITS: u32 = 4;

/// Bind group layout of a batch's gathered light.
pub(crate) fn light_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "gathered light", &[bindings::storage(0), bindings::storage(1)])
}

/// Steps of a byte that are 1: what is stored in bytes reaches from −2 to 2.
const UNIT: f32 = 64.0;

/// Light at one place, as words. It is small, as software drivers fetch word by word.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct LightSample {
    /// Colours with a shared exponent, see `shared_exponent`.
    direct: u32,
    indirect: u32,
    visibility: [i8; 4],
    /// In units of the luminance of `indirect`.
    blocked: [i8; 4],
}

impl From<&GatheredLight> for LightSample {
    fn from(light: &GatheredLight) -> Self {
        let bytes = |v: [f32; 4], unit: f32| v.map(|c| (c * unit).round() as i8);
        let luminance = light.indirect.dot(LUMINANCE);
        Self {
            direct: shared_exponent(light.direct),
            indirect: shared_exponent(light.indirect),
            visibility: bytes(light.visibility, UNIT),
            blocked: bytes(light.blocked, if luminance > 0.0 { UNIT / luminance } else { 0.0 }),
        }
    }
}

/// A colour in one word: nine bits for each channel, and five for the exponent that they share, which is off by 15
/// (Vulkan 1.3, section 3.12.6, `VK_FORMAT_E5B9G9R9_UFLOAT_PACK32`).
fn shared_exponent(color: Vec3) -> u32 {
    const MANTISSA: i32 = 9;
    const BIAS: i32 = 15;
    let largest = (f32::from(511_u16) / 512.0) * 2.0_f32.powi(31 - BIAS);
    let color = color.clamp(Vec3::ZERO, Vec3::splat(largest));
    let steps = |exponent: i32| (color * 2.0_f32.powi(MANTISSA + BIAS - exponent)).round();
    let least = (color.max_element().max(1e-30).log2().floor() as i32 + 1 + BIAS).max(0);
    // What is rounded up to a tenth bit needs the next exponent.
    let exponent = if steps(least).max_element() > 511.0 { least + 1 } else { least };
    let [r, g, b] = steps(exponent).to_array().map(|c| c as u32);
    r | g << 9 | b << 18 | (exponent as u32) << 27
}

/// The light of a batch before it is uploaded.
#[derive(Clone, Default)]
pub(crate) struct LightDraft {
    /// One for each vertex.
    front: Vec<LightSample>,
    /// One for each vertex where any mesh of the batch is lit on both sides.
    back: Vec<LightSample>,
    /// Triangles with a lattice, in order.
    grids: Vec<LightGrid>,
}

impl LightDraft {
    /// Adds a mesh of so many vertices, whose triangles begin at a number.
    pub(crate) fn add(&mut self, baked: &BakedMesh, vertices: usize, first_triangle: usize) {
        let open = LightSample::from(&GatheredLight::default());
        let before = self.front.len();
        self.front.extend(baked.front.iter().map(LightSample::from));
        self.front.resize(before + vertices, open);
        if !baked.back.is_empty() {
            self.back.resize(before, open);
            self.back.extend(baked.back.iter().map(LightSample::from));
        }
        if !self.back.is_empty() {
            self.back.resize(before + vertices, open);
        }
        self.grids.extend(
            baked
                .grids
                .iter()
                .map(|grid| LightGrid { triangle: grid.triangle + first_triangle as u32, ..grid.clone() }),
        );
    }

    /// The light of some of the vertices and of the triangles in a range.
    pub(crate) fn part(&self, vertices: &[u32], triangles: std::ops::Range<usize>) -> Self {
        let chosen = |all: &[LightSample]| {
            if all.is_empty() { Vec::new() } else { vertices.iter().map(|v| all[*v as usize]).collect() }
        };
        let grids = self
            .grids
            .iter()
            .filter(|grid| triangles.contains(&(grid.triangle as usize)))
            .map(|grid| LightGrid { triangle: grid.triangle - triangles.start as u32, ..grid.clone() })
            .collect();
        Self { front: chosen(&self.front), back: chosen(&self.back), grids }
    }

    /// The bind group of the light of so many triangles.
    pub(crate) fn upload(
        self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        triangles: usize,
    ) -> Result<wgpu::BindGroup, RenderError> {
        // The first word says where the light of back sides begins; then one for each triangle.
        let mut words = vec![0_u32; 1 + triangles];
        let mut samples = self.front;
        words[0] = if self.back.is_empty() { 0 } else { samples.len() as u32 };
        samples.extend(&self.back);
        for grid in &self.grids {
            words[1 + grid.triangle as usize] = (samples.len() as u32) << LEVEL_BITS | grid.lattice.level;
            samples.extend(grid.front.iter().map(LightSample::from));
            if words[0] != 0 {
                let back = if grid.back.is_empty() { &grid.front } else { &grid.back };
                samples.extend(back.iter().map(LightSample::from));
            }
        }
        let storage = wgpu::BufferUsages::STORAGE;
        let words = filled(gpu, "light words", bytemuck::cast_slice(&words), storage)?;
        let samples = filled(gpu, "light samples", bytemuck::cast_slice(&samples), storage)?;
        let entries = [words.as_entire_binding(), samples.as_entire_binding()];
        Ok(bindings::group(&gpu.device, "gathered light", layout, &entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the formula of the specification reads.
    fn decoded(word: u32) -> Vec3 {
        let channel = |at: u32| (word >> at & 511) as f32;
        Vec3::new(channel(0), channel(9), channel(18)) * 2.0_f32.powi((word >> 27).cast_signed() - 15 - 9)
    }

    #[test]
    fn colours_keep_nine_bits_of_their_largest_channel() {
        for scale in [1e-4, 0.0137, 0.25, 0.4999, 0.9995, 1.0, 3.7, 900.0, 60_000.0] {
            for ratio in [Vec3::ONE, Vec3::new(1.0, 0.3, 0.0), Vec3::new(0.01, 0.5, 1.0)] {
                let color = ratio * scale;
                let error = (decoded(shared_exponent(color)) - color).abs().max_element();
                assert!(error <= scale / 511.0, "{color}: {error}");
            }
        }
        assert_eq!(decoded(shared_exponent(Vec3::new(-1.0, 0.0, 0.0))), Vec3::ZERO);
        assert_eq!(decoded(shared_exponent(Vec3::splat(1e9))), Vec3::splat(65_408.0));
    }

    #[test]
    fn an_open_place_is_exact_and_what_is_too_large_for_a_byte_is_held() {
        let open = LightSample::from(&GatheredLight::default());
        assert_eq!(decoded(open.direct), Vec3::ONE);
        assert_eq!(open.visibility, [UNIT as i8, 0, 0, 0]);
        let strong = GatheredLight {
            indirect: Vec3::splat(0.5),
            visibility: [0.25, -9.0, 9.0, -0.5],
            blocked: [0.25, -0.5, 4.0, 0.0],
            ..GatheredLight::default()
        };
        let sample = LightSample::from(&strong);
        assert_eq!(sample.visibility, [16, -128, 127, -32]);
        assert_eq!(sample.blocked, [32, -64, 127, 0]);
        let dark = GatheredLight { indirect: Vec3::ZERO, ..strong };
        assert_eq!(LightSample::from(&dark).blocked, [0; 4]);
    }
}
