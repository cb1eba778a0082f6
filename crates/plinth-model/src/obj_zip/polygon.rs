//! Triangulates polygons.

use earcut::Earcut;
use glam::Vec3;

use super::obj::Corner;

/// Maximum number of corners of a polygon that is triangulated by ear clipping, which takes quadratic time. A polygon
/// with more corners becomes a triangle fan.
const MAX_CLIPPED_CORNERS: usize = 2000;
/// Maximum sum of the squared numbers of corners of all polygons in a file that have at most [`MAX_CLIPPED_CORNERS`]
/// corners. It corresponds to a few seconds for the slowest shapes. When it is exceeded, all further polygons become
/// triangle fans.
const MAX_CLIPPING_STEPS: u64 = 100_000_000;

/// Triangulates polygons. Its buffers are reused for each polygon.
#[derive(Default)]
pub(super) struct Triangulator {
    /// Number of polygons that became triangle fans, because ear clipping would take too long or did not cover the
    /// polygon.
    pub(super) fanned_polygons: usize,
    steps: u64,
    earcut: Earcut<f32>,
    /// Result of ear clipping: indices into `corners`.
    indices: Vec<usize>,
    /// Indices into the face of the corners that are not at the position of the previous corner.
    corners: Vec<usize>,
}

impl Triangulator {
    /// Triangulates a polygon, which may be concave. Calls `each` with the indices into `face` of each triangle. If
    /// there are more than four corners, a corner at the position of the previous corner is left out. The number of
    /// triangles is at most the number of corners minus two.
    pub(super) fn triangulate(&mut self, positions: &[[f32; 3]], face: &[Corner], mut each: impl FnMut([usize; 3])) {
        let point = |i: usize| Vec3::from(positions[face[i].position as usize]);
        match face.len() {
            0..3 => {}
            3 => each([0, 1, 2]),
            4 => quad([0, 1, 2, 3].map(point)).into_iter().for_each(each),
            count => {
                let is_clipped = self.may_clip(count);
                self.corners.clear();
                self.corners.extend((0..count).filter(|i| point(*i) != point((i + count - 1) % count)));
                let corners = &self.corners;
                let points: Vec<Vec3> = corners.iter().map(|i| point(*i)).collect();
                if is_clipped && clip_ears(&mut self.earcut, &points, &mut self.indices) {
                    for [a, b, c] in self.indices.as_chunks::<3>().0 {
                        each([corners[*a], corners[*b], corners[*c]]);
                    }
                } else {
                    self.fanned_polygons += 1;
                    for pair in corners.get(1..).unwrap_or_default().windows(2) {
                        each([corners[0], pair[0], pair[1]]);
                    }
                }
            }
        }
    }

    /// Returns whether a polygon with `count` corners is small enough for ear clipping. If it is, counts its steps.
    fn may_clip(&mut self, count: usize) -> bool {
        if count > MAX_CLIPPED_CORNERS {
            return false;
        }
        self.steps = self.steps.saturating_add((count * count) as u64);
        self.steps <= MAX_CLIPPING_STEPS
    }
}

/// Triangulates a polygon by ear clipping. All triangles face the polygon's front. Returns whether the triangles cover
/// the polygon, which is not the case if the polygon crosses itself.
fn clip_ears(earcut: &mut Earcut<f32>, points: &[Vec3], indices: &mut Vec<usize>) -> bool {
    let normal = newell(points);
    indices.clear();
    earcut.earcut(points.iter().map(|p| project(*p, normal)), &[], indices);
    let mut covered = 0.0;
    for triangle in indices.as_chunks_mut::<3>().0 {
        let [a, b, c] = triangle.map(|i| points[i]);
        let doubled_area = (b - a).cross(c - a).dot(normal.normalize_or_zero());
        covered += doubled_area.abs();
        if doubled_area < 0.0 {
            triangle.swap(1, 2);
        }
    }
    indices.len() == 3 * points.len().saturating_sub(2) || (covered - normal.length()).abs() <= 1e-3 * covered
}

/// Splits a quadrilateral into two triangles. The diagonal starts at the first corner. If this diagonal would lie
/// outside the polygon, the diagonal starts at the second corner instead.
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

/// Projects a point along a coordinate axis: the axis along which the polygon has the largest projected area.
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
