//! Measures the parts of a model that a clip moves without changing their shape. Such a part is measured once. After that,
//! each time needs only a transform.

use std::collections::BTreeMap;

use glam::{DMat3, DMat4, DVec3, Mat3, Vec3};
use plinth_model::{Animation, Model, Property};
use rayon::prelude::*;

use crate::clip::sample;
use crate::cloud::{Cloud, extent_in, farthest_of};
use crate::pose::{Draw, Placed, bent_nodes, matrix, node_matrices};

/// Number of poses in a block. Each block has a bounding box.
const BLOCK: usize = 16;
/// Number of points that take as much memory as a pose.
const POSE_COST: usize = 4;

/// What a clip does to a primitive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Movement {
    Still,
    /// The primitive moves with this animated node, and keeps its shape in the coordinates of this node.
    Rigid(usize),
    /// The primitive changes its shape, by a skin or by morph weights.
    Bent,
}

/// What a clip does to each node.
pub(crate) struct Movements {
    /// For each node, whether the clip moves a joint of its skin or changes its morph weights.
    bent: Vec<bool>,
    /// For each node, the animated node with which it moves.
    carriers: Vec<Option<usize>>,
}

impl Movements {
    pub(crate) fn of(model: &Model, clip: Option<&Animation>) -> Self {
        Self { bent: bent_nodes(model, clip), carriers: carriers(model, clip) }
    }

    pub(crate) fn of_draw(&self, placed: &Placed<'_>, draw: &Draw<'_>) -> Movement {
        let has_skin = placed.skin(draw).is_some();
        if self.bent[draw.node] && (has_skin || !draw.primitive.morph_targets.is_empty()) {
            return Movement::Bent;
        }
        // A primitive with a skin moves with its joints, not with its node.
        self.carriers[draw.node].filter(|_| !has_skin).map_or(Movement::Still, Movement::Rigid)
    }

    /// Returns for each node the transform from its coordinates to those of the animated node with which it moves.
    fn carrier_from_node(&self, model: &Model) -> Vec<DMat4> {
        let mut out: Vec<DMat4> = Vec::with_capacity(model.nodes.len());
        for (i, node) in model.nodes.iter().enumerate() {
            let is_carrier = self.carriers[i] == Some(i);
            let parent = node.parent.map_or(DMat4::IDENTITY, |p| out[p]);
            out.push(if is_carrier { DMat4::IDENTITY } else { parent * matrix(&node.local) });
        }
        out
    }
}

/// Returns for each node the animated node with which it moves: the node itself or its nearest animated ancestor.
fn carriers(model: &Model, clip: Option<&Animation>) -> Vec<Option<usize>> {
    let mut carriers = vec![None; model.nodes.len()];
    for channel in clip.iter().flat_map(|clip| &clip.channels).filter(|channel| channel.property != Property::Weights) {
        carriers[channel.node] = Some(channel.node);
    }
    for i in 0..model.nodes.len() {
        // Parents precede their children, so the carrier of the parent is already known.
        carriers[i] = carriers[i].or_else(|| model.nodes[i].parent.and_then(|p| carriers[p]));
    }
    carriers
}

/// The rigid parts of a model. A part consists of all primitives that move with the same animated node.
#[derive(Default)]
pub(crate) struct RigidParts {
    parts: Vec<Part>,
    /// Poses that do not depend on which part of the clip the frames show.
    of_clip: PoseTable,
    of_frames: PoseTable,
}

impl RigidParts {
    /// Measures each part in the coordinates of its node. `vertices` returns the indices of the needed vertices of a
    /// primitive.
    pub(crate) fn new<'a>(
        placed: &Placed<'a>,
        movements: &Movements,
        vertices: impl Fn(&Draw<'a>) -> &'a [u32],
    ) -> Self {
        let mut by_node: BTreeMap<usize, Vec<Draw<'a>>> = BTreeMap::new();
        for draw in placed.draws() {
            if let Movement::Rigid(node) = movements.of_draw(placed, &draw) {
                by_node.entry(node).or_default().push(draw);
            }
        }
        let part_from_node = movements.carrier_from_node(placed.model);
        let mut parts = Vec::new();
        for (node, draws) in by_node {
            let mut points = Vec::new();
            for draw in draws {
                points.extend(placed.unmoved_positions(&draw, vertices(&draw), part_from_node[draw.node]));
            }
            if !points.is_empty() {
                parts.push(Part::new(node, &points));
            }
        }
        Self { parts, ..Self::default() }
    }

    /// Computes the poses of the parts at the times that cover the whole clip, and at the times of the frames.
    pub(crate) fn measure(&mut self, placed: &Placed<'_>, clip: &Animation, clip_times: &[f32], frame_times: &[f32]) {
        if !self.is_empty() {
            self.of_clip = PoseTable::of(&self.parts, placed, clip, clip_times);
            self.of_frames = PoseTable::of(&self.parts, placed, clip, frame_times);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the time and memory that all parts take per measured time, as the number of points of bent parts that take
    /// as much.
    pub(crate) fn cost(&self) -> usize {
        self.parts.iter().map(|part| POSE_COST + part.cloud.box_count()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the larger of `known` and the extent of the parts in a direction over all measured times.
    pub(crate) fn reach(&self, direction: Vec3, known: f32) -> f32 {
        self.of_frames.reach(&self.parts, direction, self.of_clip.reach(&self.parts, direction, known))
    }

    /// Returns the smallest box that contains the box `min..max` and all parts at all measured times or, if
    /// `whole_clip_only` is true, at the times that cover the whole clip.
    pub(crate) fn bounds(&self, (min, max): (Vec3, Vec3), whole_clip_only: bool) -> (Vec3, Vec3) {
        let reach = |direction, known| {
            if whole_clip_only {
                self.of_clip.reach(&self.parts, direction, known)
            } else {
                self.reach(direction, known)
            }
        };
        let low = Vec3::from_array(std::array::from_fn(|i| -reach(-Vec3::AXES[i], -min[i])));
        let high = Vec3::from_array(std::array::from_fn(|i| reach(Vec3::AXES[i], max[i])));
        (low, high)
    }
}

/// The primitives that move with an animated node.
struct Part {
    node: usize,
    /// Transform from the coordinates of the part's bounding box, which extends from −1 to 1 along each axis, to those of
    /// the node.
    node_from_box: DMat4,
    /// Vertices in the coordinates of the bounding box. In the coordinates of the node, they would lose precision if they
    /// were far from its origin.
    cloud: Cloud,
}

impl Part {
    fn new(node: usize, points: &[DVec3]) -> Self {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (min, max) = points.iter().fold(start, |(min, max), p| (min.min(*p), max.max(*p)));
        let (middle, half) = ((min + max) * 0.5, (max - min) * 0.5);
        // Along an axis without extent, all vertices are in the middle.
        let divisor = half.map(|half| if half > 0.0 { half } else { 1.0 });
        let in_box = points.par_iter().map(|p| ((*p - middle) / divisor).as_vec3()).collect();
        let node_from_box = DMat4::from_translation(middle) * DMat4::from_scale(half);
        Self { node, node_from_box, cloud: Cloud::new(in_box) }
    }
}

/// The transform of a part from the coordinates of its bounding box to world space, at one time.
#[derive(Clone, Copy)]
struct Pose {
    linear: Mat3,
    middle: Vec3,
}

impl Pose {
    fn new(world_from_box: DMat4) -> Self {
        let linear = DMat3::from_mat4(world_from_box).as_mat3();
        Self { linear, middle: world_from_box.w_axis.truncate().as_vec3() }
    }

    /// Returns a box around the part. The box is unbounded if the transform is not finite, so that the part is always
    /// tested.
    fn bounds(&self) -> (Vec3, Vec3) {
        let half = self.linear.x_axis.abs() + self.linear.y_axis.abs() + self.linear.z_axis.abs();
        if half.is_finite() && self.middle.is_finite() {
            (self.middle - half, self.middle + half)
        } else {
            (Vec3::NEG_INFINITY, Vec3::INFINITY)
        }
    }

    /// Returns the larger of `known` and the extent of a part in a direction, which is infinite if the transform is not
    /// finite.
    fn reach(&self, cloud: &Cloud, direction: Vec3, known: f32) -> f32 {
        if !self.linear.is_finite() || !self.middle.is_finite() {
            return f32::INFINITY;
        }
        let offset = self.middle.dot(direction);
        let in_box = self.linear.transpose() * direction;
        if offset + in_box.abs().element_sum() <= known {
            return known;
        }
        // `known` is returned unchanged if no point is farther. Otherwise, the rounding errors of many parts would add up.
        let needed = known - offset;
        let reach = cloud.reach(in_box, needed);
        if reach > needed { known.max(offset + reach) } else { known }
    }
}

/// The poses of all parts at several times.
#[derive(Default)]
struct PoseTable {
    /// The poses of the first part at all times, then those of the next part. A part moves little between consecutive
    /// times, so the boxes of blocks are small.
    poses: Vec<Pose>,
    times: usize,
    boxes: Vec<(Vec3, Vec3)>,
}

impl PoseTable {
    fn of(parts: &[Part], placed: &Placed<'_>, clip: &Animation, times: &[f32]) -> Self {
        let at = |time: &f32| -> Vec<Pose> {
            let matrices = node_matrices(placed.model, &sample(placed.model, Some((clip, *time))));
            let pose = |part: &Part| Pose::new(placed.world_from_model * matrices[part.node] * part.node_from_box);
            parts.iter().map(pose).collect()
        };
        let by_time: Vec<Vec<Pose>> = times.par_iter().map(at).collect();
        let poses: Vec<Pose> = (0..parts.len()).flat_map(|part| by_time.iter().map(move |at| at[part])).collect();
        let join = |(min, max): (Vec3, Vec3), (low, high): (Vec3, Vec3)| (min.min(low), max.max(high));
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let boxes = poses.chunks(BLOCK).map(|poses| poses.iter().map(Pose::bounds).fold(start, join)).collect();
        Self { poses, times: times.len(), boxes }
    }

    /// Returns the larger of `known` and the extent of the parts in a direction over all times.
    fn reach(&self, parts: &[Part], direction: Vec3, known: f32) -> f32 {
        let extent = extent_in(direction);
        let of_block = |farthest: f32, block: usize| {
            let poses = self.poses.chunks(BLOCK).nth(block).unwrap_or_default();
            poses
                .iter()
                .zip(block * BLOCK..)
                .fold(farthest, |farthest, (pose, i)| pose.reach(&parts[i / self.times].cloud, direction, farthest))
        };
        // The block that extends farthest is tested first, so that most others are skipped. If the extent of a box is NaN,
        // the comparison is false, so the block is tested.
        let farthest = of_block(known, farthest_of(&self.boxes, &extent));
        self.boxes.iter().zip(0..).fold(farthest, |farthest, (bounds, block)| {
            if extent(bounds) <= farthest { farthest } else { of_block(farthest, block) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_whose_transform_is_not_finite_extends_infinitely() {
        let cloud = Cloud::new(vec![Vec3::ONE]);
        for (linear, middle) in [
            (Mat3::from_diagonal(Vec3::INFINITY), Vec3::ZERO),
            (Mat3::IDENTITY, Vec3::new(f32::INFINITY, f32::INFINITY, 0.0)),
        ] {
            assert!(Pose { linear, middle }.reach(&cloud, Vec3::X, 1.0) > f32::MAX);
        }
    }
}
