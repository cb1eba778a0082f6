//! Uploads baked light, which is stored at the vertices and on lattices over some triangles, for both sides of the
//! surface. `lib/gathered_light.wgsl` contains the shader code that reads this light.

use std::collections::BTreeSet;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use plinth_bake::{BakedMesh, GatheredLight, LUMINANCE, LightGrid};
use rayon::prelude::*;

use super::geometry::filled;
use super::pool::VertexRange;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types::rounded;

/// Number of bits of a triangle's word that contain the level of its lattice.
const LEVEL_BITS: u32 = 4;

/// Creates the bind group layout of a pool's baked light.
pub(crate) fn light_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "gathered light", &[bindings::storage(0), bindings::storage(1)])
}

/// Minimum number of samples that are packed on one thread.
const MIN_SAMPLES: usize = 1024;

/// Value of a byte that represents 1. Bytes represent numbers from −2 to 2.
const UNIT: f32 = 64.0;

/// The light at one point, packed into four words, because software drivers read one word at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct LightSample {
    /// Colour with a shared exponent; see `shared_exponent`.
    direct: u32,
    indirect: u32,
    visibility: [i8; 4],
    /// Spherical harmonics, divided by the luminance of `indirect`.
    blocked: [i8; 4],
}

impl From<&GatheredLight> for LightSample {
    fn from(light: &GatheredLight) -> Self {
        let byte = |c: f32, unit: f32| rounded(c * unit).clamp(i8::MIN.into(), i8::MAX.into()) as i8;
        let bytes = |[x, y, z, w]: [f32; 4], unit| [byte(x, unit), byte(y, unit), byte(z, unit), byte(w, unit)];
        let luminance = light.indirect.dot(LUMINANCE);
        Self {
            direct: shared_exponent(light.direct),
            indirect: shared_exponent(light.indirect),
            visibility: bytes(light.visibility, UNIT),
            blocked: bytes(light.blocked, if luminance > 0.0 { UNIT / luminance } else { 0.0 }),
        }
    }
}

/// Packs a colour into one word, with nine bits per channel and a shared exponent of five bits with a bias of 15
/// (Vulkan 1.3, section 3.12.6, `VK_FORMAT_E5B9G9R9_UFLOAT_PACK32`).
fn shared_exponent(color: Vec3) -> u32 {
    const MANTISSA: i32 = 9;
    const BIAS: i32 = 15;
    let largest = (f32::from(511_u16) / 512.0) * power_of_two(31 - BIAS);
    let color = color.clamp(Vec3::ZERO, Vec3::splat(largest));
    let most = color.max_element();
    let scale = |exponent: i32| power_of_two(MANTISSA + BIAS - exponent);
    let least = (exponent_of(most.max(1e-30)) + 1 + BIAS).max(0);
    // If the largest channel would be rounded up to ten bits, the exponent must be larger.
    let exponent = least + i32::from(rounded(most * scale(least)) > 511);
    let scaled = color * scale(exponent);
    let [r, g, b] = [rounded(scaled.x), rounded(scaled.y), rounded(scaled.z)];
    (r | g << 9 | b << 18).cast_unsigned() | exponent.cast_unsigned() << 27
}

/// Number of bits of the mantissa of an `f32`, and the bias of its exponent.
const FLOAT_MANTISSA: u32 = 23;
const FLOAT_BIAS: i32 = 127;

/// Returns 2 to a power from −126 to 127. `f32::powi` calls a function of the compiler's library.
const fn power_of_two(power: i32) -> f32 {
    f32::from_bits((power + FLOAT_BIAS).cast_unsigned() << FLOAT_MANTISSA)
}

/// Returns the exponent of the largest power of two that is not above a positive number. `f32::log2` calls the C
/// library.
const fn exponent_of(number: f32) -> i32 {
    (number.to_bits() >> FLOAT_MANTISSA).cast_signed() - FLOAT_BIAS
}

/// The part of the baked light that belongs to a pool.
#[derive(Clone, Copy)]
pub(crate) struct LightSource<'a> {
    pub(crate) pieces: &'a [VertexRange],
    /// For each vertex of the pool, its index among the vertices of the pieces. `None` if both indices are the same.
    pub(crate) chosen: Option<&'a [u32]>,
    /// The range of the pool's triangles among the triangles of its pieces.
    pub(crate) triangles: &'a Range<usize>,
}

/// The packed light of a pool.
pub(crate) struct LightWords {
    /// For each triangle, two words. The first word is the index of the first sample of the triangle's lattice, with
    /// the lattice level in the low `LEVEL_BITS` bits, or 0 without a lattice. The second word is the index of the
    /// first sample of back faces, or 0 without such samples.
    pub(crate) words: Vec<[u32; 2]>,
    pub(crate) samples: Vec<LightSample>,
}

impl LightSource<'_> {
    /// The value for pools without baked light.
    pub(super) const NONE: Self = Self { pieces: &[], chosen: None, triangles: &(0..0) };

    /// Packs the light that belongs to the pool. `baked` returns the light of a posed primitive.
    pub(super) fn words<'b>(&self, baked: &(impl Fn(usize) -> &'b BakedMesh + Sync)) -> LightWords {
        let open = LightSample::from(&GatheredLight::default());
        // The batches that have light on back faces.
        let with_back: BTreeSet<usize> =
            self.pieces.iter().filter(|piece| !baked(piece.posed).back.is_empty()).map(|piece| piece.batch).collect();
        // Vertices without baked light get the light of a point where nothing blocks the environment.
        let side = |of: fn(&BakedMesh) -> &Vec<GatheredLight>| -> Vec<LightSample> {
            let mut all = Vec::new();
            for piece in self.pieces {
                all.par_extend(of(baked(piece.posed)).par_iter().with_min_len(MIN_SAMPLES).map(LightSample::from));
                all.resize(piece.first_vertex + piece.vertices, open);
            }
            match self.chosen {
                None => all,
                Some(chosen) => chosen.iter().map(|v| all[*v as usize]).collect(),
            }
        };
        let mut samples = side(|mesh| &mesh.front);
        let back = samples.len() as u32;
        if !with_back.is_empty() {
            samples.extend(side(|mesh| &mesh.back));
        }
        let mut words = vec![[0, 0]; self.triangles.len()];
        // The lattices of the pool's triangles, and whether they have light on back faces.
        let (mut used, mut count): (Vec<(&LightGrid, bool)>, _) = (Vec::new(), samples.len());
        for (i, piece) in self.pieces.iter().enumerate() {
            let has_back = with_back.contains(&piece.batch);
            if has_back {
                let end = self.pieces.get(i + 1).map_or(self.triangles.end, |next| next.first_triangle);
                let within = |triangle: usize| triangle.clamp(self.triangles.start, self.triangles.end);
                let own = within(piece.first_triangle)..within(end);
                for word in &mut words[own.start - self.triangles.start..own.end - self.triangles.start] {
                    word[1] = back;
                }
            }
            for grid in &baked(piece.posed).grids {
                let triangle = piece.first_triangle + grid.triangle as usize;
                if !self.triangles.contains(&triangle) {
                    continue;
                }
                words[triangle - self.triangles.start][0] = (count as u32) << LEVEL_BITS | grid.lattice.level;
                let sides = 1 + usize::from(has_back);
                used.push((grid, has_back));
                count += sides * grid.front.len();
            }
        }
        samples.par_extend(used.into_par_iter().with_min_len(8).flat_map_iter(|(grid, has_back)| {
            let back = if grid.back.is_empty() { &grid.front } else { &grid.back };
            let back = if has_back { back.as_slice() } else { &[] };
            grid.front.iter().chain(back).map(LightSample::from)
        }));
        LightWords { words, samples }
    }
}

/// The baked light of a pool on the device.
#[derive(Clone)]
pub(crate) struct PoolLight {
    /// Bind group 3.
    pub(crate) group: wgpu::BindGroup,
    words: wgpu::Buffer,
    samples: wgpu::Buffer,
}

impl PoolLight {
    /// Uploads the light of a pool.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn new(
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        source: LightSource<'_>,
        baked: &[BakedMesh],
    ) -> Result<Self, RenderError> {
        Self::of_words(gpu, layout, &source.words(&|m| &baked[m]))
    }

    fn of_words(gpu: &Gpu, layout: &wgpu::BindGroupLayout, light: &LightWords) -> Result<Self, RenderError> {
        let storage = wgpu::BufferUsages::STORAGE;
        let words = filled(gpu, "light words", bytemuck::cast_slice(&light.words), storage)?;
        let samples = filled(gpu, "light samples", bytemuck::cast_slice(&light.samples), storage)?;
        let entries = [words.as_entire_binding(), samples.as_entire_binding()];
        Ok(Self { group: bindings::group(&gpu.device, "gathered light", layout, &entries), words, samples })
    }

    /// Replaces the light by the light of another pose.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        source: LightSource<'_>,
        baked: &[BakedMesh],
    ) -> Result<(), RenderError> {
        self.replace(gpu, layout, &source.words(&|m| &baked[m]))
    }

    /// Replaces the light.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn replace(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        light: &LightWords,
    ) -> Result<(), RenderError> {
        let samples: &[u8] = bytemuck::cast_slice(&light.samples);
        if samples.len() as u64 > self.samples.size() {
            *self = Self::of_words(gpu, layout, light)?;
        } else {
            gpu.write(&self.words, 0, bytemuck::cast_slice(&light.words));
            gpu.write(&self.samples, 0, samples);
        }
        Ok(())
    }

    /// Returns the buffer of samples.
    pub(crate) const fn samples(&self) -> &wgpu::Buffer {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks a word with the formula of the Vulkan specification.
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
    fn unoccluded_light_is_exact_and_large_values_are_clamped() {
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

    #[test]
    fn only_batches_with_light_on_back_faces_read_it() {
        let lit = |with_back: bool| BakedMesh {
            front: vec![GatheredLight::default(); 3],
            back: if with_back { vec![GatheredLight::default(); 3] } else { Vec::new() },
            ..BakedMesh::default()
        };
        let baked = [lit(false), lit(true), lit(false)];
        // The last two pieces form one batch.
        let piece = |posed: usize, batch: usize| VertexRange {
            posed,
            first_vertex: 3 * posed,
            vertices: 3,
            first_triangle: posed,
            batch,
        };
        let pieces = [piece(0, 0), piece(1, 1), piece(2, 1)];
        let words =
            |triangles: &Range<usize>| LightSource { pieces: &pieces, chosen: None, triangles }.words(&|m| &baked[m]);
        let light = words(&(0..3));
        assert_eq!(light.words, [[0, 0], [0, 9], [0, 9]]);
        assert_eq!(light.samples.len(), 18);
        assert_eq!(words(&(0..1)).words, [[0, 0]]);
        assert_eq!(words(&(2..3)).words, [[0, 9]]);
    }
}
