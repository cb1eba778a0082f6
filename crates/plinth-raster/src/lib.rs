//! Determines on the processor which triangles the pixels of a picture show.
//!
//! Software drivers take a third of the time of a render for drawing triangle numbers with four samples per pixel and for
//! grouping the samples to surfaces. [`Rasterizer`] computes the same maps in a fraction of this time. The samples are
//! those of Vulkan's standard pattern: sample i is bit i of a set of samples.
//!
//! Triangles are projected (`project.rs`, `triangle.rs`), clipped if necessary (`clip.rs`), and sorted by the tiles of
//! 32 × 32 pixels that they touch (`bins.rs`). Rows of tiles are drawn in parallel (`rows.rs`): triangles into samples
//! (`edges.rs`, `coverage.rs`), then samples to surfaces (`facets.rs`, `surfaces.rs`). Triangles of a tile are drawn in
//! their order, so the result does not depend on the number of threads.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "coordinates are checked when vertices are projected; counts of triangles and pixels fit 28 bits"
)]
#![expect(
    clippy::inline_always,
    reason = "the target features of `draw_row_avx2` must apply to the loops of all files"
)]

mod bins;
mod clip;
mod coverage;
mod edges;
mod facets;
mod grid;
mod lanes;
mod project;
#[cfg(test)]
mod reference;
mod rows;
mod seen;
mod surfaces;
#[cfg(test)]
mod tests;
mod triangle;
mod visible;

use glam::{Mat4, Vec3};
use plinth_frame::Region;

use bins::Bins;
use grid::{Area, Grid};
use project::{Projected, Projection};
use rows::{DrawRow, Frame, draw_rows, row_function};
use surfaces::Grouping;
use visible::TriangleSet;

/// The camera and the target of a picture. The values that describe the camera are those of `types/frame.wgsl` of
/// plinth-render.
#[derive(Clone, Copy, Debug)]
pub struct RasterView {
    /// The transform from world space to clip space, which covers `region`. y points up; depth is in 0..1.
    pub clip_from_world: Mat4,
    /// Width and height of the maps in pixels.
    pub canvas: [u32; 2],
    /// The part of the canvas that can contain the model. Only this part is drawn.
    pub region: Region,
    /// The distance along the camera's axis is `distance_numerator / (depth_range - depth)`.
    pub distance_numerator: f32,
    pub depth_range: f32,
    /// Size of a pixel at distance 1, in world units.
    pub pixel_size: f32,
    /// Unit vector of the direction in which the camera looks.
    pub camera_axis: Vec3,
}

/// Triangles that are drawn in order.
#[derive(Clone, Copy, Debug)]
pub struct TriangleRun<'a> {
    /// Positions of the vertices in world space. Runs that have the same slice share its projected vertices.
    pub positions: &'a [[f32; 3]],
    /// Three indices of vertices per triangle.
    pub corners: &'a [u32],
    /// Number of the first triangle, at least 1. The other triangles have the following numbers.
    pub first_number: u32,
    /// Whether triangles are also drawn if they are seen from their back, where their corners are clockwise.
    pub double_sided: bool,
}

/// Maximum number of batches in [`TileBatches`].
pub const MAX_TILE_BATCHES: usize = 32;

/// The numbers plus 1 of the batches in a tile, in the order of their first pixels, followed by zeros. If there are no
/// zeros, the tile may contain other batches, too.
pub type TileBatches = [u16; MAX_TILE_BATCHES];

/// What the pixels of a canvas show. Pixels are in rows from the top left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurfaceMaps {
    /// First and second surface of each pixel: number of the triangle that represents the surface (28 bits) and the
    /// surface's samples (the 4 bits above). 0 if there is no surface.
    pub surfaces: [Vec<u32>; 2],
    /// Number of the batch of each surface plus 1, or 0 if there is no surface.
    pub batches: [Vec<u16>; 2],
    /// One word per tile of 32 × 32 pixels, in rows from the top left: 1 if a pixel of the tile shows several triangles,
    /// otherwise 0. Each row has an additional tile at its end, which is always 0.
    pub edge_tiles: Vec<u32>,
    /// The batches of the first and of the second surfaces in each tile of 32 × 32 pixels, in rows from the top left.
    pub tile_batches: [Vec<TileBatches>; 2],
    /// Numbers of the triangles that samples of the wanted region show, in ascending order.
    pub visible: Vec<u32>,
}

/// Draws pictures. It keeps its memory for the next picture.
#[derive(Default)]
pub struct Rasterizer {
    projected: Projected,
    bins: Bins,
    visible: TriangleSet,
    maps: SurfaceMaps,
    /// For each tile, whether the maps may contain surfaces there.
    filled: Vec<bool>,
    /// Canvas and region of the maps.
    target: Option<([u32; 2], Region)>,
}

impl Rasterizer {
    /// Draws the triangles of all runs, and returns the maps.
    ///
    /// Only what is between the near plane and the far plane is drawn. Triangles of which a corner is not finite are left out.
    /// A triangle replaces others that are farther away or equally near.
    ///
    /// `words` contains one word for each triangle, at the index of its number minus 1: the number of its batch in the low
    /// 16 bits, and its normal as two 8-bit octahedral coordinates. `wanted` is the part of the canvas whose triangles are
    /// listed in [`SurfaceMaps::visible`].
    ///
    /// Pixels outside the view's region are 0.
    ///
    /// Panics: if a corner is not the index of a position, or a visible triangle has no word.
    pub fn draw(
        &mut self,
        view: &RasterView,
        runs: &[TriangleRun<'_>],
        words: &[u32],
        wanted: Option<Region>,
    ) -> &SurfaceMaps {
        self.draw_with(row_function(), view, runs, words, wanted)
    }

    fn draw_with(
        &mut self,
        draw_row: DrawRow,
        view: &RasterView,
        runs: &[TriangleRun<'_>],
        words: &[u32],
        wanted: Option<Region>,
    ) -> &SurfaceMaps {
        let grid = Grid::new(view.canvas, view.region);
        self.set_target(view, &grid);
        self.visible.reset(if wanted.is_some() { words.len() } else { 0 });
        if !grid.area.is_empty() {
            self.projected.project(&Projection::new(view), runs);
            self.bins.fill(&grid, runs, &self.projected);
            let frame = Frame {
                grid,
                bins: &self.bins,
                grouping: Grouping {
                    words,
                    distance_numerator: view.distance_numerator,
                    depth_range: view.depth_range,
                    pixel_size: view.pixel_size,
                    camera_axis: view.camera_axis,
                },
                wanted: wanted.map_or(Area::EMPTY, |wanted| Area::of(wanted, view.canvas)),
                visible: &self.visible,
            };
            draw_rows(&frame, draw_row, &mut self.maps, &mut self.filled);
        }
        self.visible.write(&mut self.maps.visible);
        &self.maps
    }

    /// Empties the maps if the canvas or the region is not that of the last picture.
    fn set_target(&mut self, view: &RasterView, grid: &Grid) {
        let target = Some((view.canvas, view.region));
        if self.target == target {
            return;
        }
        self.target = target;
        let pixels = grid.width * grid.height;
        for map in &mut self.maps.surfaces {
            map.clear();
            map.resize(pixels, 0);
        }
        for map in &mut self.maps.batches {
            map.clear();
            map.resize(pixels, 0);
        }
        let rows = grid.height.div_ceil(grid::TILE_SIDE);
        self.maps.edge_tiles.clear();
        self.maps.edge_tiles.resize((grid.row_tiles + 1) * rows, 0);
        for tiles in &mut self.maps.tile_batches {
            tiles.clear();
            tiles.resize(grid.tiles(), TileBatches::default());
        }
        self.filled.clear();
        self.filled.resize(grid.tiles(), false);
    }
}
