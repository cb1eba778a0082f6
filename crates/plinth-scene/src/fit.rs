//! Measures the space that an animated model occupies, and computes the camera distance at which the whole model is
//! visible.

use glam::Vec3;
use plinth_model::{Animation, Model};
use rayon::prelude::*;

use crate::pose::{Draw, Placed, moving_nodes};

/// Number of points in a block. Each block has a bounding box.
const BLOCK: usize = 64;
/// Number of boxes that share an outer bounding box.
const BOXES: usize = 64;
/// Maximum number of measured points of moving meshes, summed over all times. It may be exceeded, because a clip is
/// measured at up to eight times regardless of this limit.
const MAX_MOVING_POINTS: usize = 4_000_000;
/// Number of evenly spaced times at which a clip is measured, in addition to its keys.
const EVEN_TIMES: usize = 32;
/// Maximum number of keys at which a clip is measured.
const MAX_KEY_TIMES: usize = 64;
/// Fraction by which the extent is enlarged if not all times are measured. The margin covers the
/// motion between the measured times.
const SLACK: f32 = 0.03;

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

    /// Returns the larger of `known` and the extent of the cloud in a direction, which is the maximum of `point ·
    /// direction`.
    fn reach(&self, direction: Vec3, known: f32) -> f32 {
        let (positive, negative) = (direction.max(Vec3::ZERO), direction.min(Vec3::ZERO));
        let bound = |(min, max): &(Vec3, Vec3)| max.dot(positive) + min.dot(negative);
        let of_points = |farthest: f32, points: &[Vec3]| points.iter().fold(farthest, |f, p| f.max(p.dot(direction)));
        // The points in the box that extends farthest are tested first. Few other boxes extend farther than these
        // points, so most boxes are skipped.
        let farthest_of = |boxes: &[(Vec3, Vec3)]| {
            (0..boxes.len()).max_by(|i, j| bound(&boxes[*i]).total_cmp(&bound(&boxes[*j]))).unwrap_or(0)
        };
        let first = farthest_of(&self.outer_boxes) * BOXES;
        let first = first + farthest_of(self.boxes.chunks(BOXES).nth(first / BOXES).unwrap_or_default());
        let farthest = of_points(known, self.points.chunks(BLOCK).nth(first).unwrap_or_default());
        // If a box contains NaN, the comparison is false, so the points in the box are tested.
        let parts = self.points.chunks(BLOCK * BOXES).zip(self.boxes.chunks(BOXES)).zip(&self.outer_boxes);
        parts.fold(farthest, |farthest, ((points, boxes), outer)| {
            if bound(outer) <= farthest {
                return farthest;
            }
            let in_block = |farthest, (points, bounds): (&[Vec3], &(Vec3, Vec3))| {
                if bound(bounds) <= farthest { farthest } else { of_points(farthest, points) }
            };
            points.chunks(BLOCK).zip(boxes).fold(farthest, in_block)
        })
    }
}

/// The space that a model occupies over all measured times.
pub(crate) struct Motion {
    /// One cloud of the vertices that do not move, then one cloud of the moving vertices for each time: first the times
    /// that cover the whole clip, then the times of the frames.
    clouds: Vec<Cloud>,
    /// Number of clouds at the start of the list that do not depend on which part of the clip the frames show.
    of_clip: usize,
    slack: f32,
}

impl Motion {
    /// Measures the model over the whole clip and at the times of the frames. Without a clip, measures the rest pose.
    pub(crate) fn of(placed: &Placed<'_>, clip: Option<&Animation>, frame_times: &[f32]) -> Self {
        let used = used_vertices(placed.model);
        let moving = moving_nodes(placed.model, clip);
        let vertices = |draw: &Draw<'_>| used[draw.mesh][draw.index].as_slice();
        let still = placed.positions(None, |draw| !moving[draw.node], vertices);
        let mut clouds = vec![Cloud::new(still)];
        let mut out = Self { clouds: Vec::new(), of_clip: 1, slack: 0.0 };
        if let Some(clip) = clip {
            let draws = placed.draws();
            let per_time: usize = draws.iter().filter(|d| moving[d.node]).map(|d| vertices(d).len()).sum();
            let affordable = (MAX_MOVING_POINTS / per_time.max(1)).max(8);
            let (of_clip, of_frames) = (clip_times(clip), distinct(frame_times.to_vec()));
            if of_clip.len() + of_frames.len() > affordable {
                out.slack = SLACK;
            }
            // A list that needs less than half of the times leaves the rest to the other one.
            let left_for_clip = (affordable / 2).max(affordable.saturating_sub(of_frames.len()));
            let of_clip = evenly_spaced(&of_clip, left_for_clip);
            let of_frames = evenly_spaced(&of_frames, affordable - of_clip.len());
            out.of_clip += of_clip.len();
            let cloud = |time| Cloud::new(placed.positions(Some((clip, time)), |draw| moving[draw.node], vertices));
            clouds.extend(of_clip.into_iter().chain(of_frames).map(cloud));
        }
        if clouds.iter().all(|cloud| cloud.points.is_empty()) && !placed.draws().is_empty() {
            // A model without triangles is treated as a box with side length 1.
            clouds[0] = Cloud::new(vec![Vec3::splat(-0.5), Vec3::splat(0.5)]);
        }
        Self { clouds, ..out }
    }

    /// Returns the bounding box over all measured times or, if `whole_clip_only` is true, only over the times that
    /// cover the whole clip. Returns `None` if the box is empty or not finite.
    pub(crate) fn bounds(&self, whole_clip_only: bool) -> Option<(Vec3, Vec3)> {
        let count = if whole_clip_only { self.of_clip } else { self.clouds.len() };
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let boxes = self.clouds[..count].iter().flat_map(|cloud| &cloud.boxes);
        let (min, max) = boxes.fold(start, |(low, high), (min, max)| (low.min(*min), high.max(*max)));
        let room = if whole_clip_only { Vec3::ZERO } else { (max - min) * self.slack };
        (min.is_finite() && max.is_finite()).then_some((min - room, max + room))
    }

    /// Returns the largest extent in a direction over all measured times.
    pub(crate) fn reach(&self, direction: Vec3) -> f32 {
        self.clouds.iter().fold(f32::NEG_INFINITY, |farthest, cloud| cloud.reach(direction, farthest))
    }

    /// Returns the factor by which the extent must be multiplied to cover the motion between the measured times.
    pub(crate) fn room(&self) -> f32 {
        1.0 + self.slack
    }
}

/// Returns for each primitive of each mesh the vertices that its indices refer to, in ascending order and without
/// duplicates.
fn used_vertices(model: &Model) -> Vec<Vec<Vec<u32>>> {
    let of_primitive = |primitive: &plinth_model::Primitive| {
        let mut used = vec![false; primitive.positions.len()];
        for i in &primitive.indices {
            if let Some(slot) = used.get_mut(*i as usize) {
                *slot = true;
            }
        }
        (0..primitive.positions.len() as u32).filter(|v| used[*v as usize]).collect()
    };
    model.meshes.iter().map(|mesh| mesh.primitives.par_iter().map(of_primitive).collect()).collect()
}

/// Returns the times at which a clip is measured: the times of its keys, and evenly spaced times.
fn clip_times(clip: &Animation) -> Vec<f32> {
    let keys = clip.channels.iter().flat_map(|c| &c.times).copied().filter(|t| (0.0..=clip.duration).contains(t));
    let mut times = evenly_spaced(&distinct(keys.collect()), MAX_KEY_TIMES);
    let step = |i: usize| clip.duration * (i as f32 / EVEN_TIMES as f32);
    times.extend((0..=EVEN_TIMES).map(step).filter(|t| t.is_finite()));
    distinct(times)
}

fn distinct(mut times: Vec<f32>) -> Vec<f32> {
    times.sort_by(f32::total_cmp);
    times.dedup();
    times
}

/// Returns at most `count` elements of a list, evenly spaced by index. The first and the last element are always
/// included.
fn evenly_spaced(times: &[f32], count: usize) -> Vec<f32> {
    if times.len() <= count {
        return times.to_vec();
    }
    let last = times.len() - 1;
    (0..count).map(|i| times[i * last / (count - 1).max(1)]).collect()
}

/// Returns the smallest distance between the camera and the origin at which the whole model is inside the frame.
/// `reach` returns the extent of the model in a direction. `right` and `toward` are unit vectors: the direction of the
/// picture's right edge, and the direction from the origin to the camera.
/// `tan_half` are the tangents of half the horizontal and half the vertical field of view, reduced by the margin.
pub(crate) fn distance(reach: impl Fn(Vec3) -> f32, (right, toward): (Vec3, Vec3), tan_half: (f32, f32)) -> f32 {
    let up = toward.cross(right);
    // A point is inside the frame if |sideways| / tan ≤ distance − depth, where `depth` is its coordinate along
    // `toward`.
    let (x, y) = (right / tan_half.0, up / tan_half.1);
    [x, -x, y, -y].into_iter().map(|sideways| reach(toward + sideways)).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Vec3> {
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

    #[test]
    fn at_the_fitted_distance_the_outermost_point_is_on_the_edge() {
        let cloud = Cloud::new(points());
        let toward = Vec3::new(0.4, 0.3, 0.8).normalize();
        let (tan_x, tan_y) = (0.5, 0.3);
        let right = Vec3::Y.cross(toward).normalize();
        let d = distance(|v| cloud.reach(v, f32::NEG_INFINITY), (right, toward), (tan_x, tan_y));
        let up = toward.cross(right);
        let edge = points()
            .iter()
            .map(|p| {
                let depth = d - p.dot(toward);
                (p.dot(right).abs() / (depth * tan_x)).max(p.dot(up).abs() / (depth * tan_y))
            })
            .fold(0.0, f32::max);
        assert!((edge - 1.0).abs() < 1e-4, "{edge}");
    }

    #[test]
    fn selecting_evenly_spaced_elements_keeps_the_first_and_the_last() {
        let times: Vec<f32> = (0..100_u8).map(f32::from).collect();
        let few = evenly_spaced(&times, 5);
        assert_eq!(few, [0.0, 24.0, 49.0, 74.0, 99.0]);
        assert_eq!(evenly_spaced(&times, 200).len(), 100);
    }
}
