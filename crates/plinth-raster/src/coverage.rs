//! Draws triangles into the samples of a tile (Pineda 1988, "A Parallel Algorithm for Polygon Rasterization").
//!
//! Eight samples, those of two neighbouring pixels, are processed together.

use crate::edges::{Corners, Edge, LargeEdge, MAX_EXTENT, Part, UNIT, X, Y};
use crate::grid::TILE_SIDE;
use crate::lanes::{Floats, Ints, LANES, added, lanes, raised};
use crate::project::SUBPIXELS;
use crate::triangle::ScreenTriangle;

/// Number of samples of a pixel.
pub(crate) const SAMPLES: usize = 4;
/// Number of pairs of pixels in a row of a tile.
const ROW_PAIRS: usize = TILE_SIDE / 2;
const PAIRS: usize = ROW_PAIRS * TILE_SIDE;
/// Larger triangles are first tested against a tile as a whole.
const SMALL_PAIRS: usize = 32;
/// The bits of the depth 1.
const FARTHEST: i32 = 1_f32.to_bits().cast_signed();
/// More than the bits of all depths that a sample can show.
const HIDDEN: i32 = FARTHEST + 1;

/// The samples of a tile. Each element contains the samples of two neighbouring pixels.
#[repr(align(64))]
pub(crate) struct Samples {
    /// Number of the visible triangle, or 0.
    triangles: [[u32; LANES]; PAIRS],
    /// The bits of the depth. Depths are between 0 and 1, so their bits have the same order as integers.
    depths: [Ints; PAIRS],
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self { triangles: [[0; LANES]; PAIRS], depths: [[FARTHEST; LANES]; PAIRS] }
    }

    /// Removes all triangles.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.triangles.fill([0; LANES]);
        self.depths.fill([FARTHEST; LANES]);
    }

    /// Returns the numbers of the triangles and the bits of the depths of each pixel of a row.
    #[inline(always)]
    pub(crate) fn row(&self, y: usize) -> (&[[u32; SAMPLES]], &[[i32; SAMPLES]]) {
        let pairs = y * ROW_PAIRS..(y + 1) * ROW_PAIRS;
        let triangles = self.triangles[pairs.clone()].as_flattened();
        (triangles.as_chunks().0, self.depths[pairs].as_flattened().as_chunks().0)
    }

    /// Draws a triangle. A sample shows it if it is nearer than the triangle drawn before, or equally near, and not beyond
    /// the far plane. `left` and `top` are the position of the tile on the canvas in pixels.
    #[inline(always)]
    pub(crate) fn draw(&mut self, triangle: &ScreenTriangle, [left, top]: [i32; 2]) {
        let corners = Corners::new(triangle, [left, top]);
        let Some(part) = Part::between(&corners) else { return };
        let edges = if triangle.extent <= MAX_EXTENT {
            let edge = |from: usize, to: usize| Edge::new(&corners, triangle.extent, from, to);
            [edge(0, 1), edge(1, 2), edge(2, 0)]
        } else if self.draw_large(triangle, [left, top]) {
            // Passing `corners` would keep them in memory instead of registers.
            return;
        } else {
            [Edge::NONE; 3]
        };
        if part.pair_count() <= SMALL_PAIRS || !edges.iter().any(|edge| edge.excludes(&part)) {
            let plane = DepthPlane::new(triangle, corners.at(0), &part);
            TileTriangle { part, edges, plane, number: triangle.number }.draw(self);
        }
    }

    /// Draws a triangle of any size. Returns false, and draws nothing, if all samples of the tile are inside the triangle.
    #[cold]
    fn draw_large(&mut self, triangle: &ScreenTriangle, origin: [i32; 2]) -> bool {
        let corners = Corners::new(triangle, origin);
        let Some(part) = Part::between(&corners) else { return true };
        let edge = |from: usize, to: usize| LargeEdge::new(&corners, from, to);
        let edges = [edge(0, 1), edge(1, 2), edge(2, 0)];
        if edges.iter().any(|edge| edge.excludes(&part)) {
            return true;
        }
        if edges.iter().all(|edge| edge.includes(&part)) {
            return false;
        }
        let plane = DepthPlane::new(triangle, corners.at(0), &part);
        for row in part.rows[0]..=part.rows[1] {
            let mut depths = plane.row(row - part.rows[0]);
            let [mut a, mut b, mut c] = edges.each_ref().map(|edge| edge.of_pair(part.pairs[0], row));
            for pair in part.pairs[0]..=part.pairs[1] {
                let outside = lanes(|lane| ((a[lane] | b[lane] | c[lane]) >> 63) as i32);
                let at = row * ROW_PAIRS + pair;
                let shown = (&mut self.triangles[at], &mut self.depths[at]);
                write(shown, outside, plane.limited(depths), triangle.number);
                (a, b, c) = (edges[0].of_next_pair(a), edges[1].of_next_pair(b), edges[2].of_next_pair(c));
                depths = raised(depths, plane.pair);
            }
        }
        true
    }
}

/// The depth of a triangle's plane.
struct DepthPlane {
    /// Depth at the top left corner of the first pair of a part.
    base: f64,
    /// Change of the depth per row.
    row: f64,
    /// Change of the depth per pair.
    pair: f32,
    /// Differences between the depths of a pair's samples and the depth at its top left corner.
    offsets: Floats,
    /// Bits of the smallest and of the largest depth of the triangle, at most [`HIDDEN`].
    range: [i32; 2],
}

impl DepthPlane {
    /// `corner` is the triangle's first corner in subpixels.
    #[inline(always)]
    fn new(triangle: &ScreenTriangle, corner: [i32; 2], part: &Part) -> Self {
        let [x, y] = part.origin().map(|origin| f64::from(origin * UNIT));
        let [right, down] = triangle.slope;
        let base = f64::from(triangle.depth) + right * (x - f64::from(corner[0])) + down * (y - f64::from(corner[1]));
        let [unit_right, unit_down] = triangle.slope.map(|slope| (slope * f64::from(UNIT)) as f32);
        Self {
            base,
            row: down * f64::from(SUBPIXELS),
            pair: (right * f64::from(2 * SUBPIXELS)) as f32,
            offsets: lanes(|lane| unit_right * X[lane] as f32 + unit_down * Y[lane] as f32),
            range: triangle.depth_range.map(|depth| depth.to_bits().cast_signed().min(HIDDEN)),
        }
    }

    /// Returns the depths of the first pair of a row. `row` is relative to the first row.
    #[inline(always)]
    fn row(&self, row: usize) -> Floats {
        raised(self.offsets, (self.base + self.row * f64::from(row as u32)) as f32)
    }

    /// Limits depths to those of the triangle, which excludes rounding errors of triangles that are seen almost from the
    /// side. Returns the bits, which are [`HIDDEN`] beyond the far plane.
    #[inline(always)]
    fn limited(&self, depths: Floats) -> Ints {
        let [near, far] = self.range;
        // As integers, negative numbers are less than all bits of positive ones.
        lanes(|lane| depths[lane].to_bits().cast_signed().max(near).min(far))
    }
}

/// A triangle in a tile.
struct TileTriangle {
    part: Part,
    edges: [Edge; 3],
    plane: DepthPlane,
    number: u32,
}

impl TileTriangle {
    /// Draws a triangle whose edges fit 32 bits.
    #[inline(always)]
    fn draw(&self, samples: &mut Samples) {
        let (first_pair, end_pair) = (self.part.pairs[0], self.part.pairs[1] + 1);
        let [first_row, last_row] = self.part.rows;
        let [offsets_a, offsets_b, offsets_c] = self.edges.map(|edge| edge.offsets());
        let (right, down) = (self.edges.map(|edge| edge.right()), self.edges.map(|edge| edge.down()));
        // The values at the top left corner of each row. The compiler would keep arrays in other orders and convert them.
        let [mut row_a, mut row_b, mut row_c] = self.edges.map(|edge| edge.at(self.part.origin()));
        for row in first_row..=last_row {
            let (mut a, mut b, mut c) = (added(offsets_a, row_a), added(offsets_b, row_b), added(offsets_c, row_c));
            let mut depths = self.plane.row(row - first_row);
            let pairs = row * ROW_PAIRS + first_pair..row * ROW_PAIRS + end_pair;
            let triangles = &mut samples.triangles[pairs.clone()];
            // Without branches: whether a pair has samples inside cannot be predicted.
            for (shown, shown_depths) in triangles.iter_mut().zip(&mut samples.depths[pairs]) {
                let outside = lanes(|lane| a[lane] | b[lane] | c[lane]);
                write((shown, shown_depths), outside, self.plane.limited(depths), self.number);
                (a, b, c) = (added(a, right[0]), added(b, right[1]), added(c, right[2]));
                depths = raised(depths, self.plane.pair);
            }
            row_a = row_a.wrapping_add(down[0]);
            row_b = row_b.wrapping_add(down[1]);
            row_c = row_c.wrapping_add(down[2]);
        }
    }
}

/// Writes a triangle to the samples of a pair that are not outside (where the sign bit of `outside` is not set) and do
/// not show a nearer triangle.
#[inline(always)]
fn write((shown, shown_depths): (&mut [u32; LANES], &mut Ints), outside: Ints, depths: Ints, number: u32) {
    let depths = lanes(|lane| depths[lane].max((outside[lane] >> 31) & HIDDEN));
    // All bits are set where the sample keeps what it shows. Differences of depths have at least two equal upper bits. If
    // all bits were copies of the sign, the compiler would write with a masked store, which takes far longer on many
    // processors.
    let kept = lanes(|lane| ((shown_depths[lane] - depths[lane]) >> 30).cast_unsigned());
    *shown = lanes(|lane| (shown[lane] & kept[lane]) | (number & !kept[lane]));
    // A minimum is faster than writing only some of the samples.
    *shown_depths = lanes(|lane| shown_depths[lane].min(depths[lane]));
}
