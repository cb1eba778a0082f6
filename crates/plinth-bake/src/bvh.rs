//! A bounding volume hierarchy over triangles, split by the surface area heuristic in bins
//! (Wald 2007, "On fast Construction of SAH-based Bounding Volume Hierarchies").

use glam::Vec3;

/// Triangles per leaf, at most, unless they cannot be told apart.
const LEAF: usize = 4;
/// Bins per axis.
const BINS: usize = 16;
/// Below this many triangles a subtree is built on one thread.
const PARALLEL: usize = 8192;
/// Deepest traversal: more than any tree of 2^32 triangles needs.
const STACK: usize = 96;

/// A triangle of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TriangleId {
    pub(crate) mesh: u32,
    pub(crate) triangle: u32,
}

/// Where a ray hits: the point is `(1 − u − v)·a + u·b + v·c`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) t: f32,
    pub(crate) u: f32,
    pub(crate) v: f32,
    pub(crate) id: TriangleId,
}

/// A triangle prepared for intersection.
#[derive(Clone, Copy)]
struct Triangle {
    a: Vec3,
    ab: Vec3,
    ac: Vec3,
    id: TriangleId,
}

#[derive(Clone, Copy)]
struct Node {
    min: Vec3,
    /// First triangle of a leaf, or index of the second child (the first one follows its parent).
    link: u32,
    max: Vec3,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
}

/// The hierarchy.
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    triangles: Vec<Triangle>,
}

#[derive(Clone, Copy)]
struct Item {
    min: Vec3,
    max: Vec3,
    triangle: Triangle,
}

impl Item {
    fn center2(&self) -> Vec3 {
        self.min + self.max
    }
}

impl Bvh {
    /// Builds a hierarchy over triangles given by their corners.
    pub(crate) fn new(corners: impl Iterator<Item = ([Vec3; 3], TriangleId)>) -> Self {
        let mut items: Vec<Item> = corners
            .filter(|(c, _)| c.iter().all(|p| p.is_finite()) && (c[1] - c[0]).cross(c[2] - c[0]) != Vec3::ZERO)
            .map(|([a, b, c], id)| Item {
                min: a.min(b).min(c),
                max: a.max(b).max(c),
                triangle: Triangle { a, ab: b - a, ac: c - a, id },
            })
            .collect();
        let nodes = if items.is_empty() { Vec::new() } else { build(&mut items, 0) };
        Self { nodes, triangles: items.into_iter().map(|i| i.triangle).collect() }
    }

    /// The nearest hit beyond `t_min`.
    pub(crate) fn intersect(&self, origin: Vec3, direction: Vec3, t_min: f32) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        self.walk(origin, direction, t_min, |hit| {
            best = Some(hit);
            false
        });
        best
    }

    /// Visits hits, each nearer than the ones before; `stop` ends the walk by returning true.
    fn walk(&self, origin: Vec3, direction: Vec3, t_min: f32, mut stop: impl FnMut(Hit) -> bool) {
        if self.nodes.is_empty() {
            return;
        }
        let inverse = direction.recip();
        let mut t_max = f32::INFINITY;
        let mut stack = [(0_u32, 0.0_f32); STACK];
        let mut depth = 0;
        let mut at = 0_u32;
        loop {
            let node = &self.nodes[at as usize];
            if node.count > 0 {
                let first = node.link as usize;
                for triangle in &self.triangles[first..first + node.count as usize] {
                    if let Some(hit) = triangle.intersect(origin, direction, t_min, t_max) {
                        t_max = hit.t;
                        if stop(hit) {
                            return;
                        }
                    }
                }
            } else {
                let (left, right) = (at + 1, node.link);
                let near = self.nodes[left as usize].entry(origin, inverse, t_max);
                let far = self.nodes[right as usize].entry(origin, inverse, t_max);
                let ((first, t_first), (second, t_second)) =
                    if near <= far { ((left, near), (right, far)) } else { ((right, far), (left, near)) };
                if t_first < t_max {
                    if t_second < t_max && depth < STACK {
                        stack[depth] = (second, t_second);
                        depth += 1;
                    }
                    at = first;
                    continue;
                }
            }
            loop {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                if stack[depth].1 < t_max {
                    at = stack[depth].0;
                    break;
                }
            }
        }
    }
}

impl Node {
    /// Distance at which a ray enters the box; infinite when it misses.
    fn entry(&self, origin: Vec3, inverse: Vec3, t_max: f32) -> f32 {
        let a = (self.min - origin) * inverse;
        let b = (self.max - origin) * inverse;
        let enter = a.min(b).max_element().max(0.0);
        let leave = a.max(b).min_element();
        if enter <= leave && enter < t_max { enter } else { f32::INFINITY }
    }
}

impl Triangle {
    /// Möller and Trumbore 1997.
    fn intersect(&self, origin: Vec3, direction: Vec3, t_min: f32, t_max: f32) -> Option<Hit> {
        let p = direction.cross(self.ac);
        let determinant = self.ab.dot(p);
        if determinant == 0.0 {
            return None;
        }
        let inverse = 1.0 / determinant;
        let s = origin - self.a;
        let u = s.dot(p) * inverse;
        if !(0.0..=1.0).contains(&u) {
            return None;
        }
        let q = s.cross(self.ab);
        let v = direction.dot(q) * inverse;
        if v < 0.0 || u + v > 1.0 {
            return None;
        }
        let t = self.ac.dot(q) * inverse;
        (t > t_min && t < t_max).then_some(Hit { t, u, v, id: self.id })
    }
}

fn half_area(min: Vec3, max: Vec3) -> f32 {
    let d = max - min;
    d.x * d.y + d.y * d.z + d.z * d.x
}

/// Sorts `items` into leaf order and returns the nodes of their subtree; `first` is the index of `items[0]` overall.
fn build(items: &mut [Item], first: usize) -> Vec<Node> {
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for item in items.iter() {
        min = min.min(item.min);
        max = max.max(item.max);
    }
    let leaf = |count: usize| vec![Node { min, max, link: first as u32, count: count as u32 }];
    if items.len() <= LEAF {
        return leaf(items.len());
    }
    let middle = split(items).clamp(1, items.len() - 1);
    let parallel = items.len() > PARALLEL;
    let (left, right) = items.split_at_mut(middle);
    let (mut left, right) = if parallel {
        rayon::join(|| build(left, first), || build(right, first + middle))
    } else {
        (build(left, first), build(right, first + middle))
    };
    let mut nodes = Vec::with_capacity(1 + left.len() + right.len());
    nodes.push(Node { min, max, link: (1 + left.len()) as u32, count: 0 });
    let shift = |nodes: &mut [Node], by: usize| {
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

/// Partitions at the cheapest bin boundary and returns how many items are left of it.
fn split(items: &mut [Item]) -> usize {
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for item in items.iter() {
        low = low.min(item.center2());
        high = high.max(item.center2());
    }
    let extent = high - low;
    let axis = if extent.x >= extent.y && extent.x >= extent.z { 0 } else { usize::from(extent.y < extent.z) + 1 };
    if extent[axis] <= 0.0 {
        return items.len() / 2;
    }
    let scale = BINS as f32 / extent[axis];
    let bin_of = |item: &Item| (((item.center2()[axis] - low[axis]) * scale) as usize).min(BINS - 1);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_many_triangles_is_hit() {
        let at = |z: f32| [Vec3::new(-1.0, -1.0, z), Vec3::new(2.0, -1.0, z), Vec3::new(-1.0, 2.0, z)];
        let bvh = Bvh::new((0..100_u32).map(|i| (at(-(i as f32) - 1.0), TriangleId { mesh: 0, triangle: i })));
        let hit = bvh.intersect(Vec3::ZERO, Vec3::NEG_Z, 1e-4).unwrap();
        assert_eq!(hit.id.triangle, 0);
        assert!((hit.t - 1.0).abs() < 1e-5);
        let hit = bvh.intersect(Vec3::new(0.0, 0.0, -50.5), Vec3::NEG_Z, 1e-4).unwrap();
        assert_eq!(hit.id.triangle, 50);
        assert!(bvh.intersect(Vec3::ZERO, Vec3::Z, 1e-4).is_none());
    }

    #[test]
    fn degenerate_and_unfinished_triangles_are_left_out() {
        let bad = [[Vec3::ZERO; 3], [Vec3::NAN; 3]];
        let bvh = Bvh::new(bad.into_iter().map(|c| (c, TriangleId::default())));
        assert!(bvh.intersect(Vec3::Z, Vec3::NEG_Z, 0.0).is_none());
    }
}
