//! Edges of triangles, and the samples of a tile that can be between them.

use crate::grid::TILE_SIDE;
use crate::lanes::{Ints, LANES, lanes};
use crate::project::SUBPIXELS;
use crate::triangle::{ScreenTriangle, sampled_pixels};

/// Positions of samples are multiples of this number of subpixels. Edge functions use it as their unit of length.
pub(crate) const UNIT: i32 = 1 << UNIT_BITS;
const UNIT_BITS: u32 = 4;
/// Side length of a pixel in units.
pub(crate) const PIXEL: i32 = SUBPIXELS / UNIT;
/// Positions of the samples of two neighbouring pixels in units: the standard pattern of Vulkan for four samples.
pub(crate) const X: Ints = [6, 14, 2, 10, 22, 30, 18, 26];
pub(crate) const Y: Ints = [2, 6, 10, 14, 2, 6, 10, 14];
/// Largest width and height, in subpixels, of triangles whose edge functions fit 32 bits: 4096 pixels.
pub(crate) const MAX_EXTENT: u32 = 1 << 20;
/// Largest width and height, in subpixels, of triangles whose edge functions are computed with 32 bits: 64 pixels.
const SMALL_EXTENT: u32 = 1 << 14;
/// Limit of the constants of edge functions with 32 bits. In a tile, the other terms of an edge function of such a
/// triangle add up to less than this, so a constant beyond the limit alone determines the sign.
const MAX_CONSTANT: i64 = 1 << 30;

/// Coordinates of a triangle's corners in subpixels, relative to a tile.
pub(crate) struct Corners {
    pub(crate) x: [i32; 3],
    pub(crate) y: [i32; 3],
}

impl Corners {
    /// `left` and `top` are the position of the tile on the canvas in pixels.
    #[inline(always)]
    pub(crate) fn new(triangle: &ScreenTriangle, [left, top]: [i32; 2]) -> Self {
        Self { x: triangle.x.map(|x| x - left * SUBPIXELS), y: triangle.y.map(|y| y - top * SUBPIXELS) }
    }

    #[inline(always)]
    pub(crate) fn at(&self, corner: usize) -> [i32; 2] {
        [self.x[corner], self.y[corner]]
    }
}

/// The part of a tile that contains the samples of a triangle.
pub(crate) struct Part {
    /// First and last pair in each row.
    pub(crate) pairs: [usize; 2],
    /// First and last row.
    pub(crate) rows: [usize; 2],
}

impl Part {
    /// Returns `None` if no sample of the tile is between the coordinates of a triangle's corners.
    #[inline(always)]
    pub(crate) fn between(corners: &Corners) -> Option<Self> {
        Some(Self { pairs: pixels_of_tile(corners.x)?.map(|column| column / 2), rows: pixels_of_tile(corners.y)? })
    }

    #[inline(always)]
    pub(crate) fn pair_count(&self) -> usize {
        (self.pairs[1] - self.pairs[0] + 1) * (self.rows[1] - self.rows[0] + 1)
    }

    /// Returns the position in units of the first pair's top left corner.
    #[inline(always)]
    pub(crate) fn origin(&self) -> [i32; 2] {
        [self.pairs[0] as i32 * 2 * PIXEL, self.rows[0] as i32 * PIXEL]
    }

    /// Returns the position in units of the last pair's bottom right corner.
    #[inline(always)]
    fn end(&self) -> [i32; 2] {
        [(self.pairs[1] as i32 + 1) * 2 * PIXEL, (self.rows[1] as i32 + 1) * PIXEL]
    }
}

/// Returns the first and the last pixel of the tile's rows or columns that have samples between three coordinates.
#[inline(always)]
fn pixels_of_tile(corners: [i32; 3]) -> Option<[usize; 2]> {
    let [first, last] = sampled_pixels(corners)?;
    let (first, last) = (first.max(0), last.min(TILE_SIDE as i32 - 1));
    if first <= last { Some([first as usize, last as usize]) } else { None }
}

/// An edge of a triangle. The edge function `constant − dx·x + dy·y` of a position in units is negative where a sample is
/// outside the triangle.
pub(crate) struct LargeEdge {
    dx: i64,
    dy: i64,
    constant: i64,
}

impl LargeEdge {
    /// Creates the edge between two corners.
    #[inline(always)]
    pub(crate) fn new(corners: &Corners, from: usize, to: usize) -> Self {
        let ([x0, y0], [x1, y1]) = (corners.at(from).map(i64::from), corners.at(to).map(i64::from));
        let (dx, dy) = (y0 - y1, x0 - x1);
        let exact = dx * x0 - dy * y0 - i64::from(!owns_samples(dx, dy));
        // Positions of samples are multiples of a unit, so rounding down does not change the sign of their values.
        Self { dx, dy, constant: exact >> UNIT_BITS }
    }

    fn at(&self, [x, y]: [i64; 2]) -> i64 {
        self.constant - self.dx * x + self.dy * y
    }

    /// Returns the values at the samples of a pair.
    pub(crate) fn of_pair(&self, pair: usize, row: usize) -> [i64; LANES] {
        let (left, top) = (pair as i64 * i64::from(2 * PIXEL), row as i64 * i64::from(PIXEL));
        lanes(|lane| self.at([left + i64::from(X[lane]), top + i64::from(Y[lane])]))
    }

    /// Returns the values at the samples of the next pair to the right.
    pub(crate) fn of_next_pair(&self, values: [i64; LANES]) -> [i64; LANES] {
        let step = i64::from(2 * PIXEL) * self.dx;
        lanes(|lane| values[lane] - step)
    }

    /// Returns whether all samples of a part are outside.
    pub(crate) fn excludes(&self, part: &Part) -> bool {
        self.corner_values(part).into_iter().all(|value| value < 0)
    }

    /// Returns whether all samples of a part are inside.
    pub(crate) fn includes(&self, part: &Part) -> bool {
        self.corner_values(part).into_iter().all(|value| value >= 0)
    }

    fn corner_values(&self, part: &Part) -> [i64; 4] {
        let ([left, top], [right, bottom]) = (part.origin().map(i64::from), part.end().map(i64::from));
        [[left, top], [right, top], [left, bottom], [right, bottom]].map(|corner| self.at(corner))
    }
}

/// Same as [`LargeEdge`], for triangles that are not larger than [`MAX_EXTENT`].
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    dx: i32,
    dy: i32,
    constant: i32,
}

impl Edge {
    /// An edge of which all samples are inside.
    pub(crate) const NONE: Self = Self { dx: 0, dy: 0, constant: 0 };

    /// Creates the edge between two corners. `extent` is the triangle's.
    #[inline(always)]
    pub(crate) fn new(corners: &Corners, extent: u32, from: usize, to: usize) -> Self {
        if extent <= SMALL_EXTENT {
            Self::small(corners.at(from), corners.at(to))
        } else {
            Self::limited(&LargeEdge::new(corners, from, to))
        }
    }

    /// Creates an edge of a triangle that is not larger than [`SMALL_EXTENT`].
    #[inline(always)]
    fn small([x0, y0]: [i32; 2], [x1, y1]: [i32; 2]) -> Self {
        let (dx, dy) = (y0 - y1, x0 - x1);
        let exact = dx * x0 - dy * y0 - i32::from(!owns_samples(dx, dy));
        Self { dx, dy, constant: exact >> UNIT_BITS }
    }

    /// Creates an edge of a triangle that is not larger than [`MAX_EXTENT`].
    #[inline(always)]
    fn limited(edge: &LargeEdge) -> Self {
        let constant = edge.constant.clamp(-MAX_CONSTANT, MAX_CONSTANT) as i32;
        Self { dx: edge.dx as i32, dy: edge.dy as i32, constant }
    }

    /// Returns whether all samples of a part are outside.
    #[inline(always)]
    pub(crate) fn excludes(&self, part: &Part) -> bool {
        let ([left, top], [right, bottom]) = (part.origin(), part.end());
        // The corner at which the value is greatest.
        let [x, y] = [if self.dx > 0 { left } else { right }, if self.dy > 0 { bottom } else { top }];
        i64::from(self.constant) + i64::from(self.dy * y - self.dx * x) < 0
    }

    /// Returns the value at a position.
    #[inline(always)]
    pub(crate) fn at(&self, [x, y]: [i32; 2]) -> i32 {
        self.constant - self.dx * x + self.dy * y
    }

    /// Returns the differences between the values at a pair's samples and at its top left corner.
    #[inline(always)]
    pub(crate) fn offsets(&self) -> Ints {
        lanes(|lane| self.dy.wrapping_mul(Y[lane]).wrapping_sub(self.dx.wrapping_mul(X[lane])))
    }

    /// Returns the difference between the values of a pair and of the next pair to its right.
    #[inline(always)]
    pub(crate) fn right(&self) -> i32 {
        -2 * PIXEL * self.dx
    }

    /// Returns the difference between the values of a pair and of the pair below it.
    #[inline(always)]
    pub(crate) fn down(&self) -> i32 {
        PIXEL * self.dy
    }
}

/// Returns whether samples on an edge belong to the triangle: if it is a left or a top edge, so that a sample on a common
/// edge of two triangles belongs to one of them.
#[inline(always)]
fn owns_samples<T: Copy + Default + PartialOrd>(dx: T, dy: T) -> bool {
    let zero = T::default();
    dx < zero || (dx == zero && dy > zero)
}
