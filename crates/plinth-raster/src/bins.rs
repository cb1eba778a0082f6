//! Lists of the triangles in each tile.

use rayon::prelude::*;

use crate::TriangleRun;
use crate::clip::clipped;
use crate::grid::{Grid, TILE_SIDE};
use crate::project::{Projected, ScreenVertex};
use crate::triangle::{ScreenTriangle, sampled_pixels};

/// Maximum number of triangles in a chunk, before they are clipped.
const CHUNK: usize = 2048;
/// Maximum number of triangles into which a clipped triangle is divided. Each of the five clip planes adds a corner at most,
/// so there are up to six.
const MAX_PARTS: usize = 8;
/// Number of triangles in a chunk for which there are indices.
const CHUNK_INDICES: usize = CHUNK * MAX_PARTS;
/// Maximum number of entries of a chunk in the lists of tiles: a number for each of its triangles, and a number for each
/// chunk. It bounds memory where many triangles cover many tiles. Triangles for which there is no room are in the list of
/// wide triangles.
const TRIANGLE_ENTRIES: usize = 8;
const CHUNK_ENTRIES: usize = 512;

/// A part of a run, whose triangles are processed by one task.
struct Part {
    run: usize,
    /// Index in the run of the first triangle and of the triangle behind the last one.
    first: usize,
    end: usize,
}

/// The visible triangles of a part, and the tiles in which they are.
#[derive(Default)]
struct Chunk {
    triangles: Vec<ScreenTriangle>,
    /// Tile, and index of the triangle in `triangles`.
    entries: Vec<(u32, u32)>,
    /// Triangles that are not in `entries`.
    wide: Vec<WideTriangle>,
}

/// A triangle that is not in the lists of tiles, and the tiles that it may cover.
#[derive(Clone, Copy)]
struct WideTriangle {
    index: u32,
    /// First and last column of tiles.
    columns: [u32; 2],
    /// First and last row of tiles.
    rows: [u32; 2],
}

/// The triangles of each tile. The index of a triangle is the number of its chunk times [`CHUNK_INDICES`] plus its index in
/// the chunk, so indices are in the order in which triangles are drawn.
#[derive(Default)]
pub(crate) struct Bins {
    parts: Vec<Part>,
    /// May be longer than `parts`: chunks keep their memory.
    chunks: Vec<Chunk>,
    row_tiles: usize,
    /// For each tile, the index of its first entry in `list`; then the length of `list`.
    starts: Vec<u32>,
    /// For each tile, the index of its next entry while `list` is filled.
    next: Vec<u32>,
    list: Vec<u32>,
    wide: Vec<WideTriangle>,
}

impl Bins {
    /// Replaces the triangles by those of `runs`.
    pub(crate) fn fill(&mut self, grid: &Grid, runs: &[TriangleRun<'_>], projected: &Projected) {
        self.parts.clear();
        for (run, triangles) in runs.iter().enumerate() {
            let count = triangles.corners.len() / 3;
            let firsts = (0..count).step_by(CHUNK);
            self.parts.extend(firsts.map(|first| Part { run, first, end: count.min(first + CHUNK) }));
        }
        if self.chunks.len() < self.parts.len() {
            self.chunks.resize_with(self.parts.len(), Chunk::default);
        }
        let used = &mut self.chunks[..self.parts.len()];
        used.par_iter_mut().zip(&self.parts).enumerate().for_each(|(k, (chunk, part))| {
            chunk.fill(grid, &runs[part.run], part, projected);
            for wide in &mut chunk.wide {
                wide.index += (k * CHUNK_INDICES) as u32;
            }
        });
        self.row_tiles = grid.row_tiles;
        self.sort(grid.tiles());
    }

    /// Sorts the entries of all chunks by tile. Entries of a tile remain in the order of drawing.
    fn sort(&mut self, tiles: usize) {
        let used = &self.chunks[..self.parts.len()];
        self.starts.clear();
        self.starts.resize(tiles + 1, 0);
        for (tile, _) in used.iter().flat_map(|chunk| &chunk.entries) {
            self.starts[*tile as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.next.clone_from(&self.starts);
        self.list.resize(sum as usize, 0);
        self.wide.clear();
        for (k, chunk) in used.iter().enumerate() {
            for (tile, index) in &chunk.entries {
                let next = &mut self.next[*tile as usize];
                self.list[*next as usize] = (k * CHUNK_INDICES) as u32 + index;
                *next += 1;
            }
            self.wide.extend_from_slice(&chunk.wide);
        }
    }

    /// Returns the indices of the triangles of a tile in the order of drawing.
    #[inline(always)]
    pub(crate) fn of_tile(&self, column: usize, row: usize) -> TileTriangles<'_> {
        let tile = row * self.row_tiles + column;
        let entries = &self.list[self.starts[tile] as usize..self.starts[tile + 1] as usize];
        TileTriangles { entries, wide: &self.wide, tile: [column as u32, row as u32] }
    }

    #[inline(always)]
    pub(crate) fn triangle(&self, index: u32) -> &ScreenTriangle {
        &self.chunks[index as usize / CHUNK_INDICES].triangles[index as usize % CHUNK_INDICES]
    }
}

/// An iterator over the indices of the triangles of a tile.
pub(crate) struct TileTriangles<'a> {
    entries: &'a [u32],
    wide: &'a [WideTriangle],
    tile: [u32; 2],
}

impl Iterator for TileTriangles<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        while let [first, others @ ..] = self.wide
            && !first.covers(self.tile)
        {
            self.wide = others;
        }
        match (self.entries, self.wide) {
            ([], []) => None,
            ([], [wide, others @ ..]) => {
                self.wide = others;
                Some(wide.index)
            }
            ([entry, ..], [wide, others @ ..]) if wide.index < *entry => {
                self.wide = others;
                Some(wide.index)
            }
            ([entry, others @ ..], _) => {
                self.entries = others;
                Some(*entry)
            }
        }
    }
}

impl WideTriangle {
    fn covers(&self, [column, row]: [u32; 2]) -> bool {
        (self.columns[0]..=self.columns[1]).contains(&column) && (self.rows[0]..=self.rows[1]).contains(&row)
    }
}

impl Chunk {
    fn fill(&mut self, grid: &Grid, run: &TriangleRun<'_>, part: &Part, projected: &Projected) {
        let vertices = projected.of_run(part.run);
        self.triangles.clear();
        self.entries.clear();
        self.wide.clear();
        let corners = &run.corners.as_chunks::<3>().0[part.first..part.end];
        let max_entries = corners.len() * TRIANGLE_ENTRIES + CHUNK_ENTRIES;
        for (number, corners) in (run.first_number + part.first as u32..).zip(corners) {
            let [a, b, c] = corners.map(|corner| vertices[corner as usize]);
            if a.is_outside() || b.is_outside() || c.is_outside() {
                let positions = corners.map(|corner| run.positions[corner as usize]);
                let polygon = clipped(&projected.projection, positions, [a, b, c]);
                self.push_polygon(grid, &polygon, (number, run.double_sided), max_entries);
            } else if let Some(triangle) = ScreenTriangle::new([a, b, c], number, run.double_sided) {
                self.push(grid, triangle, max_entries);
            }
        }
    }

    /// Adds the visible part of a clipped triangle, a convex polygon. It is divided into triangles with the same number.
    #[cold]
    fn push_polygon(
        &mut self,
        grid: &Grid,
        polygon: &[ScreenVertex],
        (number, double_sided): (u32, bool),
        max_entries: usize,
    ) {
        let Some((first, others)) = polygon.split_first() else { return };
        for pair in others.windows(2).take(MAX_PARTS) {
            if let Some(triangle) = ScreenTriangle::new([*first, pair[0], pair[1]], number, double_sided) {
                self.push(grid, triangle, max_entries);
            }
        }
    }

    /// Adds a triangle to the tiles that its bounding box touches.
    #[inline(always)]
    fn push(&mut self, grid: &Grid, triangle: ScreenTriangle, max_entries: usize) {
        let area = grid.area;
        let (Some(columns), Some(rows)) =
            (touched_tiles(triangle.x, [area.left, area.right]), touched_tiles(triangle.y, [area.top, area.bottom]))
        else {
            return;
        };
        let index = self.triangles.len() as u32;
        self.triangles.push(triangle);
        let touched = (columns[1] - columns[0] + 1) as usize * (rows[1] - rows[0] + 1) as usize;
        if self.entries.len() + touched > max_entries {
            self.wide.push(WideTriangle { index, columns, rows });
            return;
        }
        for row in rows[0]..=rows[1] {
            let first = row * grid.row_tiles as u32;
            self.entries.extend((first + columns[0]..=first + columns[1]).map(|tile| (tile, index)));
        }
    }
}

/// Returns the first and the last row or column of tiles with samples between three coordinates. `start` and `end` limit
/// the pixels. Returns `None` if there are no such samples.
#[inline(always)]
fn touched_tiles(corners: [i32; 3], [start, end]: [usize; 2]) -> Option<[u32; 2]> {
    let [first, last] = sampled_pixels(corners)?;
    let (first, last) = (first.max(start as i32), last.min(end as i32 - 1));
    if first <= last { Some([first, last].map(|pixel| pixel as u32 / TILE_SIDE as u32)) } else { None }
}

#[cfg(test)]
mod tests {
    use glam::{Mat4, Vec3};
    use plinth_frame::Region;

    use super::*;
    use crate::RasterView;
    use crate::project::Projection;

    /// Projects runs to a canvas of 128 × 128 pixels, of which clip space covers all, and lists their triangles.
    fn filled(runs: &[TriangleRun<'_>]) -> Bins {
        let view = RasterView {
            clip_from_world: Mat4::IDENTITY,
            canvas: [128, 128],
            region: Region::whole(128, 128),
            distance_numerator: 1.0,
            depth_range: 2.0,
            pixel_size: 0.01,
            camera_axis: Vec3::NEG_Z,
        };
        let (mut bins, mut projected) = (Bins::default(), Projected::default());
        projected.project(&Projection::new(&view), runs);
        bins.fill(&Grid::new(view.canvas, view.region), runs, &projected);
        bins
    }

    #[test]
    fn tiles_list_the_triangles_that_touch_them() {
        // The first triangle is in the tile at the top left, the second one in the two lower quarters.
        let positions = [
            [-0.9, 0.9, 0.0],
            [-0.9, 0.6, 0.0],
            [-0.6, 0.9, 0.0],
            [-1.0, -0.1, 0.0],
            [0.0, -1.0, 0.0],
            [1.0, -0.1, 0.0],
        ];
        let run =
            TriangleRun { positions: &positions, corners: &[0, 1, 2, 3, 4, 5], first_number: 7, double_sided: false };
        let bins = filled(&[run]);
        for row in 0..4 {
            for column in 0..4 {
                let numbers: Vec<_> = bins.of_tile(column, row).map(|index| bins.triangle(index).number).collect();
                let expected: &[u32] = match (column, row) {
                    (0, 0) => &[7],
                    (_, 2 | 3) => &[8],
                    _ => &[],
                };
                assert_eq!(numbers, expected, "tile {column}, {row}");
            }
        }
    }

    #[test]
    fn parts_of_clipped_triangles_are_listed_in_order() {
        // The near plane cuts off the last corner, so two triangles remain. They touch the first tile. There are more
        // of them than triangles in a chunk.
        let positions = [[-0.9, 0.9, 0.5], [-0.9, 0.6, 0.5], [-0.6, 0.9, -0.5]];
        let corners = [0_u32, 1, 2].repeat(2 * CHUNK);
        let run = TriangleRun { positions: &positions, corners: &corners, first_number: 1, double_sided: false };
        let bins = filled(&[run]);
        let numbers: Vec<_> = bins.of_tile(0, 0).map(|index| bins.triangle(index).number).collect();
        let expected: Vec<u32> = (1..=2 * CHUNK as u32).flat_map(|number| [number; 2]).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn triangles_beyond_the_limit_are_listed_in_order() {
        // Each large triangle touches all 16 tiles, so there is no room in the lists for about half of them. Small
        // triangles in the first tile are between them.
        let positions = [
            [-1.0, 1.0, 0.0],
            [-1.0, -1.0, 0.0],
            [1.0, 1.0, 0.0],
            [-0.9, 0.9, 0.0],
            [-0.9, 0.6, 0.0],
            [-0.6, 0.9, 0.0],
        ];
        let corners: Vec<u32> = (0..2500).flat_map(|k| if k % 5 == 4 { [3, 4, 5] } else { [0, 1, 2] }).collect();
        let bins =
            filled(&[TriangleRun { positions: &positions, corners: &corners, first_number: 1, double_sided: false }]);
        assert!(!bins.wide.is_empty());
        assert!(bins.list.len() <= 2500 * TRIANGLE_ENTRIES + 2 * CHUNK_ENTRIES);
        for (tile, small) in [([0, 0], true), ([2, 1], false)] {
            let numbers: Vec<_> = bins.of_tile(tile[0], tile[1]).map(|index| bins.triangle(index).number).collect();
            let expected: Vec<u32> = (1..=2500).filter(|number| small || number % 5 != 0).collect();
            assert_eq!(numbers, expected, "tile {tile:?}");
        }
    }
}
