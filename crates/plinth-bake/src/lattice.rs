//! Regular lattices of points on triangles, at which light is stored (Yuksel, Keyser and House 2010, "Mesh Colors"). A
//! lattice of level 0 consists of the corners. Lattices need no texture coordinates, and neighbouring triangles share
//! the points on their common edge.

/// A regular lattice on a triangle. Each edge of the triangle is divided into 2^level segments.
///
/// The point (i, j) has the barycentric weights `(1 − (i + j) / n, i / n, j / n)`, with `n = 2^level` and `i + j ≤ n`.
/// The points are stored in rows of equal j. The shader `lib/gathered_light.wgsl` reads them in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lattice {
    /// Number of times that each edge is halved.
    pub level: u32,
}

/// Coordinates (i, j) of a point in a lattice.
pub(crate) type LatticePoint = (u32, u32);

impl Lattice {
    /// Maximum level of a lattice.
    pub const MAX_LEVEL: u32 = 8;

    /// Returns the number of segments per edge.
    pub(crate) const fn segments(self) -> u32 {
        1 << self.level
    }

    /// Returns the number of points of the lattice.
    pub const fn point_count(self) -> usize {
        let n = self.segments() as usize;
        (n + 1) * (n + 2) / 2
    }

    /// Returns the index at which a point is stored.
    pub(crate) const fn index(self, (i, j): LatticePoint) -> usize {
        let (n, i, j) = (self.segments() as usize, i as usize, j as usize);
        j * (2 * n + 3 - j) / 2 + i
    }

    /// Returns all points, in the order in which they are stored.
    pub(crate) fn points(self) -> impl Iterator<Item = LatticePoint> {
        let n = self.segments();
        (0..=n).flat_map(move |j| (0..=n - j).map(move |i| (i, j)))
    }

    /// Returns the sub-triangles between the points.
    pub(crate) fn triangles(self) -> impl Iterator<Item = [LatticePoint; 3]> {
        let n = self.segments();
        self.points().flat_map(move |(i, j)| {
            let up = (i + j < n).then_some([(i, j), (i + 1, j), (i, j + 1)]);
            let down = (i + j + 1 < n).then_some([(i + 1, j), (i + 1, j + 1), (i, j + 1)]);
            up.into_iter().chain(down)
        })
    }

    /// Returns the barycentric weights of a point.
    pub(crate) fn weights(self, (i, j): LatticePoint) -> [f32; 3] {
        let n = self.segments();
        [n - i - j, i, j].map(|k| k as f32 / n as f32)
    }

    /// Returns the three lattice points around the barycentric position (u, v), with the weights for interpolating
    /// linearly between them.
    pub(crate) fn interpolation_weights(self, u: f32, v: f32) -> [(LatticePoint, f32); 3] {
        let n = self.segments();
        let max = n as f32;
        let (x, y) = ((u * max).clamp(0.0, max), (v * max).clamp(0.0, max));
        let j = (y as u32).min(n - 1);
        let i = (x as u32).min(n - 1 - j);
        let (fx, fy) = (x - i as f32, y - j as f32);
        if fx + fy <= 1.0 || i + j + 2 > n {
            let (fx, fy) = (fx.min(1.0), fy.min(1.0 - fx.min(1.0)));
            [((i, j), 1.0 - fx - fy), ((i + 1, j), fx), ((i, j + 1), fy)]
        } else {
            [((i + 1, j + 1), fx + fy - 1.0), ((i, j + 1), 1.0 - fx), ((i + 1, j), 1.0 - fy)]
        }
    }

    /// Returns the parents of a point: the two points of the next coarser lattice that are `step` away from the point,
    /// in opposite directions. The point itself is not part of the coarser lattice.
    pub(crate) const fn parents((i, j): LatticePoint, step: u32) -> [LatticePoint; 2] {
        match (i / step % 2, j / step % 2) {
            (0, _) => [(i, j - step), (i, j + step)],
            (_, 0) => [(i - step, j), (i + step, j)],
            _ => [(i - step, j + step), (i + step, j - step)],
        }
    }

    /// Returns the neighbours of a point. There are at most six.
    pub(crate) fn neighbours(self, (i, j): LatticePoint) -> impl Iterator<Item = LatticePoint> {
        let n = i64::from(self.segments());
        [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)].into_iter().filter_map(move |(di, dj)| {
            let (i, j) = (i64::from(i) + di, i64::from(j) + dj);
            (i >= 0 && j >= 0 && i + j <= n).then_some((i as u32, j as u32))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_stored_in_order_without_gaps() {
        for level in 0..5 {
            let lattice = Lattice { level };
            let indices: Vec<usize> = lattice.points().map(|p| lattice.index(p)).collect();
            assert_eq!(indices, (0..lattice.point_count()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn linear_functions_are_interpolated_exactly() {
        let lattice = Lattice { level: 3 };
        for k in 0..500 {
            let (a, b) = ((k as f32 * 0.618_034).fract(), (k as f32 * 0.414_214).fract());
            let (u, v) = if a + b > 1.0 { (1.0 - a, 1.0 - b) } else { (a, b) };
            let around = lattice.interpolation_weights(u, v);
            let value = |corner: usize| around.iter().map(|(p, w)| lattice.weights(*p)[corner] * w).sum::<f32>();
            assert!((value(1) - u).abs() < 1e-5 && (value(2) - v).abs() < 1e-5, "{u} {v} {around:?}");
            assert!(around.iter().all(|(_, w)| *w >= -1e-5), "{around:?}");
        }
    }

    #[test]
    fn a_point_is_the_midpoint_of_its_parents() {
        let lattice = Lattice { level: 4 };
        for (i, j) in lattice.points() {
            let Some(step) = [1, 2, 4, 8].into_iter().find(|s| i / s % 2 == 1 || j / s % 2 == 1) else { continue };
            let [a, b] = Lattice::parents((i, j), step);
            assert_eq!((a.0 + b.0, a.1 + b.1), (2 * i, 2 * j));
            assert!([a, b].iter().all(|(i, j)| i + j <= 16));
        }
    }
}
