//! Triangle words: one word per triangle with the data that the visibility buffer needs before shading.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, rounded};
use crate::upload::geometry::filled;
use crate::upload::octahedral::octahedral;

/// Number of the first triangle. The number 0 means that there is no triangle.
pub(crate) const FIRST_TRIANGLE: u32 = 1;
/// Maximum number of triangles (`TRIANGLE_BITS` in `types/visibility.wgsl`).
pub(crate) const MAX_TRIANGLES: u32 = 1 << 28;
/// Maximum number of batches. The numbers of batches are stored as 16-bit depth, where 0 means that there is no batch.
pub(crate) const MAX_BATCHES: usize = (1 << 16) - 2;

/// The words of all triangles, by their numbers.
#[derive(Clone)]
pub(crate) struct TriangleWords {
    pub(crate) buffer: wgpu::Buffer,
    /// A copy for the processor. Empty unless the opaque triangles are in main memory.
    pub(crate) copy: Arc<Vec<u32>>,
}

impl TriangleWords {
    /// Uploads the words. If `is_copied` is true, the processor keeps a copy.
    /// Errors: if the buffer would be larger than the adapter allows.
    pub(crate) fn new(gpu: &Gpu, words: Vec<u32>, is_copied: bool) -> Result<Self, RenderError> {
        let buffer = filled(gpu, "triangles", bytemuck::cast_slice(&words), wgpu::BufferUsages::STORAGE)?;
        Ok(Self { buffer, copy: Arc::new(if is_copied { words } else { Vec::new() }) })
    }

    /// Replaces the words of consecutive triangles, of which `first` is the number of the first.
    pub(crate) fn replace(&mut self, gpu: &Gpu, first: u32, words: &[u32]) {
        let start = (first - FIRST_TRIANGLE) as usize;
        gpu.write(&self.buffer, (start * size_of::<u32>()) as u64, bytemuck::cast_slice(words));
        if !self.copy.is_empty() {
            Arc::make_mut(&mut self.copy)[start..start + words.len()].copy_from_slice(words);
        }
    }
}

/// The triangles of a pool in main memory, from which the processor determines which surfaces are visible.
#[derive(Clone)]
pub(crate) struct HostTriangles {
    /// World-space positions of the pool's vertices.
    pub(crate) positions: Vec<[f32; 3]>,
    /// Three vertex indices per triangle, in the order of the triangles' numbers.
    pub(crate) corners: Vec<u32>,
}

impl HostTriangles {
    pub(crate) fn new(vertices: &[PoseVertex], corners: &[u32]) -> Self {
        Self { positions: positions(vertices), corners: corners.to_vec() }
    }

    /// Replaces the positions by those of another pose.
    pub(crate) fn pose(&mut self, vertices: &[PoseVertex]) {
        self.positions = positions(vertices);
    }

    /// Reverses the winding of some triangles.
    pub(crate) fn turn(&mut self, triangles: &[usize]) {
        for triangle in triangles {
            self.corners.swap(3 * triangle + 1, 3 * triangle + 2);
        }
    }
}

/// Returns the world-space positions of vertices.
pub(super) fn positions(vertices: &[PoseVertex]) -> Vec<[f32; 3]> {
    vertices.iter().map(|vertex| vertex.position).collect()
}

/// Returns the format of triangle numbers in the visibility buffer for `count` triangles. The 16-bit format halves the
/// memory that a frame writes and reads. Larger numbers are stored as two 16-bit halves, because all adapters support
/// `Rg16Uint` with multisampling.
pub(crate) fn triangle_format(count: usize) -> wgpu::TextureFormat {
    let end = FIRST_TRIANGLE as usize + count;
    if end <= usize::from(u16::MAX) + 1 { wgpu::TextureFormat::R16Uint } else { wgpu::TextureFormat::Rg16Uint }
}

/// Returns one word per triangle. The low 16 bits are the number of the batch. The high 16 bits are the mean normal of
/// the corners as two 8-bit octahedral coordinates.
pub(crate) fn triangle_words(batch: usize, vertices: &[PoseVertex], corners: &[u32]) -> Vec<u32> {
    let normal = |corner: u32| vertices[corner as usize].unit_normal();
    corners
        .as_chunks::<3>()
        .0
        .par_iter()
        .with_min_len(1024)
        .map(|[a, b, c]| batch as u32 | packed_normal(normal(*a) + normal(*b) + normal(*c)) << 16)
        .collect()
}

/// Number of bits of a corner, which is the index of a vertex in its pool (`CORNER_BITS` in `lib/corners.wgsl`).
const CORNER_BITS: u32 = 21;
/// Maximum number of vertices of a pool with triangles.
pub(crate) const MAX_POOL_VERTICES: usize = 1 << CORNER_BITS;

/// Returns two words per triangle, which contain its three corners. Shaders read both words at once.
pub(crate) fn packed_corners(corners: &[u32]) -> Vec<[u32; 2]> {
    let pack = |[a, b, c]: &[u32; 3]| {
        let bits = u64::from(*a) | u64::from(*b) << CORNER_BITS | u64::from(*c) << (2 * CORNER_BITS);
        [bits as u32, (bits >> 32) as u32]
    };
    corners.as_chunks::<3>().0.iter().map(pack).collect()
}

fn packed_normal(v: Vec3) -> u32 {
    let [x, y] = octahedral(v).to_array().map(|c| rounded((c * 0.5 + 0.5) * 255.0) as u32);
    x | y << 8
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use crate::upload::octahedral::from_octahedral;

    /// Decodes a normal in the same way as `pass/classify.wgsl`.
    fn decode(word: u32) -> Vec3 {
        let part = |shift: u32| (word >> shift & 0xff) as f32 / 127.5 - 1.0;
        from_octahedral(Vec2::new(part(0), part(8)))
    }

    #[test]
    fn a_packed_normal_turns_by_less_than_two_degrees() {
        for i in 0..500 {
            let z = 1.0 - 2.0 * (i as f32 + 0.5) / 500.0;
            let angle = i as f32 * 2.4;
            let radius = (1.0 - z * z).sqrt();
            let v = Vec3::new(radius * angle.cos(), radius * angle.sin(), z);
            assert!(v.angle_between(decode(packed_normal(v * 3.0))) < 2_f32.to_radians(), "{v}");
        }
    }

    #[test]
    fn corners_survive_packing() {
        // Unpacks corners in the same way as `lib/corners.wgsl`.
        let unpack = |[low, high]: [u32; 2]| {
            let mask = (1 << CORNER_BITS) - 1;
            let middle = low >> CORNER_BITS | high << (32 - CORNER_BITS);
            [low & mask, middle & mask, high >> (2 * CORNER_BITS - 32) & mask]
        };
        let last = MAX_POOL_VERTICES as u32 - 1;
        for corners in [[0, 1, 2], [last, 0, last], [0, last, 0], [1_234_567, 765_432, 2_000_001]] {
            assert_eq!(packed_corners(&corners).into_iter().map(unpack).collect::<Vec<_>>(), [corners]);
        }
    }

    #[test]
    fn shaders_agree_on_the_size_of_corners() {
        let text = include_str!("../../shaders/lib/corners.wgsl");
        assert!(text.contains(&format!("const CORNER_BITS: u32 = {CORNER_BITS}u;")));
    }

    #[test]
    fn the_narrow_format_holds_the_last_number() {
        let last_number = |count: usize| FIRST_TRIANGLE as usize + count - 1;
        assert_eq!(last_number(65_535), usize::from(u16::MAX));
        assert_eq!(triangle_format(65_535), wgpu::TextureFormat::R16Uint);
        assert_eq!(triangle_format(65_536), wgpu::TextureFormat::Rg16Uint);
    }
}
