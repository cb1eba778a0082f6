//! Polygons become triangles.

use earcut::Earcut;
use glam::Vec3;

use super::obj::Corner;

/// Larger polygons are fanned: cutting ears takes time with the square of their corners.
const MAX_EARS: usize = 2000;
/// Sum of those squares over one file, after which polygons are fanned: a few seconds for the worst shapes.
const MAX_EAR_STEPS: u64 = 100_000_000;

/// Cuts polygons one after the other.
#[derive(Default)]
pub(super) struct Cutter {
    /// Polygons that were not looked at for notches.
    pub(super) fanned: usize,
    steps: u64,
    earcut: Earcut<f32>,
    indices: Vec<usize>,
}

impl Cutter {
    /// Gives the triangles of a polygon, concave ones too, as indices into it: two fewer than it has corners.
    pub(super) fn cut(&mut self, positions: &[[f32; 3]], face: &[Corner], mut each: impl FnMut([usize; 3])) {
        let point = |i: usize| Vec3::from(positions[face[i].position as usize]);
        match face.len() {
            0..3 => {}
            3 => each([0, 1, 2]),
            4 => quad([0, 1, 2, 3].map(point)).into_iter().for_each(each),
            count => {
                self.steps = self.steps.saturating_add((count * count) as u64);
                let fan = |each: &mut dyn FnMut([usize; 3])| (1..count - 1).for_each(|i| each([0, i, i + 1]));
                if count > MAX_EARS || self.steps > MAX_EAR_STEPS {
                    self.fanned += 1;
                    return fan(&mut each);
                }
                let points: Vec<Vec3> = (0..count).map(point).collect();
                let normal = newell(&points);
                let flat = points.iter().map(|p| flattened(*p, normal));
                self.indices.clear();
                self.earcut.earcut(flat, &[], &mut self.indices);
                let triangles = self.indices.as_chunks::<3>().0;
                if triangles.len() + 2 != count {
                    return fan(&mut each);
                }
                for [a, b, c] in triangles {
                    let turned = (points[*b] - points[*a]).cross(points[*c] - points[*a]).dot(normal) < 0.0;
                    each(if turned { [*a, *c, *b] } else { [*a, *b, *c] });
                }
            }
        }
    }
}

/// Cut from the first corner, or from the second where that would leave the polygon.
fn quad(points: [Vec3; 4]) -> [[usize; 3]; 2] {
    let [a, b, c, d] = points;
    let normal = newell(&points);
    let faces = |p: Vec3, q: Vec3, r: Vec3| (q - p).cross(r - p).dot(normal) >= 0.0;
    let first = faces(a, b, c) && faces(a, c, d);
    let second = faces(a, b, d) && faces(b, c, d);
    if first || !second { [[0, 1, 2], [0, 2, 3]] } else { [[0, 1, 3], [1, 2, 3]] }
}

/// Newell's normal, its length twice the area.
fn newell(points: &[Vec3]) -> Vec3 {
    let origin = points.first().copied().unwrap_or_default();
    let edges = points.iter().zip(points.iter().cycle().skip(1));
    edges.map(|(p, q)| (*p - origin).cross(*q - origin)).sum()
}

/// Seen along the axis from which the polygon is largest.
fn flattened(p: Vec3, normal: Vec3) -> [f32; 2] {
    let a = normal.abs();
    if a.x >= a.y && a.x >= a.z {
        [p.y, p.z]
    } else if a.y >= a.z {
        [p.z, p.x]
    } else {
        [p.x, p.y]
    }
}
