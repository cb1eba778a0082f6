//! The triangles of a leaf of the bounding volume hierarchy. SIMD instructions test all of them at once.

use glam::{Vec3, Vec4};

use super::build::BuildItem;
use super::take_lowest_bit;

/// Maximum number of triangles per leaf.
pub(super) const BLOCK: usize = 4;

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
pub(super) struct TriangleBlock {
    a: Vec3x4,
    ab: Vec3x4,
    ac: Vec3x4,
}

/// A ray, with each value repeated in all four lanes.
pub(super) struct TriangleRay {
    origin: Vec3x4,
    direction: Vec3x4,
    t_min: Vec4,
}

impl TriangleRay {
    pub(super) fn new(origin: Vec3, direction: Vec3, t_min: f32) -> Self {
        Self { origin: Vec3x4::splat(origin), direction: Vec3x4::splat(direction), t_min: Vec4::splat(t_min) }
    }
}

/// Intersection of a ray with the triangle in one lane of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockHit {
    pub(super) t: f32,
    pub(super) u: f32,
    pub(super) v: f32,
    pub(super) lane: usize,
}

impl TriangleBlock {
    pub(super) fn new(items: &[BuildItem]) -> Self {
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
    #[inline]
    pub(super) fn intersect(&self, ray: &TriangleRay, t_max: f32) -> Option<BlockHit> {
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
        if mask == 0 {
            return None;
        }
        // Arrays, because the compiler turns `Vec4` with a variable index into a jump, which processors mispredict.
        let (t, u, v) = (t.to_array(), u.to_array(), v.to_array());
        let mut best: Option<usize> = None;
        while let Some(lane) = take_lowest_bit(&mut mask) {
            if best.is_none_or(|b| t[lane] < t[b]) {
                best = Some(lane);
            }
        }
        best.map(|lane| BlockHit { t: t[lane], u: u[lane], v: v[lane], lane })
    }
}
