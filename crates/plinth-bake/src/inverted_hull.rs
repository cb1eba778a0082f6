//! Detects inverted hulls: single-sided meshes whose front faces point inwards.
//!
//! Such meshes are used for outlines of stylised models (the far side of the hull is visible around the model), and for
//! rooms whose near walls are invisible from outside. From outside, the near side of an inverted hull is invisible, so
//! light passes through the hull, too.
//!
//! The inner wall of a cup, if it is a mesh of its own, has the same shape. It is a lining: the outer wall is close behind it.

use glam::Vec3;

use crate::bvh::{Bvh, Hit};
use crate::types::BakeMesh;

/// A mesh counts as closed if the length of the sum of its area vectors is less than this fraction of its area. The
/// area vectors of a closed mesh add up to zero.
const MAX_OPENNESS: f32 = 0.25;
/// Minimum of |volume| / area^1.5. A mesh with a smaller value counts as flat. For comparison, the value of a sphere is
/// 0.094.
const MIN_VOLUME_RATIO: f32 = 0.002;
/// Maximum number of triangles of a mesh from which rays are cast to find out whether it is a lining.
const MAX_TESTED: usize = 256;
/// A point has an outer wall if the wall behind it is nearer than the surface in front of it by at least this factor.
const MIN_NEARNESS: f32 = 4.0;

/// Returns whether the front faces of a single-sided mesh point into the volume that the mesh encloses.
pub(crate) fn is_inside_out(mesh: &BakeMesh) -> bool {
    if mesh.double_sided || mesh.indices.is_empty() {
        return false;
    }
    let center = mesh.positions.iter().sum::<Vec3>() / mesh.positions.len() as f32;
    let (mut volume, mut area, mut area_vector_sum) = (0.0_f64, 0.0_f64, Vec3::ZERO);
    for t in 0..mesh.indices.len() / 3 {
        let [a, b, c] = mesh.triangle(t).map(|p| p - center);
        let doubled_area_vector = (b - a).cross(c - a);
        volume += f64::from(a.dot(b.cross(c))) / 6.0;
        area += 0.5 * f64::from(doubled_area_vector.length());
        area_vector_sum += 0.5 * doubled_area_vector;
    }
    volume < -f64::from(MIN_VOLUME_RATIO) * area.powf(1.5)
        && f64::from(area_vector_sum.length()) < f64::from(MAX_OPENNESS) * area
}

/// Returns whether most of an inverted hull is the lining of an outer wall. `bvh` has the triangles of `meshes` without inverted
/// hulls. The back faces of a wall point at its lining. Behind the outline of a body is nothing, or another body's front; if
/// the outline is inside a larger body, such as a driver's in a car, its own body is nearer.
pub(crate) fn is_lining(hull: &BakeMesh, meshes: &[BakeMesh], bvh: &Bvh) -> bool {
    let (mut tested, mut lined) = (0.0, 0.0);
    let count = hull.indices.len() / 3;
    for t in (0..count).step_by(count.div_ceil(MAX_TESTED).max(1)) {
        let [a, b, c] = hull.triangle(t);
        let doubled_area_vector = (b - a).cross(c - a);
        let Some(inwards) = doubled_area_vector.try_normalize() else { continue };
        let hit_from_middle = |direction| bvh.intersect((a + b + c) / 3.0, direction, 0.0, f32::INFINITY);
        let is_back = |hit: &Hit| {
            let mesh = &meshes[hit.id.mesh as usize];
            let [a, b, c] = mesh.triangle(hit.id.triangle as usize);
            mesh.double_sided || (b - a).cross(c - a).dot(inwards) < 0.0
        };
        let behind = hit_from_middle(-inwards).filter(is_back).map_or(f32::INFINITY, |hit| hit.t);
        let ahead = hit_from_middle(inwards).map_or(f32::INFINITY, |hit| hit.t);
        tested += doubled_area_vector.length();
        if behind * MIN_NEARNESS < ahead {
            lined += doubled_area_vector.length();
        }
    }
    lined > 0.5 * tested
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a box that has only the given sides. The front faces of these sides point outwards.
    fn box_with_sides(sides: &[usize]) -> BakeMesh {
        let positions: Vec<Vec3> =
            (0..8_u8).map(|i| Vec3::new(f32::from(i & 1), f32::from(i >> 1 & 1), f32::from(i >> 2 & 1))).collect();
        let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let indices = sides.iter().map(|k| quads[*k]).flat_map(|[a, b, c, d]| [a, b, c, a, c, d]).collect();
        BakeMesh { normals: vec![Vec3::Y; 8], positions, indices, ..BakeMesh::default() }
    }

    fn flipped(mut mesh: BakeMesh) -> BakeMesh {
        mesh.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
        mesh
    }

    #[test]
    fn closed_and_open_boxes_are_inside_out_only_when_flipped() {
        for faces in [&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 4]] {
            assert!(!is_inside_out(&box_with_sides(faces)));
            assert!(is_inside_out(&flipped(box_with_sides(faces))));
        }
    }

    #[test]
    fn corners_sheets_and_double_sided_meshes_are_not_inside_out() {
        assert!(!is_inside_out(&flipped(box_with_sides(&[0, 2, 4]))));
        assert!(!is_inside_out(&flipped(box_with_sides(&[2]))) && !is_inside_out(&box_with_sides(&[2])));
        let double_sided = BakeMesh { double_sided: true, ..flipped(box_with_sides(&[0, 1, 2, 3, 4, 5])) };
        assert!(!is_inside_out(&double_sided));
    }
}
