//! Merges vertices within a chunk, which is a part of a surface's triangles.

use glam::Vec3;

use super::surface::{Surface, VertexShape};

/// Value that marks an unused vertex.
pub(super) const NONE: u32 = u32::MAX;
/// A vertex may be merged only if the triangles around it are nearly coplanar: the length of the sum of their normals
/// must be at least this fraction of the sum of the normals' lengths.
const MIN_FLATNESS: f32 = 0.97;
/// Same as `MIN_FLATNESS`, for the gradients of texture coordinates. Around a vertex that may be merged, the texture is
/// hardly distorted.
const MIN_EVENNESS: f32 = 0.9;
/// Minimum cosine of the angle by which a triangle is turned when its corners are merged.
const MIN_TURN_COSINE: f32 = 0.8;

/// Some triangles of a surface, with their own numbering of vertices.
pub(super) struct Chunk<'a> {
    surface: &'a Surface<'a>,
    /// The vertices of the surface that the triangles use.
    vertices: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

/// Properties of the surface around a vertex.
#[derive(Clone, Copy, Default)]
struct Around {
    shape: VertexShape,
    /// Whether the vertex is inside the chunk, on a smooth part of the surface.
    is_free: bool,
}

impl<'a> Chunk<'a> {
    /// Collects the vertices of triangles. `places` has one entry per vertex of the surface. All entries are `NONE`
    /// before and after the call.
    pub(super) fn new(surface: &'a Surface<'a>, places: &mut [u32], indices: &[u32]) -> Self {
        let mut vertices: Vec<u32> = Vec::new();
        let mut place_of = |i: u32| {
            let place = &mut places[i as usize];
            if *place == NONE {
                *place = vertices.len() as u32;
                vertices.push(i);
            }
            *place
        };
        let triangles = indices.as_chunks::<3>().0.iter().map(|t| t.map(&mut place_of)).collect();
        for i in &vertices {
            places[*i as usize] = NONE;
        }
        Self { surface, vertices, triangles }
    }

    /// Returns the triangles that remain, as indices of the surface's vertices.
    pub(super) fn merged(&self) -> Vec<u32> {
        let mut targets = self.targets(&self.around());
        self.undo_turned(&mut targets);
        let place = |v: &u32| self.vertices[targets[*v as usize] as usize];
        let moved = self.triangles.iter().map(|triangle| triangle.each_ref().map(place));
        moved.filter(|[a, b, c]| a != b && b != c && c != a).flatten().collect()
    }

    fn positions(&self, triangle: [u32; 3]) -> [Vec3; 3] {
        triangle.map(|v| self.surface.position(self.vertices[v as usize]))
    }

    fn around(&self) -> Vec<Around> {
        let mut sums = vec![Sum::default(); self.vertices.len()];
        for triangle in &self.triangles {
            let [a, b, c] = self.positions(*triangle);
            let normal = (b - a).cross(c - a);
            let area = normal.length();
            let uv = triangle.map(|v| self.surface.uv(self.vertices[v as usize]));
            let (u, w) = ((c - a).cross(normal), normal.cross(b - a));
            let gradients = [0, 1].map(|k| (u * (uv[1] - uv[0])[k] + w * (uv[2] - uv[0])[k]) / area);
            for k in 0..3 {
                let sum = &mut sums[triangle[k] as usize];
                sum.normal += normal;
                // The gradients of a degenerate triangle are NaN. Comparisons with NaN are false, so its vertices are
                // not free.
                sum.area += area;
                sum.gradients[0] += gradients[0];
                sum.gradients[1] += gradients[1];
                sum.steepness += steepness(gradients);
                let (next, previous) = (triangle[(k + 1) % 3], triangle[(k + 2) % 3]);
                sum.balance = sum.balance.wrapping_add(scrambled(next)).wrapping_sub(scrambled(previous));
            }
        }
        sums.into_iter().map(Sum::finished).collect()
    }

    /// Chooses for each vertex the vertex that replaces it.
    fn targets(&self, around: &[Around]) -> Vec<u32> {
        let mut targets = vec![NONE; self.vertices.len()];
        let may_merge = |vertex: u32, center: u32| {
            let with_shape = |v: u32| (self.vertices[v as usize], &around[v as usize].shape);
            around[vertex as usize].is_free && self.surface.may_merge(with_shape(vertex), with_shape(center))
        };
        for [a, b, c] in &self.triangles {
            for (a, b) in [(*a, *b), (*b, *c), (*c, *a)] {
                let is_center = |v: u32| targets[v as usize] == NONE || targets[v as usize] == v;
                let (vertex, center) = match (targets[a as usize], targets[b as usize]) {
                    (_, NONE) if is_center(a) && may_merge(b, a) => (b, a),
                    (NONE, _) if is_center(b) && may_merge(a, b) => (a, b),
                    _ => continue,
                };
                targets[vertex as usize] = center;
                targets[center as usize] = center;
            }
        }
        for (target, v) in targets.iter_mut().zip(0..) {
            if *target == NONE {
                *target = v;
            }
        }
        targets
    }

    /// Finds triangles that merging would turn, and does not merge the corners of these triangles.
    fn undo_turned(&self, targets: &mut [u32]) {
        loop {
            let mut is_changed = false;
            for triangle in &self.triangles {
                let moved = triangle.map(|v| targets[v as usize]);
                let [a, b, c] = moved;
                if moved != *triangle && a != b && b != c && c != a && self.is_turned(*triangle, moved) {
                    for v in triangle.iter().filter(|v| targets[**v as usize] != **v).copied().collect::<Vec<u32>>() {
                        targets[v as usize] = v;
                    }
                    is_changed = true;
                }
            }
            if !is_changed {
                return;
            }
        }
    }

    fn is_turned(&self, triangle: [u32; 3], moved: [u32; 3]) -> bool {
        let normal = |triangle: [u32; 3]| {
            let [a, b, c] = self.positions(triangle);
            (b - a).cross(c - a)
        };
        let (before, after) = (normal(triangle), normal(moved));
        // A triangle without area counts as turned, because the comparison is false.
        let is_kept = before.dot(after) > MIN_TURN_COSINE * before.length() * after.length();
        !is_kept
    }
}

/// Sums over the triangles of a vertex.
#[derive(Clone, Copy, Default)]
struct Sum {
    normal: Vec3,
    area: f32,
    gradients: [Vec3; 2],
    steepness: f32,
    /// Sum over the triangles around the vertex: the hash of the corner after the vertex minus the hash of the corner
    /// before the vertex. The sum is 0 if each corner after the vertex in one triangle is the corner before the vertex
    /// in another triangle, which means that the triangles surround the vertex.
    balance: u32,
}

impl Sum {
    fn finished(self) -> Around {
        let length = self.normal.length();
        let is_flat = length > 0.0 && length >= MIN_FLATNESS * self.area;
        let uv_gradients = self.gradients.map(|sum| sum / self.area);
        let is_even = steepness(self.gradients) >= MIN_EVENNESS * self.steepness;
        let shape = VertexShape { normal: self.normal / length.max(f32::MIN_POSITIVE), uv_gradients };
        Around { shape, is_free: is_flat && is_even && self.balance == 0 }
    }
}

/// Returns the length of the gradients of both texture coordinates together.
fn steepness([s, t]: [Vec3; 2]) -> f32 {
    (s.length_squared() + t.length_squared()).sqrt()
}

/// Returns a hash of a number (the finaliser of MurmurHash3, Appleby 2011).
fn scrambled(v: u32) -> u32 {
    let v = (v ^ (v >> 16)).wrapping_mul(0x85eb_ca6b);
    let v = (v ^ (v >> 13)).wrapping_mul(0xc2b2_ae35);
    v ^ (v >> 16)
}
