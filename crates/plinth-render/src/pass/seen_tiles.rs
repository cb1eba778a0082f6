//! The tiles of a canvas in which each batch is visible. They are known only if the processor determines which surfaces
//! are visible.

use std::slice;

use plinth_frame::Region;
use plinth_raster::{MAX_TILE_BATCHES, TileBatches};

use super::edge_tiles::TILE_SIDE;
use super::visibility::{SURFACES, joined};

/// If more quarters of the tiles in the rectangle around a batch's tiles show the batch, the whole rectangle is shaded.
/// Drivers shade the blocks of pixels along a rectangle's diagonal twice, which takes 5 to 10 % of the time for a small
/// rectangle of first surfaces. To reject a pixel that shows another batch takes about 2 % of the time for shading it.
/// Second surfaces are so few that empty tiles matter more.
const QUARTERS: [u32; SURFACES] = [1, 3];

/// Maximum number of earlier rectangles that are considered when a run of tiles is joined with the one above it.
const MAX_ABOVE: usize = 64;

/// The rectangles of tiles in which each batch is visible. Positions and sizes are in tiles.
pub(crate) struct SeenTiles {
    /// For first and for second surfaces, the rectangles of each batch.
    rectangles: [Vec<Vec<Region>>; SURFACES],
}

impl SeenTiles {
    /// Collects the tiles of all batches. `tiles` contains the batches that each tile shows as first and as second
    /// surfaces, in rows of `row_tiles` tiles. Returns `None` if a tile may show more batches than its list contains.
    pub(crate) fn new(tiles: &[Vec<TileBatches>; SURFACES], row_tiles: u32, batches: usize) -> Option<Self> {
        let is_full = |seen: &TileBatches| seen[MAX_TILE_BATCHES - 1] != 0;
        if tiles.iter().flatten().any(is_full) {
            return None;
        }
        let rectangles = tiles.each_ref().map(|tiles| {
            let mut runs = vec![Vec::new(); batches];
            for (tile, seen) in (0..).zip(tiles) {
                for batch in seen.iter().take_while(|batch| **batch != 0) {
                    add_tile(&mut runs[usize::from(*batch) - 1], tile % row_tiles, tile / row_tiles);
                }
            }
            runs.into_iter().map(joined_runs).collect()
        });
        Some(Self { rectangles })
    }

    /// Returns the regions of the canvas, within `part`, in which surfaces of a batch are shaded: first surfaces if `k`
    /// is 0, second surfaces if `k` is 1. The batch must be visible only within `part`.
    pub(crate) fn regions(&self, k: usize, batch: usize, part: Region) -> Vec<Region> {
        let rectangles = &self.rectangles[k][batch];
        let Some(around) = rectangles.iter().copied().reduce(joined) else { return Vec::new() };
        let tiles = |rectangle: &Region| rectangle.width * rectangle.height;
        let shown: u32 = rectangles.iter().map(tiles).sum();
        let is_whole = 4 * shown > QUARTERS[k] * tiles(&around);
        let chosen = if is_whole { slice::from_ref(&around) } else { rectangles.as_slice() };
        chosen.iter().filter_map(|tiles| pixels(*tiles, part)).collect()
    }
}

/// Adds a tile to horizontal runs. Tiles are added in rows.
fn add_tile(runs: &mut Vec<Region>, x: u32, y: u32) {
    match runs.last_mut() {
        Some(run) if run.y == y && run.x + run.width == x => run.width += 1,
        _ => runs.push(Region { x, y, width: 1, height: 1 }),
    }
}

/// Joins runs of the same columns that are below each other.
fn joined_runs(runs: Vec<Region>) -> Vec<Region> {
    let mut out: Vec<Region> = Vec::new();
    for run in runs {
        let is_above = |above: &Region| above.y + above.height == run.y && (above.x, above.width) == (run.x, run.width);
        let first = out.len().saturating_sub(MAX_ABOVE);
        if let Some(place) = out[first..].iter().rposition(is_above) {
            out[first + place].height += 1;
        } else {
            out.push(run);
        }
    }
    out
}

/// Returns the pixels of a rectangle of tiles that are within `part`. Returns `None` if there are none.
fn pixels(tiles: Region, part: Region) -> Option<Region> {
    let span = |[first, count]: [u32; 2], [start, length]: [u32; 2]| {
        let low = (first * TILE_SIDE).max(start);
        let high = ((first + count) * TILE_SIDE).min(start + length);
        (low < high).then(|| (low, high - low))
    };
    let (x, width) = span([tiles.x, tiles.width], [part.x, part.width])?;
    let (y, height) = span([tiles.y, tiles.height], [part.y, part.height])?;
    Some(Region { x, y, width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Region = Region { x: 0, y: 0, width: 256, height: 128 };

    fn region(x: u32, y: u32, width: u32, height: u32) -> Region {
        Region { x, y, width, height }
    }

    /// Returns the tiles of a picture in which each character is a tile: a letter is the only batch that the tile
    /// shows. There are 8 tiles in each row.
    fn picture(rows: &[&str]) -> Vec<TileBatches> {
        let tile = |letter: u8| {
            let mut seen = TileBatches::default();
            seen[0] = if letter == b'.' { 0 } else { u16::from(letter - b'a') + 1 };
            seen
        };
        rows.iter().flat_map(|row| row.bytes().map(tile)).collect()
    }

    fn seen(first: &[&str], second: &[&str]) -> SeenTiles {
        SeenTiles::new(&[picture(first), picture(second)], 8, 3).unwrap()
    }

    #[test]
    fn scattered_tiles_are_shaded_in_rectangles() {
        let tiles =
            seen(&["a......a", "a.......", "........", "bb....a."], &["........", "........", "........", "..b..bb."]);
        let expected = [region(0, 0, 32, 64), region(224, 0, 32, 32), region(192, 96, 32, 32)];
        assert_eq!(tiles.regions(0, 0, WHOLE), expected);
        assert_eq!(tiles.regions(0, 1, WHOLE), [region(0, 96, 64, 32)]);
        assert_eq!(tiles.regions(1, 1, WHOLE), [region(64, 96, 32, 32), region(160, 96, 64, 32)]);
        assert!(tiles.regions(0, 2, WHOLE).is_empty());
        assert!(tiles.regions(1, 0, WHOLE).is_empty());
    }

    #[test]
    fn a_rectangle_is_shaded_as_a_whole_if_enough_of_its_tiles_show_the_batch() {
        let rows = ["aa......", "..a.....", "........", "........"];
        let tiles = seen(&rows, &rows);
        assert_eq!(tiles.regions(0, 0, WHOLE), [region(0, 0, 96, 64)], "half of the tiles, first surfaces");
        assert_eq!(tiles.regions(1, 0, WHOLE), [region(0, 0, 64, 32), region(64, 32, 32, 32)]);
        let part = region(10, 5, 60, 30);
        assert_eq!(tiles.regions(0, 0, part), [part]);
        assert_eq!(tiles.regions(1, 0, part), [region(10, 5, 54, 27), region(64, 32, 6, 3)]);
        assert_eq!(tiles.regions(1, 0, region(10, 5, 54, 10)), [region(10, 5, 54, 10)], "the other tile is outside");
    }

    #[test]
    fn full_lists_are_not_used() {
        let (none, batches) = (vec![TileBatches::default(); 2], MAX_TILE_BATCHES + 4);
        let mut full = none.clone();
        full[1] = std::array::from_fn(|k| k as u16 + 1);
        assert!(SeenTiles::new(&[none.clone(), full.clone()], 2, batches).is_none());
        full[1][MAX_TILE_BATCHES - 1] = 0;
        let tiles = SeenTiles::new(&[none, full], 2, batches).unwrap();
        for batch in 0..batches {
            let expected = if batch < MAX_TILE_BATCHES - 1 { vec![region(32, 0, 32, 32)] } else { Vec::new() };
            assert_eq!(tiles.regions(1, batch, WHOLE), expected);
        }
    }
}
