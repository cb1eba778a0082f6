//! Tiles with edges: the tiles of a picture in which a pixel shows more than one triangle. The classify pass or
//! the processor records these tiles. Pixels outside these tiles have no second surface. Shader counterparts: `lib/edge_tiles.wgsl` and
//! `lib/edge_runs.wgsl`.

use std::ops::Range;

use plinth_frame::Region;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::recorder::Recorder;
use crate::upload::geometry::filled;

/// Side length of a tile in pixels.
pub(crate) const TILE_SIDE: u32 = 32;
/// Number of 32-bit words in the buffer before the first tile.
const HEADER_WORDS: u32 = 4;
/// Number of vertices that draw one tile.
const TILE_VERTICES: u32 = 6;

/// Buffers with one 32-bit word per tile of a picture. The word is not zero if the tile has edges.
pub(crate) struct EdgeTiles {
    pub(crate) buffer: wgpu::Buffer,
    /// The tiles of the previous frame.
    pub(crate) previous: wgpu::Buffer,
    /// Number of tiles in a row. The last tile of a row is to the right of the picture and never has edges.
    pub(crate) row_tiles: u32,
}

impl EdgeTiles {
    /// Creates the buffer for a picture of this size in pixels.
    /// Errors: if a buffer cannot be allocated.
    pub(crate) fn new(gpu: &Gpu, width: u32, height: u32) -> Result<Self, RenderError> {
        let row_tiles = width.div_ceil(TILE_SIDE) + 1;
        let mut words = vec![row_tiles, width, height, 0];
        words.resize((HEADER_WORDS + row_tiles * height.div_ceil(TILE_SIDE)) as usize, 0);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let [buffer, previous] =
            ["edge tiles", "previous edge tiles"].map(|label| filled(gpu, label, bytemuck::cast_slice(&words), usage));
        Ok(Self { buffer: buffer?, previous: previous?, row_tiles })
    }

    /// Replaces all tiles. `words` contains one word per tile.
    pub(crate) fn replace(&self, gpu: &Gpu, words: &[u32]) {
        gpu.write(&self.buffer, u64::from(HEADER_WORDS) * 4, bytemuck::cast_slice(words));
    }

    /// Keeps the tiles of the last frame as the previous tiles.
    pub(crate) fn keep_previous(&self, recorder: &mut Recorder<'_>) {
        recorder.encoder.copy_buffer_to_buffer(&self.buffer, 0, &self.previous, 0, self.buffer.size());
    }

    /// Records that no tile has edges.
    pub(crate) fn clear(&self, recorder: &mut Recorder<'_>) {
        recorder.encoder.clear_buffer(&self.buffer, u64::from(HEADER_WORDS) * 4, None);
    }

    /// Returns the range of vertices that draw the tiles of a region.
    pub(crate) fn vertices(&self, part: Region) -> Range<u32> {
        let first = part.y / TILE_SIDE;
        let end = (part.y + part.height).div_ceil(TILE_SIDE);
        let row_vertices = self.row_tiles * TILE_VERTICES;
        first * row_vertices..end * row_vertices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shader_and_renderer_agree_on_sizes() {
        let text = include_str!("../../shaders/lib/edge_tiles.wgsl");
        assert!(text.contains(&format!("const TILE_SIDE: u32 = {TILE_SIDE}u;")));
        assert!(text.contains(&format!("const TILE_HEADER: u32 = {HEADER_WORDS}u;")));
    }
}
