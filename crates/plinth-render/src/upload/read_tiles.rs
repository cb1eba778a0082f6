//! The parts of a mip level that frames can read. The other parts need not be uploaded.

use glam::Vec2;
use plinth_model::Wrap;

/// Side of a tile in texels.
const TILE: u32 = 64;
/// Number of texels around a triangle that are read with it: one for linear filtering, and a few because a pixel on the
/// edge of a triangle may be shaded at its centre, which is beside the triangle. There, a pixel is less than three
/// texels of its mip level long.
const MARGIN: f32 = 8.0;
/// Texel coordinates that are greater are not exact enough to find the texels beside them.
const MAX_EXACT: f32 = 4_194_304.0;

/// A mip level that is divided into square tiles, some of which are read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadTiles {
    /// Width and height of the level in texels.
    size: [u32; 2],
    /// Whether each tile is read, by row and column.
    is_read: Vec<bool>,
    /// Number of tiles that are not read.
    unread: usize,
}

/// A rectangle of a mip level, in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangle {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Rectangle {
    /// Returns the number of bytes of its texels.
    pub(super) const fn bytes(&self) -> usize {
        self.width as usize * self.height as usize * 4
    }
}

impl ReadTiles {
    /// Creates tiles of a level of `size` texels, none of which is read.
    pub(super) fn new(size: [u32; 2]) -> Self {
        let [columns, rows] = size.map(|side| side.div_ceil(TILE) as usize);
        Self { size, is_read: vec![false; columns * rows], unread: columns * rows }
    }

    /// Returns whether each tile is read, by row and column.
    pub(super) fn is_read(&self) -> &[bool] {
        &self.is_read
    }

    fn columns(&self) -> usize {
        self.size[0].div_ceil(TILE) as usize
    }

    /// Marks what is read by a triangle with these corners, in texels of the level. Wrapping is by width and height.
    pub(super) fn mark(&mut self, corners: [Vec2; 3], wraps: [Wrap; 2]) {
        if self.unread == 0 {
            return;
        }
        if !corners.iter().all(|corner| corner.is_finite()) {
            self.is_read.fill(true);
            self.unread = 0;
            return;
        }
        let [a, b, c] = corners;
        let (min, max) = (a.min(b).min(c) - MARGIN, a.max(b).max(c) + MARGIN);
        let along_x = Tiles::between(min.x, max.x, self.size[0], wraps[0]);
        let along_y = Tiles::between(min.y, max.y, self.size[1], wraps[1]);
        let columns = self.columns();
        for row in along_y.indices() {
            for column in along_x.indices() {
                let is_read = &mut self.is_read[row * columns + column];
                self.unread -= usize::from(!*is_read);
                *is_read = true;
            }
        }
    }

    /// Adds the tiles of another set of the same level.
    pub(super) fn add(&mut self, other: &Self) {
        self.is_read.iter_mut().zip(&other.is_read).for_each(|(this, other)| *this |= other);
        self.unread = self.is_read.iter().filter(|read| !**read).count();
    }

    /// Returns whether all tiles that `other` reads are read.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.size == other.size && self.is_read.iter().zip(&other.is_read).all(|(this, other)| *this || !other)
    }

    /// Returns the number of texels that are read.
    pub(super) fn texels(&self) -> u64 {
        self.rectangles().iter().map(|one| u64::from(one.width) * u64::from(one.height)).sum()
    }

    /// Returns the texels that are read as rectangles that do not overlap, in an order that depends only on the tiles.
    pub(super) fn rectangles(&self) -> Vec<Rectangle> {
        let [width, height] = self.size;
        let mut done: Vec<Rectangle> = Vec::new();
        // Rectangles that end at the current row.
        let mut open: Vec<Rectangle> = Vec::new();
        for (row, tiles) in (0..).zip(self.is_read.chunks(self.columns())) {
            let (top, bottom) = (row * TILE, height.min((row + 1) * TILE));
            let mut next = Vec::new();
            for (start, end) in runs(tiles) {
                let (x, end) = (start * TILE, width.min(end * TILE));
                let width = end - x;
                // A run with the same columns as in the row above continues its rectangle.
                let above = open.iter().position(|one| one.x == x && one.width == width);
                let y = above.map_or(top, |i| open.swap_remove(i).y);
                next.push(Rectangle { x, y, width, height: bottom - y });
            }
            done.append(&mut open);
            open = next;
        }
        done.append(&mut open);
        done.sort_unstable_by_key(|one| (one.y, one.x));
        done
    }
}

/// Returns the first index of each run of tiles that are read, and the index after its last.
fn runs(tiles: &[bool]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (i, _read) in (0..).zip(tiles).filter(|(_i, read)| **read) {
        match runs.last_mut() {
            Some((_start, end)) if *end == i => *end = i + 1,
            _ => runs.push((i, i + 1)),
        }
    }
    runs
}

/// Tiles along one side of a level. They may continue at its beginning.
struct Tiles {
    first: usize,
    number: usize,
    /// Number of tiles along the side.
    all: usize,
}

impl Tiles {
    /// Returns the tiles with the texels from `low` to `high`, for a side of `side` texels.
    fn between(low: f32, high: f32, side: u32, wrap: Wrap) -> Self {
        let all = side.div_ceil(TILE) as usize;
        let whole = Self { first: 0, number: all, all };
        let length = side as f32;
        if high - low >= length || low.abs().max(high.abs()) > MAX_EXACT {
            return whole;
        }
        let texel = |at: f32| (at.max(0.0) as u32).min(side - 1);
        let from_to = |low: u32, high: u32| {
            let (first, last) = ((low / TILE) as usize, (high / TILE) as usize);
            Self { first, number: last + 1 - first, all }
        };
        match wrap {
            Wrap::Clamp => from_to(texel(low), texel(high)),
            Wrap::Mirror if low >= 0.0 && high < length => from_to(texel(low), texel(high)),
            Wrap::Mirror => whole,
            Wrap::Repeat => {
                let low_inside = low.rem_euclid(length);
                let high_inside = low_inside + (high - low);
                if high_inside < length {
                    return from_to(texel(low_inside), texel(high_inside));
                }
                let (first, last) = (texel(low_inside) / TILE, texel(high_inside - length) / TILE);
                let number = all - first as usize + last as usize + 1;
                Self { first: first as usize, number: number.min(all), all }
            }
        }
    }

    fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        (self.first..self.first + self.number).map(|i| i % self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPEAT: [Wrap; 2] = [Wrap::Repeat; 2];

    fn rectangle(x: u32, y: u32, width: u32, height: u32) -> Rectangle {
        Rectangle { x, y, width, height }
    }

    /// Returns what a triangle reads of a level of 256 × 200 texels.
    fn read(corners: [[f32; 2]; 3], wraps: [Wrap; 2]) -> Vec<Rectangle> {
        let mut tiles = ReadTiles::new([256, 200]);
        tiles.mark(corners.map(Vec2::from), wraps);
        tiles.rectangles()
    }

    #[test]
    fn a_triangle_reads_the_tiles_around_it() {
        assert_eq!(read([[80.0, 80.0], [90.0, 80.0], [80.0, 100.0]], REPEAT), [rectangle(64, 64, 64, 64)]);
        // Texels beside the triangle are in the next tile.
        assert_eq!(read([[80.0, 80.0], [122.0, 80.0], [80.0, 100.0]], REPEAT), [rectangle(64, 64, 128, 64)]);
        // The last row of tiles has 8 texels only.
        assert_eq!(read([[80.0, 150.0], [90.0, 150.0], [80.0, 188.0]], REPEAT), [rectangle(64, 128, 64, 72)]);
    }

    #[test]
    fn a_triangle_at_the_edge_reads_what_its_wrapping_shows() {
        let at_left = [[2.0, 80.0], [10.0, 80.0], [2.0, 100.0]];
        let shifted = at_left.map(|[x, y]| [x - 512.0, y + 600.0]);
        let both_sides = [rectangle(0, 64, 64, 64), rectangle(192, 64, 64, 64)];
        assert_eq!(read(at_left, REPEAT), both_sides);
        assert_eq!(read(shifted, REPEAT), both_sides);
        assert_eq!(read(at_left, [Wrap::Clamp; 2]), [rectangle(0, 64, 64, 64)]);
        assert_eq!(read(at_left, [Wrap::Mirror, Wrap::Repeat]), [rectangle(0, 64, 256, 64)]);
        assert_eq!(read([[20.0, 80.0], [30.0, 80.0], [20.0, 100.0]], [Wrap::Mirror; 2]), [rectangle(0, 64, 64, 64)]);
        // Far outside, a clamped texture shows its edge.
        assert_eq!(
            read([[900.0, -80.0], [910.0, -80.0], [900.0, -70.0]], [Wrap::Clamp; 2]),
            [rectangle(192, 0, 64, 64)]
        );
    }

    #[test]
    fn a_triangle_whose_texels_are_unknown_reads_all() {
        let all = [rectangle(0, 0, 256, 200)];
        for far in [f32::NAN, f32::INFINITY, 1e30, 300.0] {
            let corners = [[80.0, 80.0], [80.0 + far, 80.0], [80.0, 80.0 + far]];
            assert_eq!(read(corners, REPEAT), all, "{far}");
        }
        let inexact = [[1e7, 1e7], [1e7, 1e7], [1e7, 1e7]];
        assert_eq!(read(inexact, REPEAT), all);
    }

    #[test]
    fn rectangles_cover_each_tile_once() {
        let mut tiles = ReadTiles::new([64 * 5, 64 * 4 - 1]);
        for (column, row) in [(0, 0), (1, 0), (3, 0), (0, 1), (1, 1), (4, 1), (0, 2), (2, 2), (2, 3)] {
            tiles.is_read[row * 5 + column] = true;
        }
        let rectangles = tiles.rectangles();
        let mut covered = vec![0; tiles.is_read.len()];
        for one in &rectangles {
            for row in one.y / TILE..(one.y + one.height).div_ceil(TILE) {
                for column in one.x / TILE..(one.x + one.width).div_ceil(TILE) {
                    covered[(row * 5 + column) as usize] += 1;
                }
            }
        }
        let expected: Vec<_> = tiles.is_read.iter().map(|read| i32::from(*read)).collect();
        assert_eq!(covered, expected);
        assert_eq!(rectangles.len(), 5, "{rectangles:?}");
        assert_eq!(tiles.texels(), 64 * 64 * 9 - 64);
    }

    #[test]
    fn only_tiles_of_the_same_level_contain_others() {
        let with = |indices: &[usize]| {
            let mut tiles = ReadTiles::new([128, 128]);
            for i in indices {
                tiles.is_read[*i] = true;
            }
            tiles.unread -= indices.len();
            tiles
        };
        assert!(with(&[0, 2]).contains(&with(&[2])) && with(&[2]).contains(&with(&[2])));
        assert!(!with(&[2]).contains(&with(&[0, 2])));
        assert!(!with(&[0, 2]).contains(&ReadTiles::new([64, 256])));
        let mut sum = with(&[0]);
        sum.add(&with(&[3]));
        assert_eq!(sum, with(&[0, 3]));
    }
}
