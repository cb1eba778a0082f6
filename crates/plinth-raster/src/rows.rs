//! Draws the tiles of a row and writes their surfaces to the maps.

use std::ops::Range;

use rayon::prelude::*;

use crate::bins::Bins;
use crate::coverage::{SAMPLES, Samples};
use crate::facets::Facets;
use crate::grid::{Area, Grid, TILE_SIDE};
use crate::seen::SeenBatches;
use crate::surfaces::{Grouping, Pixel, is_uniform};
use crate::visible::TriangleSet;
use crate::{SurfaceMaps, TileBatches};

/// Everything that the tiles of a picture need.
pub(crate) struct Frame<'a> {
    pub(crate) grid: Grid,
    pub(crate) bins: &'a Bins,
    pub(crate) grouping: Grouping<'a>,
    /// The part of the canvas whose triangles are added to `visible`.
    pub(crate) wanted: Area,
    pub(crate) visible: &'a TriangleSet,
}

/// The parts of the maps that belong to a row of tiles.
pub(crate) struct RowMaps<'a> {
    surfaces: [&'a mut [u32]; 2],
    batches: [&'a mut [u16]; 2],
    edge_tiles: &'a mut [u32],
    tile_batches: [&'a mut [TileBatches]; 2],
    /// Whether the maps may contain surfaces in each tile.
    filled: &'a mut [bool],
}

/// Draws a row of tiles.
pub(crate) type DrawRow = fn(&Frame<'_>, usize, RowMaps<'_>);

/// Returns the fastest function for this processor. All have the same results.
pub(crate) fn row_function() -> DrawRow {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |frame, row, maps| {
            #[expect(unsafe_code, reason = "a function with target features; see decision 0087")]
            // SAFETY: The processor has AVX2, which is all that the function requires.
            unsafe {
                draw_row_avx2(frame, row, maps);
            }
        };
    }
    draw_row
}

/// Same as [`draw_row`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn draw_row_avx2(frame: &Frame<'_>, row: usize, maps: RowMaps<'_>) {
    draw_row(frame, row, maps);
}

/// Draws all rows of tiles with drawn pixels. `filled` contains for each tile whether the maps may contain surfaces there.
pub(crate) fn draw_rows(frame: &Frame<'_>, draw_row: DrawRow, maps: &mut SurfaceMaps, filled: &mut [bool]) {
    let grid = &frame.grid;
    let rows = grid.drawn_rows();
    let row_pixels = grid.width * TILE_SIDE;
    let pixels = rows.start * row_pixels..(rows.end * row_pixels).min(grid.width * grid.height);
    let (row_tiles, edge_row_tiles) = (grid.row_tiles, grid.row_tiles + 1);
    let [first, second] = &mut maps.surfaces;
    let [first_batch, second_batch] = &mut maps.batches;
    let tiles = rows.start * row_tiles..rows.end * row_tiles;
    let [first_seen, second_seen] = &mut maps.tile_batches;
    let parts = (
        first[pixels.clone()].par_chunks_mut(row_pixels),
        second[pixels.clone()].par_chunks_mut(row_pixels),
        first_batch[pixels.clone()].par_chunks_mut(row_pixels),
        second_batch[pixels].par_chunks_mut(row_pixels),
        maps.edge_tiles[rows.start * edge_row_tiles..rows.end * edge_row_tiles].par_chunks_mut(edge_row_tiles),
        first_seen[tiles.clone()].par_chunks_mut(row_tiles),
        second_seen[tiles.clone()].par_chunks_mut(row_tiles),
        filled[tiles].par_chunks_mut(row_tiles),
    );
    parts.into_par_iter().enumerate().for_each(
        |(k, (first, second, first_batch, second_batch, edge_tiles, first_seen, second_seen, filled))| {
            let (surfaces, batches) = ([first, second], [first_batch, second_batch]);
            let tile_batches = [first_seen, second_seen];
            draw_row(frame, rows.start + k, RowMaps { surfaces, batches, edge_tiles, tile_batches, filled });
        },
    );
}

/// Draws a row of tiles.
#[inline(always)]
pub(crate) fn draw_row(frame: &Frame<'_>, row: usize, mut maps: RowMaps<'_>) {
    let mut samples = Samples::new();
    let mut facets = Facets::new(&frame.grouping);
    for column in frame.grid.drawn_columns() {
        let tile = Tile { column, row, drawn: frame.grid.drawn_part(column, row) };
        let mut triangles = frame.bins.of_tile(column, row).peekable();
        let is_filled = triangles.peek().is_some();
        let was_filled = std::mem::replace(&mut maps.filled[column], is_filled);
        maps.edge_tiles[column] = 0;
        for tiles in &mut maps.tile_batches {
            tiles[column] = TileBatches::default();
        }
        if is_filled {
            samples.clear();
            let origin = [(column * TILE_SIDE) as i32, (row * TILE_SIDE) as i32];
            for index in triangles {
                samples.draw(frame.bins.triangle(index), origin);
            }
            maps.edge_tiles[column] = u32::from(maps.write(frame, &mut facets, &tile, &samples));
            tile.list_visible(frame, &samples);
        } else if was_filled {
            maps.clear(frame.grid.width, &tile);
        }
    }
}

/// A tile and its drawn pixels.
struct Tile {
    column: usize,
    row: usize,
    drawn: Area,
}

impl Tile {
    /// Returns the columns of a part of the tile, relative to the tile.
    #[inline(always)]
    fn columns(&self, part: Area) -> Range<usize> {
        part.left - self.column * TILE_SIDE..part.right - self.column * TILE_SIDE
    }

    /// Returns the rows of a part of the tile, relative to the tile.
    #[inline(always)]
    fn rows(&self, part: Area) -> Range<usize> {
        part.top - self.row * TILE_SIDE..part.bottom - self.row * TILE_SIDE
    }

    /// Adds the triangles that samples show in the wanted part of the canvas to those of the frame.
    #[inline(always)]
    fn list_visible(&self, frame: &Frame<'_>, samples: &Samples) {
        let part = self.drawn.intersection(frame.wanted);
        if part.is_empty() {
            return;
        }
        let mut last = 0;
        for y in self.rows(part) {
            for triangles in &samples.row(y).0[self.columns(part)] {
                if is_uniform(triangles) && triangles[0] == last {
                    continue;
                }
                for triangle in triangles {
                    if *triangle != 0 {
                        frame.visible.insert(*triangle);
                    }
                }
                last = triangles[SAMPLES - 1];
            }
        }
    }
}

impl RowMaps<'_> {
    /// Writes the surfaces of a tile. Returns whether a pixel shows several triangles.
    #[inline(always)]
    fn write(&mut self, frame: &Frame<'_>, facets: &mut Facets<'_>, tile: &Tile, samples: &Samples) -> bool {
        let [first, second] = &mut self.surfaces;
        let [first_batch, second_batch] = &mut self.batches;
        let mut has_edges = false;
        let mut seen = [SeenBatches::default(), SeenBatches::default()];
        // Neighbouring pixels often show the same triangle.
        let (mut last, mut last_pixel) = (0, Pixel::default());
        for y in tile.rows(tile.drawn) {
            let pixels = y * frame.grid.width + tile.drawn.left..y * frame.grid.width + tile.drawn.right;
            let (triangles, depths) = samples.row(y);
            let columns = tile.columns(tile.drawn);
            let shown = triangles[columns.clone()].iter().zip(&depths[columns]);
            let surfaces = first[pixels.clone()].iter_mut().zip(&mut second[pixels.clone()]);
            let batches = first_batch[pixels.clone()].iter_mut().zip(&mut second_batch[pixels]);
            for (((triangles, depths), (first, second)), (first_batch, second_batch)) in
                shown.zip(surfaces).zip(batches)
            {
                let pixel = if is_uniform(triangles) {
                    if triangles[0] != last {
                        (last, last_pixel) = (triangles[0], frame.grouping.uniform(triangles[0]));
                        seen[0].add(last_pixel.batches[0]);
                    }
                    last_pixel
                } else {
                    has_edges = true;
                    let pixel = frame.grouping.grouped(facets, triangles, depths);
                    seen[0].add(pixel.batches[0]);
                    seen[1].add(pixel.batches[1]);
                    pixel
                };
                [*first, *second] = pixel.surfaces;
                [*first_batch, *second_batch] = pixel.batches;
            }
        }
        for (tiles, seen) in self.tile_batches.iter_mut().zip(seen) {
            tiles[tile.column] = seen.list;
        }
        has_edges
    }

    /// Removes the surfaces of a tile. `width` is the width of the canvas.
    fn clear(&mut self, width: usize, tile: &Tile) {
        for y in tile.rows(tile.drawn) {
            let pixels = y * width + tile.drawn.left..y * width + tile.drawn.right;
            for map in &mut self.surfaces {
                map[pixels.clone()].fill(0);
            }
            for map in &mut self.batches {
                map[pixels.clone()].fill(0);
            }
        }
    }
}
