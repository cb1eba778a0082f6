//! Builds a binary tree over triangles, with a binned surface area heuristic (Wald 2007, "On fast Construction of
//! SAH-based Bounding Volume Hierarchies").

use glam::Vec3;

use super::TriangleId;
use super::triangles::BLOCK;

/// Number of bins of the surface area heuristic.
const BINS: usize = 16;
/// Subtrees with at most this many triangles are built on one thread.
const MAX_SERIAL_TRIANGLES: usize = 8192;

#[derive(Clone, Copy)]
pub(super) struct BuildItem {
    pub(super) corners: [Vec3; 3],
    pub(super) id: TriangleId,
    min: Vec3,
    max: Vec3,
}

impl BuildItem {
    pub(super) fn new(corners: [Vec3; 3], id: TriangleId) -> Self {
        let [a, b, c] = corners;
        Self { corners, id, min: a.min(b).min(c), max: a.max(b).max(c) }
    }

    fn doubled_center(&self) -> Vec3 {
        self.min + self.max
    }
}

#[derive(Clone, Copy)]
pub(super) struct BinaryNode {
    pub(super) min: Vec3,
    /// For a leaf, the index of its first item. For an inner node, the index of its second child; the first child
    /// directly follows its parent.
    pub(super) link: u32,
    pub(super) max: Vec3,
    /// For a leaf, its number of items; for an inner node, 0.
    pub(super) count: u32,
}

pub(super) fn half_area(min: Vec3, max: Vec3) -> f32 {
    let d = max - min;
    d.x * d.y + d.y * d.z + d.z * d.x
}

/// Sorts `items` into the order of the leaves, and returns the nodes of the subtree over them. `first` is the index of
/// `items[0]` in the list of all items. The subtree has at most `levels` levels below its root, unless even a balanced
/// tree needs more.
pub(super) fn build(items: &mut [BuildItem], first: usize, levels: u32) -> Vec<BinaryNode> {
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for item in items.iter() {
        min = min.min(item.min);
        max = max.max(item.max);
    }
    let leaf = |count: usize| vec![BinaryNode { min, max, link: first as u32, count: count as u32 }];
    if items.len() <= BLOCK {
        return leaf(items.len());
    }
    let mut split_index = split(items).clamp(1, items.len() - 1);
    let below = levels.saturating_sub(1);
    // The surface area heuristic does not limit the depth: if the sizes and distances of items decrease geometrically,
    // each split may separate only a few items. Then the items are split in half instead.
    if min_levels(split_index.max(items.len() - split_index)) > below {
        split_index = items.len() / 2;
        let (axis, ..) = longest_axis(items);
        let center = |item: &BuildItem| item.doubled_center()[axis];
        items.select_nth_unstable_by(split_index, |a, b| center(a).total_cmp(&center(b)));
    }
    let parallel = items.len() > MAX_SERIAL_TRIANGLES;
    let (left, right) = items.split_at_mut(split_index);
    let (mut left, right) = if parallel {
        rayon::join(|| build(left, first, below), || build(right, first + split_index, below))
    } else {
        (build(left, first, below), build(right, first + split_index, below))
    };
    let mut nodes = Vec::with_capacity(1 + left.len() + right.len());
    nodes.push(BinaryNode { min, max, link: (1 + left.len()) as u32, count: 0 });
    let shift = |nodes: &mut [BinaryNode], by: usize| {
        for node in nodes.iter_mut().filter(|n| n.count == 0) {
            node.link += by as u32;
        }
    };
    shift(&mut left, 1);
    nodes.append(&mut left);
    let offset = nodes.len();
    let mut right = right;
    shift(&mut right, offset);
    nodes.append(&mut right);
    nodes
}

/// Returns how many levels below its root a tree over `items` items needs if each node halves its items.
const fn min_levels(items: usize) -> u32 {
    items.div_ceil(BLOCK).next_power_of_two().trailing_zeros()
}

/// Returns the axis along which the doubled centres of the items are farthest apart, with the smallest doubled centre
/// and the extent of all doubled centres along this axis.
fn longest_axis(items: &[BuildItem]) -> (usize, f32, f32) {
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for item in items {
        low = low.min(item.doubled_center());
        high = high.max(item.doubled_center());
    }
    let extent = high - low;
    let axis = if extent.x >= extent.y && extent.x >= extent.z { 0 } else { usize::from(extent.y < extent.z) + 1 };
    (axis, low[axis], extent[axis])
}

/// Partitions `items` at the bin boundary with the lowest cost. Returns the number of items before the boundary.
fn split(items: &mut [BuildItem]) -> usize {
    let (axis, low, extent) = longest_axis(items);
    if extent <= 0.0 {
        return items.len() / 2;
    }
    let scale = BINS as f32 / extent;
    let bin_of = |item: &BuildItem| (((item.doubled_center()[axis] - low) * scale) as usize).min(BINS - 1);
    let mut bins = [(Vec3::INFINITY, Vec3::NEG_INFINITY, 0_usize); BINS];
    for item in items.iter() {
        let bin = &mut bins[bin_of(item)];
        *bin = (bin.0.min(item.min), bin.1.max(item.max), bin.2 + 1);
    }
    let mut right_cost = [0.0; BINS];
    let mut sum = (Vec3::INFINITY, Vec3::NEG_INFINITY, 0);
    for i in (1..BINS).rev() {
        sum = (sum.0.min(bins[i].0), sum.1.max(bins[i].1), sum.2 + bins[i].2);
        right_cost[i] = if sum.2 > 0 { half_area(sum.0, sum.1) * sum.2 as f32 } else { 0.0 };
    }
    let mut best = (f32::INFINITY, 0);
    let mut sum = (Vec3::INFINITY, Vec3::NEG_INFINITY, 0);
    for i in 0..BINS - 1 {
        sum = (sum.0.min(bins[i].0), sum.1.max(bins[i].1), sum.2 + bins[i].2);
        if sum.2 == 0 || sum.2 == items.len() {
            continue;
        }
        let cost = half_area(sum.0, sum.1) * sum.2 as f32 + right_cost[i + 1];
        if cost < best.0 {
            best = (cost, i);
        }
    }
    let mut left = 0;
    for i in 0..items.len() {
        if bin_of(&items[i]) <= best.1 {
            items.swap(left, i);
            left += 1;
        }
    }
    left
}
