//! Determines whether triangles enclose a body.

use glam::Vec3;
use rayon::prelude::*;

/// Returns whether the triangles run along each edge equally often in both directions. Vertices at the same position
/// count as one vertex. If this is true, the surface encloses a body, and the inside of the body is visible through its
/// front.
pub(crate) fn is_closed(triangles: &[[u32; 3]], positions: &[Vec3]) -> bool {
    let ids = position_ids(positions);
    // For each edge, its two vertices in ascending order, and whether the triangle runs from the first to the second.
    let edges_of = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|i| ids[i as usize]);
        let is_thin = a == b || b == c || c == a;
        let edges = [(a, b), (b, c), (c, a)].map(|(from, to)| (from.min(to), from.max(to), from < to));
        edges.into_iter().filter(move |_| !is_thin)
    };
    let mut edges: Vec<(u32, u32, bool)> = triangles.par_iter().flat_map_iter(edges_of).collect();
    edges.par_sort_unstable();
    let is_balanced = |uses: &[(u32, u32, bool)]| 2 * uses.iter().filter(|edge| edge.2).count() == uses.len();
    !edges.is_empty() && edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).all(is_balanced)
}

/// Returns a number for each position. Equal positions have equal numbers.
fn position_ids(positions: &[Vec3]) -> Vec<u32> {
    // Adding zero makes negative zeros positive.
    let bits = |i: u32| (positions[i as usize] + Vec3::ZERO).to_array().map(f32::to_bits);
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.par_sort_unstable_by_key(|i| bits(*i));
    let mut ids = vec![0; positions.len()];
    for (id, equal) in (0..).zip(order.chunk_by(|a, b| bits(*a) == bits(*b))) {
        for i in equal {
            ids[*i as usize] = id;
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of a tetrahedron. Its triangles are counter-clockwise from outside.
    const CORNERS: [Vec3; 4] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    const FACES: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

    #[test]
    fn only_surfaces_without_a_boundary_are_closed() {
        assert!(is_closed(&FACES, &CORNERS));
        assert!(!is_closed(&FACES[1..], &CORNERS));
        assert!(!is_closed(&[], &CORNERS));
        let turned = [[0, 1, 2], FACES[1], FACES[2], FACES[3]];
        assert!(!is_closed(&turned, &CORNERS), "one face is turned inside out");
    }

    #[test]
    fn vertices_at_the_same_position_count_as_one() {
        let mut apart: Vec<Vec3> = FACES.iter().flatten().map(|i| CORNERS[*i as usize]).collect();
        apart[0].x = -0.0;
        let triangles = [0, 3, 6, 9].map(|first| [first, first + 1, first + 2]);
        assert!(is_closed(&triangles, &apart));
        assert!(is_closed(&[&triangles[..], &[[0, 0, 1]]].concat(), &apart), "triangles without an area are ignored");
        apart[0].x = 1e-6;
        assert!(!is_closed(&triangles, &apart));
    }
}
