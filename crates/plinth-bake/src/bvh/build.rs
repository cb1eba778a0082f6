//! Builds a binary tree over triangles, with a binned surface area heuristic (Wald 2007, "On fast Construction of
//! SAH-based Bounding Volume Hierarchies").

use glam::Vec3;

use super::TriangleId;
use super::lanes::BLOCK;

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
        let axis = extent_of_centers(items).1.max_position();
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

/// Returns the smallest doubled centre of the items, and the extent of all doubled centres.
fn extent_of_centers(items: &[BuildItem]) -> (Vec3, Vec3) {
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for item in items {
        low = low.min(item.doubled_center());
        high = high.max(item.doubled_center());
    }
    (low, high - low)
}

/// Bounding box and number of several items.
#[derive(Clone, Copy)]
struct Group {
    min: Vec3,
    max: Vec3,
    count: usize,
}

impl Group {
    const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY, count: 0 };

    fn with(&self, o: &Self) -> Self {
        Self { min: self.min.min(o.min), max: self.max.max(o.max), count: self.count + o.count }
    }

    /// Returns a number that is proportional to the time that rays take for the items: the probability that a ray enters
    /// the box, times the number of leaves, because all items of a leaf are tested at once.
    fn cost(&self) -> f32 {
        if self.count == 0 { 0.0 } else { half_area(self.min, self.max) * self.count.div_ceil(BLOCK) as f32 }
    }
}

/// Returns the bin with the lowest cost for a split after it, and the cost, or `None` if all items are in one bin.
fn best_split(bins: &[Group; BINS]) -> Option<(f32, usize)> {
    let mut after = [Group::EMPTY; BINS];
    for bin in (1..BINS).rev() {
        after[bin - 1] = after[bin].with(&bins[bin]);
    }
    let mut before = Group::EMPTY;
    let mut best: Option<(f32, usize)> = None;
    for bin in 0..BINS - 1 {
        before = before.with(&bins[bin]);
        if before.count == 0 || after[bin].count == 0 {
            continue;
        }
        let cost = before.cost() + after[bin].cost();
        if best.is_none_or(|(lowest, _bin)| cost < lowest) {
            best = Some((cost, bin));
        }
    }
    best
}

/// Partitions `items` at the boundary between bins with the lowest cost, of all axes. Returns the number of items before the
/// boundary.
fn split(items: &mut [BuildItem]) -> usize {
    let (low, extent) = extent_of_centers(items);
    let scale = extent.map(|extent| if extent > 0.0 { BINS as f32 / extent } else { 0.0 });
    let bins_of =
        |item: &BuildItem| ((item.doubled_center() - low) * scale).to_array().map(|bin| (bin as usize).min(BINS - 1));
    let mut bins = [[Group::EMPTY; BINS]; 3];
    for item in items.iter() {
        let one = Group { min: item.min, max: item.max, count: 1 };
        for (bins, bin) in bins.iter_mut().zip(bins_of(item)) {
            bins[bin] = bins[bin].with(&one);
        }
    }
    let of_axis = |axis: usize| best_split(&bins[axis]).map(|(cost, bin)| (cost, axis, bin));
    let best = (0..3).filter_map(of_axis).min_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let Some((_cost, axis, last)) = best else { return items.len() / 2 };
    let mut left = 0;
    for i in 0..items.len() {
        if bins_of(&items[i])[axis] <= last {
            items.swap(left, i);
            left += 1;
        }
    }
    left
}
