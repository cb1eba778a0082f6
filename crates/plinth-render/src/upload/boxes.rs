//! Bounding boxes of the parts of a batch. The triangles of a batch may be scattered over the whole model, so that a
//! single box around all of them would be mostly empty.

use glam::Vec3;

use crate::gpu_types::PoseVertex;
use crate::upload::pool::VertexRange;

/// Minimum and maximum corner of an axis-aligned box.
pub(crate) type Bounds = (Vec3, Vec3);

/// Minimum number of batches of a pool for which boxes are computed. Boxes save time where the regions of batches overlap.
pub(super) const MIN_BATCHES: usize = 2;

/// Number of cells along the longest side of the box around a batch. All triangles whose centres are in the same cell
/// share one box.
const CELLS: usize = 8;

/// Returns boxes that together contain all triangles in `corners`. `low` and `high` are the corners of the box around
/// all these triangles.
pub(super) fn boxes_of_triangles(vertices: &[PoseVertex], corners: &[u32], (low, high): Bounds) -> Vec<Bounds> {
    let cells_per_unit = CELLS as f32 / (high - low).max_element().max(f32::MIN_POSITIVE);
    let mut boxes = vec![NOTHING; CELLS * CELLS * CELLS];
    for triangle in corners.as_chunks::<3>().0 {
        let points = triangle.map(|corner| Vec3::from(vertices[corner as usize].position));
        let center = (points[0] + points[1] + points[2]) / 3.0;
        let [x, y, z] =
            ((center - low) * cells_per_unit).to_array().map(|place| (place.max(0.0) as usize).min(CELLS - 1));
        let cell = &mut boxes[(z * CELLS + y) * CELLS + x];
        *cell = points.into_iter().fold(*cell, |(low, high), point| (low.min(point), high.max(point)));
    }
    boxes.retain(|one| *one != NOTHING);
    boxes
}

/// Returns a box for each piece of a batch. `batch` is the position of the batch in the pool.
pub(super) fn boxes_of_pieces(vertices: &[PoseVertex], pieces: &[VertexRange], batch: usize) -> Vec<Bounds> {
    let own = pieces.iter().filter(|piece| piece.batch == batch && piece.vertices > 0);
    own.map(|piece| bounds_of(&vertices[piece.first_vertex..piece.first_vertex + piece.vertices])).collect()
}

/// The box that contains no point.
const NOTHING: Bounds = (Vec3::MAX, Vec3::MIN);

/// Returns a box that contains all of `boxes`.
pub(super) fn around(boxes: &[Bounds]) -> Bounds {
    boxes.iter().fold(NOTHING, |(low, high), (a, b)| (low.min(*a), high.max(*b)))
}

pub(super) fn bounds_of(vertices: &[PoseVertex]) -> Bounds {
    vertices.iter().fold(NOTHING, |(low, high), v| {
        let p = Vec3::from(v.position);
        (low.min(p), high.max(p))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distant_triangles_have_boxes_of_their_own() {
        let at = |x: f32, y: f32| PoseVertex { position: [x, y, 0.0], ..PoseVertex::default() };
        let corner = |x: f32| [at(x, 0.0), at(x + 0.25, 0.0), at(x, 0.25)];
        let vertices = [corner(0.0), corner(0.125), corner(8.0)].concat();
        let corners: Vec<u32> = (0..9).collect();
        let boxes = boxes_of_triangles(&vertices, &corners, bounds_of(&vertices));
        let expected = [(0.0, 0.375), (8.0, 8.25)].map(|(x, end)| (Vec3::new(x, 0.0, 0.0), Vec3::new(end, 0.25, 0.0)));
        assert_eq!(boxes, expected);
        assert!(boxes_of_triangles(&vertices, &[], bounds_of(&vertices)).is_empty());
    }
}
