//! Places at which a triangle carries light: its corners, or a regular lattice over it (Yuksel, Keyser and House 2010,
//! "Mesh Colors"). A lattice needs no texture coordinates, and neighbours share the places on their common edge.

/// A triangle whose sides are divided into 2^level parts.
///
/// The point (i, j) lies at the barycentric weights `(1 − (i + j) / n, i / n, j / n)` with `n = 2^level` and
/// `i + j ≤ n`. Points are stored by rows of equal j. `lib/gathered_light.wgsl` reads them in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lattice {
    /// Times that the sides are halved.
    pub level: u32,
}

/// A point of a lattice.
pub(crate) type Point = (u32, u32);

impl Lattice {
    /// Times that sides are halved, at most.
    pub const FINEST: u32 = 8;

    /// Parts of a side.
    pub(crate) const fn parts(self) -> u32 {
        1 << self.level
    }

    /// Number of points.
    pub const fn points_in_all(self) -> usize {
        let n = self.parts() as usize;
        (n + 1) * (n + 2) / 2
    }

    /// Place of a point in the list of all.
    pub(crate) const fn index(self, (i, j): Point) -> usize {
        let (n, i, j) = (self.parts() as usize, i as usize, j as usize);
        j * (2 * n + 3 - j) / 2 + i
    }

    /// All points, in the order in which they are stored.
    pub(crate) fn points(self) -> impl Iterator<Item = Point> {
        let n = self.parts();
        (0..=n).flat_map(move |j| (0..=n - j).map(move |i| (i, j)))
    }

    /// The triangles between its points.
    pub(crate) fn triangles(self) -> impl Iterator<Item = [Point; 3]> {
        let n = self.parts();
        self.points().flat_map(move |(i, j)| {
            let up = (i + j < n).then_some([(i, j), (i + 1, j), (i, j + 1)]);
            let down = (i + j + 1 < n).then_some([(i + 1, j), (i + 1, j + 1), (i, j + 1)]);
            up.into_iter().chain(down)
        })
    }

    /// Barycentric weights of a point.
    pub(crate) fn weights(self, (i, j): Point) -> [f32; 3] {
        let n = self.parts();
        [n - i - j, i, j].map(|k| k as f32 / n as f32)
    }

    /// The three points around a place, with their shares.
    pub(crate) fn around(self, u: f32, v: f32) -> [(Point, f32); 3] {
        let n = self.parts();
        let most = n as f32;
        let (x, y) = ((u * most).clamp(0.0, most), (v * most).clamp(0.0, most));
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

    /// The two points in whose middle a point lies that the next coarser lattice does not have.
    pub(crate) const fn parents((i, j): Point, step: u32) -> [Point; 2] {
        match (i / step % 2, j / step % 2) {
            (0, _) => [(i, j - step), (i, j + step)],
            (_, 0) => [(i - step, j), (i + step, j)],
            _ => [(i - step, j + step), (i + step, j - step)],
        }
    }

    /// Points next to one.
    pub(crate) fn neighbours(self, (i, j): Point) -> impl Iterator<Item = Point> {
        let n = i64::from(self.parts());
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
            assert_eq!(indices, (0..lattice.points_in_all()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_linear_is_found_again_anywhere() {
        let lattice = Lattice { level: 3 };
        for k in 0..500 {
            let (a, b) = ((k as f32 * 0.618_034).fract(), (k as f32 * 0.414_214).fract());
            let (u, v) = if a + b > 1.0 { (1.0 - a, 1.0 - b) } else { (a, b) };
            let around = lattice.around(u, v);
            let value = |part: usize| around.iter().map(|(p, w)| lattice.weights(*p)[part] * w).sum::<f32>();
            assert!((value(1) - u).abs() < 1e-5 && (value(2) - v).abs() < 1e-5, "{u} {v} {around:?}");
            assert!(around.iter().all(|(_, w)| *w >= -1e-5), "{around:?}");
        }
    }

    #[test]
    fn a_point_lies_in_the_middle_of_its_parents() {
        let lattice = Lattice { level: 4 };
        for (i, j) in lattice.points() {
            let Some(step) = [1, 2, 4, 8].into_iter().find(|s| i / s % 2 == 1 || j / s % 2 == 1) else { continue };
            let [a, b] = Lattice::parents((i, j), step);
            assert_eq!((a.0 + b.0, a.1 + b.1), (2 * i, 2 * j));
            assert!([a, b].iter().all(|(i, j)| i + j <= 16));
        }
    }
}
