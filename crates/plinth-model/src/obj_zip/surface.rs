//! Faces become triangles with normals.

use std::collections::HashMap;

use earcut::Earcut;
use glam::Vec3;

use super::obj::{Corner, Obj};

/// Faces that meet at more than this angle keep a hard edge: its cosine.
const CREASE: f32 = 0.6;
/// Larger polygons are fanned: cutting ears takes time with the square of their corners.
const MAX_EARS: usize = 2000;

/// One corner of a triangle, complete.
#[derive(Clone, Copy)]
pub(super) struct Vertex {
    pub(super) corner: Corner,
    pub(super) normal: Vec3,
}

/// Splits a polygon, concave ones too, into triangles of indices into it.
pub(super) fn triangulate(obj: &Obj, face: &[Corner]) -> Vec<[usize; 3]> {
    let fan = || (1..face.len() - 1).map(|i| [0, i, i + 1]).collect();
    if face.len() == 3 || face.len() > MAX_EARS {
        return fan();
    }
    let points: Vec<Vec3> = face.iter().map(|c| Vec3::from(obj.positions[c.position as usize])).collect();
    // Newell's normal, then the plane in which the polygon is largest.
    let normal: Vec3 = (0..points.len()).map(|i| points[i].cross(points[(i + 1) % points.len()])).sum();
    let a = normal.abs();
    let flat: Vec<[f32; 2]> = points
        .iter()
        .map(|p| {
            if a.x >= a.y && a.x >= a.z {
                [p.y, p.z]
            } else if a.y >= a.z {
                [p.z, p.x]
            } else {
                [p.x, p.y]
            }
        })
        .collect();
    let mut indices: Vec<usize> = Vec::new();
    Earcut::new().earcut(flat, &[], &mut indices);
    let triangles = indices.as_chunks::<3>().0;
    if triangles.len() + 2 != face.len() {
        return fan();
    }
    let turned = |t: &[usize; 3]| (points[t[1]] - points[t[0]]).cross(points[t[2]] - points[t[0]]).dot(normal) < 0.0;
    triangles.iter().map(|t| if turned(t) { [t[0], t[2], t[1]] } else { *t }).collect()
}

/// Normals by position for faces that have none: those of neighbours that turn little are averaged by area.
pub(super) struct Smooth {
    around: HashMap<u32, Vec<Vec3>>,
}

impl Smooth {
    /// Gathers the area-weighted normals of all triangles around each position.
    pub(super) fn of(obj: &Obj, triangles: &[[Corner; 3]]) -> Self {
        let mut around: HashMap<u32, Vec<Vec3>> = HashMap::new();
        for t in triangles {
            let normal = area_normal(obj, t);
            for c in t {
                around.entry(c.position).or_default().push(normal);
            }
        }
        Self { around }
    }

    /// The normal of a corner of a triangle.
    pub(super) fn normal(&self, obj: &Obj, triangle: &[Corner; 3], corner: Corner) -> Vec3 {
        if let Some(n) = corner.normal {
            let given = Vec3::from(obj.normals[n as usize]).normalize_or_zero();
            if given != Vec3::ZERO {
                return given;
            }
        }
        let own = area_normal(obj, triangle).normalize_or_zero();
        let neighbours = self.around.get(&corner.position).map_or(&[][..], Vec::as_slice);
        // Many faces at one point: averaging all of them for each would take time with their square.
        if neighbours.len() > 64 {
            return if own == Vec3::ZERO { Vec3::Y } else { own };
        }
        let sum: Vec3 = neighbours.iter().filter(|n| n.normalize_or_zero().dot(own) >= CREASE).sum();
        sum.normalize_or(if own == Vec3::ZERO { Vec3::Y } else { own })
    }
}

fn area_normal(obj: &Obj, t: &[Corner; 3]) -> Vec3 {
    let [a, b, c] = t.map(|c| Vec3::from(obj.positions[c.position as usize]));
    let n = (b - a).cross(c - a);
    if n.is_finite() { n } else { Vec3::ZERO }
}
