//! Triangulates polygons.

use earcut::Earcut;
use glam::Vec3;

use super::obj::Corner;

/// Maximum number of corners for ear clipping, which takes quadratic time. Polygons with more corners become triangle
/// fans.
const MAX_CLIPPED_CORNERS: usize = 2000;
/// Maximum sum of the squared numbers of corners of all polygons in a file. When it is exceeded, further polygons
/// become triangle fans. It corresponds to a few seconds for the slowest shapes.
const MAX_CLIPPING_STEPS: u64 = 100_000_000;

/// Triangulates polygons, and reuses its buffers for the next polygon.
#[derive(Default)]
pub(super) struct Triangulator {
    /// Number of polygons that became triangle fans because ear clipping would take too long.
    pub(super) fanned_polygons: usize,
    steps: u64,
    earcut: Earcut<f32>,
    indices: Vec<usize>,
}

impl Triangulator {
    /// Triangulates a polygon, which may be concave, and calls `each` with each triangle as indices into `face`. The
    /// number of triangles is the number of corners minus two.
    pub(super) fn triangulate(&mut self, positions: &[[f32; 3]], face: &[Corner], mut each: impl FnMut([usize; 3])) {
        let point = |i: usize| Vec3::from(positions[face[i].position as usize]);
        match face.len() {
            0..3 => {}
            3 => each([0, 1, 2]),
            4 => quad([0, 1, 2, 3].map(point)).into_iter().for_each(each),
            count => {
                self.steps = self.steps.saturating_add((count * count) as u64);
                let fan = |each: &mut dyn FnMut([usize; 3])| (1..count - 1).for_each(|i| each([0, i, i + 1]));
                if count > MAX_CLIPPED_CORNERS || self.steps > MAX_CLIPPING_STEPS {
                    self.fanned_polygons += 1;
                    return fan(&mut each);
                }
                let points: Vec<Vec3> = (0..count).map(point).collect();
                let normal = newell(&points);
                let projected = points.iter().map(|p| project(*p, normal));
                self.indices.clear();
                self.earcut.earcut(projected, &[], &mut self.indices);
                let triangles = self.indices.as_chunks::<3>().0;
                if triangles.len() + 2 != count {
                    return fan(&mut each);
                }
                for [a, b, c] in triangles {
                    let is_flipped = (points[*b] - points[*a]).cross(points[*c] - points[*a]).dot(normal) < 0.0;
                    each(if is_flipped { [*a, *c, *b] } else { [*a, *b, *c] });
                }
            }
        }
    }
}

/// Splits a quadrilateral into two triangles. The diagonal starts at the first corner, or at the second corner if the
/// first diagonal would lie outside the polygon.
fn quad(points: [Vec3; 4]) -> [[usize; 3]; 2] {
    let [a, b, c, d] = points;
    let normal = newell(&points);
    let faces_up = |p: Vec3, q: Vec3, r: Vec3| (q - p).cross(r - p).dot(normal) >= 0.0;
    let first = faces_up(a, b, c) && faces_up(a, c, d);
    let second = faces_up(a, b, d) && faces_up(b, c, d);
    if first || !second { [[0, 1, 2], [0, 2, 3]] } else { [[0, 1, 3], [1, 2, 3]] }
}

/// Returns the normal of a polygon by Newell's method. The length of the normal is twice the area of the polygon.
fn newell(points: &[Vec3]) -> Vec3 {
    let origin = points.first().copied().unwrap_or_default();
    let edges = points.iter().zip(points.iter().cycle().skip(1));
    edges.map(|(p, q)| (*p - origin).cross(*q - origin)).sum()
}

/// Projects a point along the coordinate axis that gives the polygon the largest projected area.
fn project(p: Vec3, normal: Vec3) -> [f32; 2] {
    let a = normal.abs();
    if a.x >= a.y && a.x >= a.z {
        [p.y, p.z]
    } else if a.y >= a.z {
        [p.z, p.x]
    } else {
        [p.x, p.y]
    }
}
