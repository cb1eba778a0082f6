//! A bounding volume hierarchy over triangles. Each node has eight children, whose boxes are tested at once (Wald,
//! Benthin and Boulos 2008, "Getting Rid of Packets"). The hierarchy is first built as a binary tree.
//!
//! A leaf has up to eight triangles, which are tested at once, too. Processors with AVX test all eight boxes or triangles with
//! 256-bit instructions. Other processors test two groups of four. Both methods compute the same numbers, so a ray finds the
//! same hit on all processors.

mod build;
mod lanes;
mod node;
mod triangles;

use arrayvec::ArrayVec;
use glam::Vec3;

use build::{BinaryNode, BuildItem, build, half_area};
use lanes::BLOCK;
use node::{Entries, Node, NodeRay};
use triangles::{BlockHit, TriangleBlock, TriangleRay};

/// Number of children per node.
const WIDTH: usize = 8;
/// Maximum number of levels of the tree below its root. If each node splits its triangles in half, the tree has fewer
/// levels than this for any number of triangles that fits into memory.
const MAX_LEVELS: u32 = 64;
/// Capacity of the traversal stack. Each level of the tree adds at most seven nodes to the stack.
const MAX_STACK: usize = (WIDTH - 1) * MAX_LEVELS as usize;

/// Index of a mesh, and index of a triangle in this mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TriangleId {
    pub(crate) mesh: u32,
    pub(crate) triangle: u32,
}

/// Intersection of a ray with a triangle (a, b, c). The point of intersection is `(1 − u − v)·a + u·b + v·c`, at the
/// distance `t` along the ray.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) t: f32,
    pub(crate) u: f32,
    pub(crate) v: f32,
    pub(crate) id: TriangleId,
}

impl Hit {
    /// Returns the barycentric weights of the point in its triangle.
    pub(crate) fn weights(&self) -> [f32; 3] {
        [1.0 - self.u - self.v, self.u, self.v]
    }
}

/// The index of an inner node, or the index of a leaf's block with the bit `LEAF` set. A 32-bit index keeps nodes
/// small, so that more nodes of large models fit into the processor's cache.
type Child = u32;
/// Bit that distinguishes leaves from inner nodes.
const LEAF: u32 = 1 << 31;

/// A child of a node, and the distance at which a ray enters its box. The distance is in the upper half of the number, and
/// the child in the lower half. The nearer of two children is then chosen without a branch, which processors would mispredict
/// half of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EnteredChild(u64);

impl EnteredChild {
    /// `distance` must not be negative.
    fn new(child: Child, distance: f32) -> Self {
        Self(u64::from(distance.to_bits()) << 32 | u64::from(child))
    }

    fn child(self) -> Child {
        self.0 as u32
    }

    /// Returns the bits of the distance. They have the same order as the distances, because no distance is negative.
    fn distance_bits(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn distance(self) -> f32 {
        f32::from_bits(self.distance_bits())
    }

    /// Returns both children, the nearer one first. If both are equally far away, `other` comes first.
    fn nearer_first(self, other: Self) -> (Self, Self) {
        if other.distance_bits() <= self.distance_bits() { (other, self) } else { (self, other) }
    }
}

pub(crate) struct Bvh {
    nodes: Vec<Node>,
    /// The triangles of each leaf.
    blocks: Vec<TriangleBlock>,
    /// For each block, the IDs of its triangles. The IDs are stored separately, because only the ID of a ray's final
    /// hit is read.
    ids: Vec<[TriangleId; BLOCK]>,
    /// Whether the processor has AVX.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86-64 has AVX"))]
    avx: bool,
}

impl Bvh {
    /// Builds a hierarchy over triangles. Degenerate triangles and triangles with non-finite corners are ignored.
    pub(crate) fn new(corners: impl Iterator<Item = ([Vec3; 3], TriangleId)>) -> Self {
        let mut items: Vec<BuildItem> = corners
            .filter(|(c, _)| c.iter().all(|p| p.is_finite()) && (c[1] - c[0]).cross(c[2] - c[0]) != Vec3::ZERO)
            .map(|(corners, id)| BuildItem::new(corners, id))
            .collect();
        let mut out = Self { nodes: Vec::new(), blocks: Vec::new(), ids: Vec::new(), avx: has_avx() };
        if !items.is_empty() {
            let binary = build(&mut items, 0, MAX_LEVELS);
            out.add_node(&binary, 0, &items);
        }
        out
    }

    /// Converts the binary subtree with the root `root` to nodes with eight children. Returns the index of the first
    /// new node.
    fn add_node(&mut self, binary: &[BinaryNode], root: usize, items: &[BuildItem]) -> u32 {
        // The child with the largest box is replaced by its own two children until there are eight children.
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
        self.nodes.push(Node::EMPTY);
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
            self.nodes[index].set(lane, (node.min, node.max), link);
        }
        index as u32
    }

    /// Returns the hit with the smallest distance between `t_min` and `t_max`.
    pub(crate) fn intersect(&self, origin: Vec3, direction: Vec3, t_min: f32, t_max: f32) -> Option<Hit> {
        self.hit(origin, direction, t_min, t_max, false)
    }

    /// Returns whether a ray hits a triangle at a distance of more than `t_min`.
    pub(crate) fn is_blocked(&self, origin: Vec3, direction: Vec3, t_min: f32) -> bool {
        self.hit(origin, direction, t_min, f32::INFINITY, true).is_some()
    }

    /// Returns the nearest hit, or any hit if `any` is true.
    fn hit(&self, origin: Vec3, direction: Vec3, t_min: f32, t_max: f32, any: bool) -> Option<Hit> {
        #[cfg(target_arch = "x86_64")]
        if self.avx {
            #[expect(unsafe_code, reason = "functions with target features; see decision 0066")]
            // SAFETY: `avx` is true only if the processor has AVX, which is all that the function requires.
            return unsafe { self.hit_avx(origin, direction, t_min, t_max, any) };
        }
        let ray = TriangleRay { origin, direction, t_min, t_max };
        self.traverse(ray, any, Node::entries, TriangleBlock::intersect)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx")]
    fn hit_avx(&self, origin: Vec3, direction: Vec3, t_min: f32, t_max: f32, any: bool) -> Option<Hit> {
        let ray = TriangleRay { origin, direction, t_min, t_max };
        self.traverse(ray, any, |node, ray, t_max| node.entries_avx(ray, t_max), |block, ray| block.intersect_avx(ray))
    }

    /// Finds the nearest hit, or the first hit of the traversal if `any` is true. `entries` returns the distances at
    /// which a ray enters the boxes of a node, and a bit mask of the boxes that the ray enters before the distance in the
    /// last argument. `intersect` returns the nearest hit in a leaf.
    #[expect(clippy::inline_always, reason = "the target features of the caller must apply to the whole loop")]
    #[inline(always)]
    fn traverse(
        &self,
        mut ray: TriangleRay,
        any: bool,
        entries: impl Fn(&Node, &NodeRay, f32) -> (Entries, u32),
        intersect: impl Fn(&TriangleBlock, &TriangleRay) -> Option<BlockHit>,
    ) -> Option<Hit> {
        if self.nodes.is_empty() {
            return None;
        }
        let boxes = NodeRay::new(ray.origin, ray.direction);
        let mut best: Option<(usize, BlockHit)> = None;
        // Children that are still to be visited. The nearest child of a node is visited at once, so it is never on the
        // stack.
        let mut stack = ArrayVec::<EnteredChild, MAX_STACK>::new();
        let mut next = Some(0);
        while let Some(child) = next.take() {
            if child & LEAF == 0 {
                let node = &self.nodes[child as usize];
                let (entries, mut mask) = entries(node, &boxes, ray.t_max);
                let entered = |lane: usize| EnteredChild::new(node.children[lane], entries.0[lane]);
                let base = stack.len();
                if let Some(lane) = take_lowest_bit(&mut mask) {
                    let mut nearest = entered(lane);
                    while let Some(lane) = take_lowest_bit(&mut mask) {
                        let (near, far) = nearest.nearer_first(entered(lane));
                        nearest = near;
                        // The children of this node are sorted by distance, so that the nearest of them is visited
                        // first.
                        let mut position = stack.len();
                        stack.push(far);
                        while position > base && stack[position - 1].distance_bits() < far.distance_bits() {
                            stack[position] = stack[position - 1];
                            position -= 1;
                        }
                        stack[position] = far;
                    }
                    next = Some(nearest.child());
                }
            } else {
                let block = (child ^ LEAF) as usize;
                if let Some(hit) = intersect(&self.blocks[block], &ray) {
                    ray.t_max = hit.t;
                    best = Some((block, hit));
                    if any {
                        break;
                    }
                }
            }
            while next.is_none() {
                let Some(entered) = stack.pop() else { break };
                next = (entered.distance() < ray.t_max).then_some(entered.child());
            }
        }
        best.map(|(block, BlockHit { t, u, v, lane })| Hit { t, u, v, id: self.ids[block][lane] })
    }
}

/// Clears the lowest bit that is set in `mask`, and returns its index. Returns `None` if no bit is set.
#[inline]
fn take_lowest_bit(mask: &mut u32) -> Option<usize> {
    if *mask == 0 {
        return None;
    }
    let index = mask.trailing_zeros() as usize;
    *mask &= *mask - 1;
    Some(index)
}

/// Returns whether the processor has AVX.
fn has_avx() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a function that returns pseudo-random points of a cube.
    fn random_points(mut state: u32) -> impl FnMut() -> Vec3 {
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        move || Vec3::new(random(), random(), random())
    }

    fn random_triangles(count: usize) -> Vec<[Vec3; 3]> {
        let mut point = random_points(7);
        let triangle = |_| {
            let corner = point();
            [corner, corner + point() * 0.2, corner + point() * 0.2]
        };
        (0..count).map(triangle).collect()
    }

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
        let mut point = random_points(7);
        let corners = random_triangles(500);
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
            assert_eq!(bvh.is_blocked(origin, direction, 1e-4), found.is_some());
            hits += usize::from(found.is_some());
        }
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn a_ray_finds_the_same_hit_with_and_without_avx() {
        let build = || {
            Bvh::new(random_triangles(2000).into_iter().zip(0..).map(|(c, i)| (c, TriangleId { mesh: 0, triangle: i })))
        };
        let (bvh, narrow) = (build(), Bvh { avx: false, ..build() });
        let bits = |hit: Option<Hit>| hit.map(|h| ([h.t, h.u, h.v].map(f32::to_bits), h.id));
        let mut point = random_points(11);
        for axis in [Vec3::ZERO, Vec3::X, Vec3::NEG_Y] {
            for _ in 0..500 {
                let (origin, direction) = (point(), point());
                let direction = if axis == Vec3::ZERO { direction.normalize() } else { axis };
                let [wide, narrow] = [&bvh, &narrow].map(|bvh| bvh.intersect(origin, direction, 1e-4, f32::INFINITY));
                assert_eq!(bits(wide), bits(narrow), "{origin} {direction}");
            }
        }
    }

    #[test]
    fn the_child_that_a_ray_enters_first_comes_first() {
        let (near, far) = (EnteredChild::new(LEAF | 7, 0.0), EnteredChild::new(3, 1.5));
        assert_eq!((near.child(), far.child(), far.distance_bits()), (LEAF | 7, 3, 1.5_f32.to_bits()));
        assert_eq!(near.nearer_first(far), (near, far));
        assert_eq!(far.nearer_first(near), (near, far));
        let equal = EnteredChild::new(9, 1.5);
        assert_eq!(far.nearer_first(equal), (equal, far));
        assert_eq!(equal.nearer_first(far), (far, equal));
        let infinite = EnteredChild::new(1, f32::INFINITY);
        assert_eq!(infinite.nearer_first(far), (far, infinite));
    }

    /// Returns the number of levels below a node of the binary tree.
    fn levels(nodes: &[BinaryNode], index: usize) -> u32 {
        let node = &nodes[index];
        if node.count > 0 { 0 } else { 1 + levels(nodes, index + 1).max(levels(nodes, node.link as usize)) }
    }

    #[test]
    fn no_triangles_make_the_tree_deeper_than_its_limit() {
        // On each axis, 200 triangles become smaller and closer to the origin, by a factor of 2^100 in all. Each split
        // of the surface area heuristic separates only a few of these triangles, so a tree from this heuristic alone is
        // deep.
        const LIMIT: u32 = 20;
        let corners: Vec<[Vec3; 3]> = (0..600)
            .map(|i| {
                let size = 2_f32.powf(50.0 - (i / 3) as f32 / 2.0);
                let axes = [Vec3::X, Vec3::Y, Vec3::Z];
                let axis = axes[i as usize % 3];
                let aside = axes[(i as usize + 1) % 3] * size * 0.1;
                [axis * size, axis * size * 1.1, axis * size + aside]
            })
            .collect();
        let id = |i: usize| TriangleId { mesh: 0, triangle: i as u32 };
        let mut items: Vec<BuildItem> = corners.iter().enumerate().map(|(i, c)| BuildItem::new(*c, id(i))).collect();
        assert!(levels(&build(&mut items, 0, LIMIT), 0) <= LIMIT);
        assert!(levels(&build(&mut items, 0, u32::MAX), 0) > LIMIT, "the heuristic alone exceeds the limit");
        let bvh = Bvh::new(corners.iter().enumerate().map(|(i, c)| (*c, id(i))));
        for (i, [a, b, c]) in corners.into_iter().enumerate() {
            let (center, size) = ((a + b + c) / 3.0, (b - a).length());
            // For larger and smaller triangles, products in the intersection test exceed the range of `f32`.
            if !(1e-12..1e12).contains(&size) {
                continue;
            }
            let toward = (b - a).cross(c - a) / (size * size);
            let hit = bvh.intersect(center - toward * size, toward.normalize(), 0.0, f32::INFINITY).unwrap();
            assert_eq!(hit.id, id(i));
        }
    }

    #[test]
    fn degenerate_and_non_finite_triangles_are_never_hit() {
        let invalid = [[Vec3::ZERO; 3], [Vec3::NAN; 3]];
        let bvh = Bvh::new(invalid.into_iter().map(|c| (c, TriangleId::default())));
        assert!(bvh.intersect(Vec3::Z, Vec3::NEG_Z, 0.0, f32::INFINITY).is_none());
    }
}
