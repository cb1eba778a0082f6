//! A bounding volume hierarchy over triangles. Each node has four children, so one SIMD instruction tests four boxes or
//! four triangles (Wald, Benthin and Boulos 2008, "Getting Rid of Packets"). The hierarchy is first built as a binary
//! tree.

mod build;

use arrayvec::ArrayVec;
use glam::{Vec3, Vec4};

use build::{BinaryNode, BuildItem, build, half_area};

/// Number of children per node, and maximum number of triangles per leaf.
const WIDTH: usize = 4;
/// Capacity of the traversal stack. Each level of the tree adds at most three nodes to the stack. No tree of 2^24
/// triangles exceeds this capacity.
const MAX_STACK: usize = 128;

/// Index of a mesh, and index of a triangle in this mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TriangleId {
    pub(crate) mesh: u32,
    pub(crate) triangle: u32,
}

/// Intersection of a ray with a triangle (a, b, c). The point is `(1 − u − v)·a + u·b + v·c`. Its distance along the
/// ray is `t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) t: f32,
    pub(crate) u: f32,
    pub(crate) v: f32,
    pub(crate) id: TriangleId,
}

/// Four 3D vectors as a structure of arrays.
#[derive(Clone, Copy, Default)]
struct Vec3x4 {
    x: Vec4,
    y: Vec4,
    z: Vec4,
}

impl Vec3x4 {
    fn splat(v: Vec3) -> Self {
        Self { x: Vec4::splat(v.x), y: Vec4::splat(v.y), z: Vec4::splat(v.z) }
    }

    fn set(&mut self, lane: usize, v: Vec3) {
        self.x[lane] = v.x;
        self.y[lane] = v.y;
        self.z[lane] = v.z;
    }

    fn minus(&self, o: &Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }

    fn cross(&self, o: &Self) -> Self {
        Self { x: self.y * o.z - self.z * o.y, y: self.z * o.x - self.x * o.z, z: self.x * o.y - self.y * o.x }
    }

    fn dot(&self, o: &Self) -> Vec4 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
}

/// Four triangles, each as its corner `a` and the two edges from this corner. Unused lanes are degenerate triangles,
/// which no ray hits.
#[derive(Clone, Copy, Default)]
struct TriangleBlock {
    a: Vec3x4,
    ab: Vec3x4,
    ac: Vec3x4,
}

/// A node with the bounding boxes of its four children. Unused lanes have empty boxes, which no ray enters.
#[derive(Clone, Copy)]
struct Node {
    min: Vec3x4,
    max: Vec3x4,
    children: [Child; WIDTH],
}

/// The index of an inner node, or the index of a leaf's block with the bit `LEAF`. It is small, because the nodes of
/// large models do not fit into the cache of a core.
type Child = u32;
/// Bit that distinguishes leaves from inner nodes.
const LEAF: u32 = 1 << 31;

pub(crate) struct Bvh {
    nodes: Vec<Node>,
    /// The triangles of each leaf.
    blocks: Vec<TriangleBlock>,
    /// For each block, the IDs of its triangles. They are read only for the hit that a ray returns.
    ids: Vec<[TriangleId; WIDTH]>,
}

/// A ray, with each value repeated in all four lanes.
struct Ray {
    origin: Vec3x4,
    direction: Vec3x4,
    inverse: Vec3x4,
    t_min: Vec4,
}

impl Bvh {
    /// Builds a hierarchy over triangles. Degenerate triangles and triangles with non-finite corners are ignored.
    pub(crate) fn new(corners: impl Iterator<Item = ([Vec3; 3], TriangleId)>) -> Self {
        let mut items: Vec<BuildItem> = corners
            .filter(|(c, _)| c.iter().all(|p| p.is_finite()) && (c[1] - c[0]).cross(c[2] - c[0]) != Vec3::ZERO)
            .map(|(corners, id)| BuildItem::new(corners, id))
            .collect();
        let mut out = Self { nodes: Vec::new(), blocks: Vec::new(), ids: Vec::new() };
        if !items.is_empty() {
            let binary = build(&mut items, 0);
            out.add_node(&binary, 0, &items);
        }
        out
    }

    /// Converts the binary subtree with the root `root` to nodes with four children. Returns the index of the first new
    /// node.
    fn add_node(&mut self, binary: &[BinaryNode], root: usize, items: &[BuildItem]) -> u32 {
        // The child with the largest box is replaced by its own two children until there are four children.
        let mut children = vec![root];
        while children.len() < WIDTH {
            let largest = (0..children.len()).filter(|i| binary[children[*i]].count == 0).max_by(|i, j| {
                let area = |k: &usize| half_area(binary[children[*k]].min, binary[children[*k]].max);
                area(i).total_cmp(&area(j)).then(j.cmp(i))
            });
            let Some(largest) = largest else { break };
            let replaced = children[largest];
            children[largest] = replaced + 1;
            children.push(binary[replaced].link as usize);
        }
        let index = self.nodes.len();
        let (min, max) = (Vec3x4::splat(Vec3::INFINITY), Vec3x4::splat(Vec3::NEG_INFINITY));
        self.nodes.push(Node { min, max, children: [LEAF; WIDTH] });
        for (lane, child) in children.into_iter().enumerate() {
            let node = &binary[child];
            let link = if node.count > 0 {
                let leaf = &items[node.link as usize..(node.link + node.count) as usize];
                self.blocks.push(TriangleBlock::new(leaf));
                self.ids.push(std::array::from_fn(|lane| leaf.get(lane).map_or(TriangleId::default(), |item| item.id)));
                LEAF | (self.blocks.len() - 1) as u32
            } else {
                self.add_node(binary, child, items)
            };
            let slot = &mut self.nodes[index];
            slot.min.set(lane, node.min);
            slot.max.set(lane, node.max);
            slot.children[lane] = link;
        }
        index as u32
    }

    /// Returns the hit with the smallest distance between `t_min` and `t_max`.
    pub(crate) fn intersect(&self, origin: Vec3, direction: Vec3, t_min: f32, mut t_max: f32) -> Option<Hit> {
        if self.nodes.is_empty() {
            return None;
        }
        let ray = Ray {
            origin: Vec3x4::splat(origin),
            direction: Vec3x4::splat(direction),
            inverse: Vec3x4::splat(direction.recip()),
            t_min: Vec4::splat(t_min),
        };
        let mut best: Option<(usize, BlockHit)> = None;
        // Children that are still to be visited, with the distances at which the ray enters them. The nearest child of a
        // node is visited at once, so it is never on the stack.
        let mut stack = ArrayVec::<(Child, f32), MAX_STACK>::new();
        let mut next = Some(0);
        while let Some(child) = next.take() {
            if child & LEAF == 0 {
                let node = &self.nodes[child as usize];
                let (entries, mut mask) = node.entries(&ray, t_max);
                let base = stack.len();
                let mut nearest: Option<(Child, f32)> = None;
                while mask != 0 && !stack.is_full() {
                    let lane = mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    let entered = (node.children[lane], entries[lane]);
                    let Some(known) = nearest else {
                        nearest = Some(entered);
                        continue;
                    };
                    let (near, far) = if entered.1 <= known.1 { (entered, known) } else { (known, entered) };
                    nearest = Some(near);
                    // The new entries are sorted, so that the nearest of them is visited first.
                    stack.push(far);
                    let mut position = stack.len() - 1;
                    while position > base && stack[position - 1].1 < stack[position].1 {
                        stack.swap(position - 1, position);
                        position -= 1;
                    }
                }
                next = nearest.map(|(child, _)| child);
            } else {
                let block = (child ^ LEAF) as usize;
                if let Some(hit) = self.blocks[block].intersect(&ray, t_max) {
                    t_max = hit.t;
                    best = Some((block, hit));
                }
            }
            while next.is_none() {
                let Some((child, entry)) = stack.pop() else { break };
                next = (entry < t_max).then_some(child);
            }
        }
        best.map(|(block, BlockHit { t, u, v, lane })| Hit { t, u, v, id: self.ids[block][lane] })
    }
}

/// Intersection of a ray with the triangle in one lane of a block.
#[derive(Clone, Copy)]
struct BlockHit {
    t: f32,
    u: f32,
    v: f32,
    lane: usize,
}

impl Node {
    /// Returns the distance at which the ray enters each box. Also returns a bit mask of the boxes that the ray enters
    /// before `t_max`.
    fn entries(&self, ray: &Ray, t_max: f32) -> ([f32; WIDTH], u32) {
        let distance = |plane: Vec4, origin: Vec4, inverse: Vec4| (plane - origin) * inverse;
        let (x0, x1) =
            (distance(self.min.x, ray.origin.x, ray.inverse.x), distance(self.max.x, ray.origin.x, ray.inverse.x));
        let (y0, y1) =
            (distance(self.min.y, ray.origin.y, ray.inverse.y), distance(self.max.y, ray.origin.y, ray.inverse.y));
        let (z0, z1) =
            (distance(self.min.z, ray.origin.z, ray.inverse.z), distance(self.max.z, ray.origin.z, ray.inverse.z));
        let enter = x0.min(x1).max(y0.min(y1)).max(z0.min(z1)).max(Vec4::ZERO);
        let leave = x0.max(x1).min(y0.max(y1)).min(z0.max(z1)).min(Vec4::splat(t_max));
        (enter.to_array(), enter.cmple(leave).bitmask())
    }
}

impl TriangleBlock {
    fn new(items: &[BuildItem]) -> Self {
        let mut out = Self::default();
        for (lane, item) in items.iter().enumerate() {
            let [a, b, c] = item.corners;
            out.a.set(lane, a);
            out.ab.set(lane, b - a);
            out.ac.set(lane, c - a);
        }
        out
    }

    /// Returns the nearest hit (Möller and Trumbore 1997, "Fast, Minimum Storage Ray-Triangle Intersection").
    fn intersect(&self, ray: &Ray, t_max: f32) -> Option<BlockHit> {
        let p = ray.direction.cross(&self.ac);
        let determinant = self.ab.dot(&p);
        let inverse = determinant.recip();
        let s = ray.origin.minus(&self.a);
        let u = s.dot(&p) * inverse;
        let q = s.cross(&self.ab);
        let v = ray.direction.dot(&q) * inverse;
        let t = self.ac.dot(&q) * inverse;
        // For degenerate triangles these values are infinite or NaN, so every comparison below is false.
        let inside = u.cmpge(Vec4::ZERO) & v.cmpge(Vec4::ZERO) & (u + v).cmple(Vec4::ONE);
        let mut mask = (inside & t.cmpgt(ray.t_min) & t.cmplt(Vec4::splat(t_max))).bitmask();
        let mut best: Option<usize> = None;
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if best.is_none_or(|b| t[lane] < t[b]) {
                best = Some(lane);
            }
        }
        best.map(|lane| BlockHit { t: t[lane], u: u[lane], v: v[lane], lane })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_hits_the_nearest_triangle_in_its_range() {
        let triangle_at = |z: f32| [Vec3::new(-1.0, -1.0, z), Vec3::new(2.0, -1.0, z), Vec3::new(-1.0, 2.0, z)];
        let bvh = Bvh::new((0..100_u32).map(|i| (triangle_at(-(i as f32) - 1.0), TriangleId { mesh: 0, triangle: i })));
        let hit = bvh.intersect(Vec3::ZERO, Vec3::NEG_Z, 1e-4, f32::INFINITY).unwrap();
        assert_eq!(hit.id.triangle, 0);
        assert!((hit.t - 1.0).abs() < 1e-5);
        let hit = bvh.intersect(Vec3::new(0.0, 0.0, -50.5), Vec3::NEG_Z, 1e-4, f32::INFINITY).unwrap();
        assert_eq!(hit.id.triangle, 50);
        assert!(bvh.intersect(Vec3::ZERO, Vec3::Z, 1e-4, f32::INFINITY).is_none());
        assert!(bvh.intersect(Vec3::ZERO, Vec3::NEG_Z, 1e-4, 0.9).is_none());
    }

    #[test]
    fn a_ray_finds_the_same_hit_as_a_linear_search() {
        let mut state = 7_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut point = || Vec3::new(random(), random(), random());
        let corners: Vec<[Vec3; 3]> = (0..500)
            .map(|_| {
                let corner = point();
                [corner, corner + point() * 0.2, corner + point() * 0.2]
            })
            .collect();
        let id = |i: usize| TriangleId { mesh: 0, triangle: i as u32 };
        let bvh = Bvh::new(corners.iter().enumerate().map(|(i, c)| (*c, id(i))));
        let single: Vec<Bvh> = corners.iter().enumerate().map(|(i, c)| Bvh::new([(*c, id(i))].into_iter())).collect();
        let mut hits = 0;
        for _ in 0..500 {
            let (origin, direction) = (point(), point().normalize());
            let nearest = single
                .iter()
                .filter_map(|one| one.intersect(origin, direction, 1e-4, f32::INFINITY))
                .min_by(|a, b| a.t.total_cmp(&b.t));
            let found = bvh.intersect(origin, direction, 1e-4, f32::INFINITY);
            assert_eq!(found.map(|h| h.id), nearest.map(|h| h.id));
            hits += usize::from(found.is_some());
        }
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn degenerate_and_non_finite_triangles_are_never_hit() {
        let invalid = [[Vec3::ZERO; 3], [Vec3::NAN; 3]];
        let bvh = Bvh::new(invalid.into_iter().map(|c| (c, TriangleId::default())));
        assert!(bvh.intersect(Vec3::Z, Vec3::NEG_Z, 0.0, f32::INFINITY).is_none());
    }
}
