//! Finds the extent of many points in a direction.

use glam::Vec3;
use rayon::prelude::*;

/// Number of points in a block. Each block has a bounding box.
const BLOCK: usize = 64;
/// Number of boxes that share an outer bounding box.
const BOXES: usize = 64;

/// A point cloud that is divided into blocks with bounding boxes. Groups of boxes have outer bounding boxes. With them,
/// the extent in a direction is found without testing every point.
pub(crate) struct Cloud {
    points: Vec<Vec3>,
    boxes: Vec<(Vec3, Vec3)>,
    outer_boxes: Vec<(Vec3, Vec3)>,
}

impl Cloud {
    pub(crate) fn new(points: Vec<Vec3>) -> Self {
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let around = |block: &[Vec3]| block.iter().fold(start, |(min, max), p| (min.min(*p), max.max(*p)));
        let boxes: Vec<(Vec3, Vec3)> = points.par_chunks(BLOCK).map(around).collect();
        let join = |(min, max): (Vec3, Vec3), (low, high): &(Vec3, Vec3)| (min.min(*low), max.max(*high));
        let outer_boxes = boxes.chunks(BOXES).map(|boxes| boxes.iter().fold(start, join)).collect();
        Self { points, boxes, outer_boxes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(crate) fn box_count(&self) -> usize {
        self.boxes.len()
    }

    /// Returns the bounding boxes of the blocks.
    pub(crate) fn boxes(&self) -> &[(Vec3, Vec3)] {
        &self.boxes
    }

    /// Returns the larger of `known` and the extent of the cloud in a direction, which is the maximum of `point ·
    /// direction`.
    pub(crate) fn reach(&self, direction: Vec3, known: f32) -> f32 {
        let extent = extent_in(direction);
        let of_points = |farthest: f32, points: &[Vec3]| points.iter().fold(farthest, |f, p| f.max(p.dot(direction)));
        // The points in the box that extends farthest are tested first. Few other boxes extend farther than these
        // points, so most boxes are skipped.
        let first = farthest_of(&self.outer_boxes, &extent) * BOXES;
        let first = first + farthest_of(self.boxes.chunks(BOXES).nth(first / BOXES).unwrap_or_default(), &extent);
        let farthest = of_points(known, self.points.chunks(BLOCK).nth(first).unwrap_or_default());
        // If a box contains NaN, the comparison is false, so the points in the box are tested.
        let parts = self.points.chunks(BLOCK * BOXES).zip(self.boxes.chunks(BOXES)).zip(&self.outer_boxes);
        parts.fold(farthest, |farthest, ((points, boxes), outer)| {
            if extent(outer) <= farthest {
                return farthest;
            }
            let in_block = |farthest, (points, bounds): (&[Vec3], &(Vec3, Vec3))| {
                if extent(bounds) <= farthest { farthest } else { of_points(farthest, points) }
            };
            points.chunks(BLOCK).zip(boxes).fold(farthest, in_block)
        })
    }
}

/// Returns a function that computes the extent of bounding boxes in a direction.
pub(crate) fn extent_in(direction: Vec3) -> impl Fn(&(Vec3, Vec3)) -> f32 {
    let (positive, negative) = (direction.max(Vec3::ZERO), direction.min(Vec3::ZERO));
    move |(min, max): &(Vec3, Vec3)| max.dot(positive) + min.dot(negative)
}

/// Returns the index of the box with the largest extent, or 0 if there is no box.
pub(crate) fn farthest_of(boxes: &[(Vec3, Vec3)], extent: impl Fn(&(Vec3, Vec3)) -> f32) -> usize {
    let extents = boxes.iter().map(extent).enumerate();
    extents.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns points of a lumpy shape.
    pub(crate) fn points() -> Vec<Vec3> {
        (0..1000_u16)
            .map(|i| {
                let a = f32::from(i) * 2.399_963;
                Vec3::new(a.sin() * f32::from(i % 7), a.cos() * 2.0, f32::from(i % 13) - 6.0)
            })
            .collect()
    }

    #[test]
    fn the_extent_of_a_cloud_is_that_of_its_farthest_point() {
        let cloud = Cloud::new(points());
        for d in [Vec3::X, -Vec3::Y, Vec3::new(1.0, -2.0, 0.5), Vec3::new(-0.3, 0.1, -4.0)] {
            let slow = points().iter().map(|p| p.dot(d)).fold(f32::NEG_INFINITY, f32::max);
            assert!((cloud.reach(d, f32::NEG_INFINITY) - slow).abs() < 1e-6);
            assert!((cloud.reach(d, slow + 1.0) - slow - 1.0).abs() < 1e-6);
        }
    }
}
