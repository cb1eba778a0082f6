//! A batch of triangles, points or lines, and its changes from frame to frame.

use std::ops::Range;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::gpu::Gpu;
use crate::gpu_types::PoseVertex;
use crate::upload::boxes::{Bounds, bounds_of};
use crate::upload::closed::is_closed;
use crate::upload::pool::{Pool, vertices_of};
use crate::upload::sprites::Sprites;

/// Triangles, points or lines that have the same material. The number of a batch, which shaders read for each triangle,
/// is the index of the batch.
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) material: usize,
    /// Index of the pool that contains the batch's vertices and triangles.
    pub(crate) pool: usize,
    /// The batch's range of the pool's indices. `vertices` is the batch's range of the pool's vertices. Points and
    /// lines have no indices.
    pub(crate) indices: Range<u32>,
    pub(super) vertices: Range<u32>,
    /// World-space bounds in the current pose.
    pub(crate) bounds: Bounds,
    /// Boxes that together contain the batch. The list is empty if the pool has fewer than `MIN_BATCHES` batches.
    pub(crate) boxes: Vec<Bounds>,
    /// How a transmissive or blended batch is drawn. `None` for opaque and alpha-tested batches.
    pub(crate) transparency: Option<Transparency>,
    /// Points or lines of the batch. A batch with points or lines has no triangles.
    pub(crate) sprites: Option<Sprites>,
}

/// How a transmissive or blended batch is drawn over the surfaces that are already in the picture.
#[derive(Clone)]
pub(crate) enum Transparency {
    /// All triangles of the batch are drawn, from back to front.
    Sorted(Sortable),
    /// Only the visible triangles of the batch are drawn, through a visibility buffer.
    VisibilityBuffer {
        /// Mean position of the corners of the batch's triangles.
        center: Vec3,
    },
}

impl Transparency {
    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        match self {
            Self::Sorted(sortable) => Some(sortable),
            Self::VisibilityBuffer { .. } => None,
        }
    }
}

/// Triangle corners and their world positions, for sorting triangles from back to front.
#[derive(Clone)]
pub(crate) struct Sortable {
    pub(crate) indices: Vec<[u32; 3]>,
    positions: Vec<Vec3>,
    /// Mean of the positions.
    center: DVec3,
    facing: Facing,
}

/// The sums over all triangles of their normals, whose lengths are twice the areas, and of the scalar products of the normals
/// and a corner.
#[derive(Clone, Copy, Debug, Default)]
struct Facing {
    normal: DVec3,
    offset: f64,
}

impl Sortable {
    /// `indices` are the corners of the triangles as indices of `positions`.
    pub(super) fn new(indices: Vec<[u32; 3]>, positions: Vec<Vec3>) -> Self {
        let sum = positions.iter().map(|position| position.as_dvec3()).sum::<DVec3>();
        let facing = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|i| positions[i as usize].as_dvec3());
            let normal = (b - a).cross(c - a);
            Facing { normal, offset: normal.dot(a) }
        };
        let joined = |a: Facing, b: Facing| Facing { normal: a.normal + b.normal, offset: a.offset + b.offset };
        let facing = indices.iter().map(facing).fold(Facing::default(), joined);
        let center = sum / positions.len().max(1) as f64;
        Self { indices, positions, center, facing }
    }

    /// Returns the mean depth along `forward`. It is computed with double precision: surfaces at the same place, such as both sides
    /// of a sheet, would otherwise change their order from frame to frame.
    fn mean_depth(&self, forward: Vec3) -> f32 {
        self.center.dot(forward.as_dvec3()) as f32
    }

    /// Returns whether the triangles enclose a body.
    pub(crate) fn is_closed(&self) -> bool {
        is_closed(&self.indices, &self.positions)
    }

    /// Returns the triangles in the order of the depth of their centers along `forward`, the farthest first. Of equally far ones,
    /// that with the lower indices comes first.
    fn back_to_front(&self, forward: Vec3) -> Vec<[u32; 3]> {
        /// Minimum number of triangles that are handled on one thread.
        const MIN_TRIANGLES: usize = 1 << 12;
        let depth = |corners: &[u32; 3]| corners.iter().map(|c| self.positions[*c as usize]).sum::<Vec3>().dot(forward);
        // Numbers are sorted faster than triangles. The upper half of each has the order of the depths, the farthest first, and
        // the lower half is the index of the triangle.
        let key = |(i, corners): (usize, &[u32; 3])| u64::from(!ordered_bits(depth(corners))) << 32 | i as u64;
        let mut keys: Vec<u64> = self.indices.par_iter().with_min_len(MIN_TRIANGLES).enumerate().map(key).collect();
        keys.par_sort_unstable();
        let triangle = |key: &u64| self.indices[(key & u64::from(u32::MAX)) as usize];
        let mut ordered: Vec<[u32; 3]> = keys.par_iter().with_min_len(MIN_TRIANGLES).map(triangle).collect();
        let mut rest = ordered.as_mut_slice();
        for equally_far in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let (triangles, after) = rest.split_at_mut(equally_far.len());
            triangles.sort_unstable();
            rest = after;
        }
        ordered
    }
}

impl Batch {
    /// Returns the batch's part of `corners`, the corners of its pool.
    pub(super) fn corners<'a>(&self, corners: &'a [u32]) -> &'a [u32] {
        &corners[self.indices.start as usize..self.indices.end as usize]
    }

    /// Updates the values that depend on the pose. `vertices` and `corners` are those of the pool. `turned` are the
    /// indices of the triangles whose winding has changed.
    pub(super) fn update(&mut self, vertices: &[PoseVertex], corners: &[u32], turned: &[usize]) {
        self.bounds = bounds_of(vertices_of(vertices, &self.vertices));
        match &mut self.transparency {
            // The pool of a sorted batch contains no other batch, so all vertices of the pool belong to this batch.
            Some(Transparency::Sorted(sortable)) => {
                let mut indices = std::mem::take(&mut sortable.indices);
                for number in turned {
                    indices[*number].swap(1, 2);
                }
                *sortable = Sortable::new(indices, vertices.iter().map(|v| Vec3::from(v.position)).collect());
            }
            Some(Transparency::VisibilityBuffer { center: known }) => *known = center(vertices, corners),
            None => {}
        }
    }

    /// Updates the mean position of the triangles of a transmissive or blended batch whose vertices the device poses.
    pub(super) fn place(&mut self, center: Vec3) {
        match &mut self.transparency {
            Some(Transparency::Sorted(sortable)) => sortable.center = center.as_dvec3(),
            Some(Transparency::VisibilityBuffer { center: known }) => *known = center,
            None => {}
        }
    }

    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        self.transparency.as_ref().and_then(Transparency::sortable)
    }

    /// Whether the batch is transmissive and drawn through a visibility buffer.
    pub(crate) const fn is_visibility_buffered_glass(&self) -> bool {
        matches!(self.transparency, Some(Transparency::VisibilityBuffer { .. }))
    }

    /// Sorts the triangles from back to front along `forward`, and uploads them. Does nothing if the batch is not drawn
    /// in sorted order.
    pub(crate) fn sort(&self, gpu: &Gpu, pool: &Pool, forward: Vec3) {
        let Some(sortable) = self.sortable() else { return };
        gpu.write(&pool.indices, 0, bytemuck::cast_slice(&sortable.back_to_front(forward)));
    }

    /// Returns whether the front of sorted triangles can be seen from a point. If triangles face different directions,
    /// the larger part of their area counts.
    pub(crate) fn faces(&self, point: Vec3) -> bool {
        let Some(Sortable { facing, .. }) = self.sortable() else { return true };
        facing.normal.dot(point.as_dvec3()) >= facing.offset
    }

    /// Returns the mean depth along `forward`. Batches are sorted by this value.
    pub(crate) fn mean_depth(&self, forward: Vec3) -> f32 {
        match &self.transparency {
            None => 0.0,
            Some(Transparency::Sorted(sortable)) => sortable.mean_depth(forward),
            Some(Transparency::VisibilityBuffer { center }) => center.dot(forward),
        }
    }
}

/// Returns a number for each finite or infinite number, with the same order. The order of zeros is that of `f32::total_cmp`.
const fn ordered_bits(x: f32) -> u32 {
    let bits = x.to_bits();
    if x.is_sign_negative() { !bits } else { bits | 1 << 31 }
}

/// Returns the mean position of the corners of triangles.
pub(super) fn center(vertices: &[PoseVertex], corners: &[u32]) -> Vec3 {
    let sum = corners.iter().map(|corner| Vec3::from(vertices[*corner as usize].position)).sum::<Vec3>();
    sum / corners.len().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_of_a_surface_with_several_triangles_is_that_of_most_of_its_area() {
        let corners = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 0.0], [0.0, 1.0]];
        let positions: Vec<Vec3> = corners.iter().map(|[x, y]| Vec3::new(*x, *y, 2.0)).collect();
        // The large triangle faces +Z, and the small one −Z.
        let mut batch = Batch {
            material: 0,
            pool: 0,
            indices: 0..6,
            vertices: 0..5,
            bounds: (Vec3::ZERO, Vec3::ONE),
            boxes: Vec::new(),
            transparency: Some(Transparency::Sorted(Sortable::new(vec![[0, 1, 2], [0, 4, 3]], positions))),
            sprites: None,
        };
        assert!(batch.faces(Vec3::new(9.0, 9.0, 2.5)) && !batch.faces(Vec3::new(0.0, 0.0, 1.5)));
        assert!((batch.mean_depth(Vec3::Z) - 2.0).abs() < 1e-6 && (batch.mean_depth(-Vec3::X) + 1.0).abs() < 1e-6);
        let vertices = corners.map(|[x, y]| PoseVertex { position: [x, y, 7.0], ..PoseVertex::default() });
        batch.update(&vertices, &[], &[0, 1]);
        assert!(!batch.faces(Vec3::new(9.0, 9.0, 7.5)) && batch.faces(Vec3::new(0.0, 0.0, 6.5)));
        assert!((batch.mean_depth(Vec3::Z) - 7.0).abs() < 1e-6);
    }

    #[test]
    fn surfaces_at_the_same_place_have_the_same_depth_whatever_the_order_of_their_vertices() {
        let sortable = |numbers: Vec<u32>| {
            let at =
                |i: &u32| Vec3::new((*i as f32 * 0.7).sin(), (*i as f32 * 1.3).cos() * 0.4, *i as f32 * 1e-3 + 0.3);
            Sortable::new(vec![[0, 1, 2]], numbers.iter().map(at).collect())
        };
        let (inside, outside) = (sortable((0..400).collect()), sortable((0..400).rev().collect()));
        for angle in 0..60 {
            let forward = Vec3::from((f32::sin(angle as f32 * 0.1), 0.3, f32::cos(angle as f32 * 0.1)));
            let [inside, outside] = [&inside, &outside].map(|sortable| sortable.mean_depth(forward).to_bits());
            assert_eq!(inside, outside, "{forward}");
        }
    }

    #[test]
    fn triangles_are_sorted_by_depth_and_equally_far_ones_by_their_indices() {
        let mut state = 1_u32;
        let mut random = |count: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % count
        };
        // Positions on a coarse grid around the origin, so that many triangles are equally far away.
        let mut coordinate = || f32::from(random(9) as u8) - 4.0;
        let positions: Vec<Vec3> = (0..500).map(|_| Vec3::new(coordinate(), coordinate(), coordinate())).collect();
        let indices: Vec<[u32; 3]> = (0..20_000).map(|_| [random(500), random(500), random(500)]).collect();
        let sortable = Sortable::new(indices, positions);
        for forward in [Vec3::X, -Vec3::Z, Vec3::new(0.3, -0.5, 0.1)] {
            let depth = |corners: &[u32; 3]| {
                corners.iter().map(|corner| sortable.positions[*corner as usize]).sum::<Vec3>().dot(forward)
            };
            let mut expected = sortable.indices.clone();
            expected.sort_by(|a, b| depth(b).total_cmp(&depth(a)).then(a.cmp(b)));
            assert!(sortable.back_to_front(forward) == expected, "{forward}");
        }
    }
}
