//! Shells that are turned inside out: only their inner side is seen. Stylised models are drawn with such a shell around
//! each body, of which the camera sees what is behind the body, as an outline; rooms are drawn so that the camera looks
//! in from any side. From behind they are not there, for the camera and for light.

use glam::Vec3;

use crate::types::BakeMesh;

/// Share of its area by which the oriented area of a shell may differ from zero: a closed one has none.
const OPEN: f32 = 0.25;
/// Volume, in relation to the area to the power of 3/2, from which on a shell is not flat; a ball has 0.094.
const FLAT: f32 = 0.002;

/// Whether the fronts of a single-sided mesh look at the space that it encloses.
pub(crate) fn is_inside_out(mesh: &BakeMesh) -> bool {
    if mesh.double_sided || mesh.indices.is_empty() {
        return false;
    }
    let middle = mesh.positions.iter().sum::<Vec3>() / mesh.positions.len() as f32;
    let (mut volume, mut area, mut oriented) = (0.0_f64, 0.0_f64, Vec3::ZERO);
    for t in 0..mesh.indices.len() / 3 {
        let [a, b, c] = mesh.triangle(t).map(|p| p - middle);
        let twice = (b - a).cross(c - a);
        volume += f64::from(a.dot(b.cross(c))) / 6.0;
        area += 0.5 * f64::from(twice.length());
        oriented += 0.5 * twice;
    }
    volume < -f64::from(FLAT) * area.powf(1.5) && f64::from(oriented.length()) < f64::from(OPEN) * area
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sides of a box that are given, their fronts outside.
    fn sides(which: &[usize]) -> BakeMesh {
        let positions: Vec<Vec3> =
            (0..8_u8).map(|i| Vec3::new(f32::from(i & 1), f32::from(i >> 1 & 1), f32::from(i >> 2 & 1))).collect();
        let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let indices = which.iter().map(|k| quads[*k]).flat_map(|[a, b, c, d]| [a, b, c, a, c, d]).collect();
        BakeMesh { normals: vec![Vec3::Y; 8], positions, indices, ..BakeMesh::default() }
    }

    fn turned(mut mesh: BakeMesh) -> BakeMesh {
        mesh.indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
        mesh
    }

    #[test]
    fn a_box_and_a_room_that_opens_to_the_front_are_told_from_their_insides() {
        for faces in [&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 4]] {
            assert!(!is_inside_out(&sides(faces)));
            assert!(is_inside_out(&turned(sides(faces))));
        }
    }

    #[test]
    fn a_corner_a_sheet_and_what_has_two_sides_are_no_shells() {
        assert!(!is_inside_out(&turned(sides(&[0, 2, 4]))));
        assert!(!is_inside_out(&turned(sides(&[2]))) && !is_inside_out(&sides(&[2])));
        let both = BakeMesh { double_sided: true, ..turned(sides(&[0, 1, 2, 3, 4, 5])) };
        assert!(!is_inside_out(&both));
    }
}
