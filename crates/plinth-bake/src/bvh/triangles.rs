//! The triangles of a leaf of the bounding volume hierarchy. SIMD instructions test all of them at once.

use glam::{Vec3, Vec4};

use super::build::BuildItem;
use super::lanes::{BLOCK, Lanes};
use super::take_lowest_bit;

/// 3D vectors as a structure of arrays.
#[derive(Clone, Copy, Default)]
struct Vectors<N> {
    x: N,
    y: N,
    z: N,
}

impl Vectors<Lanes> {
    fn set(&mut self, lane: usize, v: Vec3) {
        self.x.0[lane] = v.x;
        self.y.0[lane] = v.y;
        self.z.0[lane] = v.z;
    }

    /// Returns the vectors of four lanes from the lane `first` on.
    #[inline]
    fn four(&self, first: usize) -> Vectors<Vec4> {
        let four = |lanes: &Lanes| Vec4::from_slice(&lanes.0[first..first + 4]);
        Vectors { x: four(&self.x), y: four(&self.y), z: four(&self.z) }
    }
}

impl Vectors<Vec4> {
    #[inline]
    fn splat(v: Vec3) -> Self {
        Self { x: Vec4::splat(v.x), y: Vec4::splat(v.y), z: Vec4::splat(v.z) }
    }

    #[inline]
    fn minus(self, o: Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }

    #[inline]
    fn cross(self, o: Self) -> Self {
        Self { x: self.y * o.z - self.z * o.y, y: self.z * o.x - self.x * o.z, z: self.x * o.y - self.y * o.x }
    }

    #[inline]
    fn dot(self, o: Self) -> Vec4 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
}

/// The triangles of a leaf, each as its corner `a` and the two edges from this corner. Unused lanes are degenerate triangles,
/// which no ray hits.
#[derive(Clone, Copy, Default)]
pub(super) struct TriangleBlock {
    a: Vectors<Lanes>,
    ab: Vectors<Lanes>,
    ac: Vectors<Lanes>,
}

/// The part of a ray on which hits are searched.
#[derive(Clone, Copy)]
pub(super) struct TriangleRay {
    pub(super) origin: Vec3,
    pub(super) direction: Vec3,
    pub(super) t_min: f32,
    pub(super) t_max: f32,
}

/// Intersection of a ray with the triangle in one lane of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockHit {
    pub(super) t: f32,
    pub(super) u: f32,
    pub(super) v: f32,
    pub(super) lane: usize,
}

/// Intersections of a ray with the planes of triangles: the distances along the ray, and the barycentric coordinates. For
/// degenerate triangles these are infinite or NaN, so every comparison is false.
struct PlaneHits {
    t: Vec4,
    u: Vec4,
    v: Vec4,
}

impl PlaneHits {
    /// Returns a bit mask of the triangles that the ray hits before `t_max`.
    #[inline]
    fn inside(&self, ray: &TriangleRay, t_max: f32) -> u32 {
        let inside = self.u.cmpge(Vec4::ZERO) & self.v.cmpge(Vec4::ZERO) & (self.u + self.v).cmple(Vec4::ONE);
        (inside & self.t.cmpgt(Vec4::splat(ray.t_min)) & self.t.cmplt(Vec4::splat(t_max))).bitmask()
    }
}

/// Returns the nearest hit of those in a bit mask. `t`, `u` and `v` contain the values of consecutive lanes, from the lane `first`
/// on.
#[inline]
fn nearest([t, u, v]: [&[f32]; 3], mut mask: u32, first: usize) -> Option<BlockHit> {
    let mut best = take_lowest_bit(&mut mask)?;
    while let Some(lane) = take_lowest_bit(&mut mask) {
        if t[lane] < t[best] {
            best = lane;
        }
    }
    Some(BlockHit { t: t[best], u: u[best], v: v[best], lane: first + best })
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

    /// Returns the nearest hit.
    #[inline]
    pub(super) fn intersect(&self, ray: &TriangleRay) -> Option<BlockHit> {
        let mut best: Option<BlockHit> = None;
        for first in (0..BLOCK).step_by(4) {
            let hits = self.plane_hits(ray, first);
            let mask = hits.inside(ray, best.map_or(ray.t_max, |hit| hit.t));
            // Lists, because the compiler turns a register with a variable index into a jump, which processors mispredict.
            let (t, u, v) = (hits.t.to_array(), hits.u.to_array(), hits.v.to_array());
            best = nearest([&t, &u, &v], mask, first).or(best);
        }
        best
    }

    /// Returns the intersections with the planes of four triangles from the lane `first` on (Möller and Trumbore 1997, "Fast,
    /// Minimum Storage Ray-Triangle Intersection").
    #[inline]
    fn plane_hits(&self, ray: &TriangleRay, first: usize) -> PlaneHits {
        let (origin, direction) = (Vectors::splat(ray.origin), Vectors::splat(ray.direction));
        let (a, ab, ac) = (self.a.four(first), self.ab.four(first), self.ac.four(first));
        let p = direction.cross(ac);
        let inverse = ab.dot(p).recip();
        let s = origin.minus(a);
        let q = s.cross(ab);
        PlaneHits { t: ac.dot(q) * inverse, u: s.dot(p) * inverse, v: direction.dot(q) * inverse }
    }

    /// Same as [`intersect`](Self::intersect), with instructions that calculate with eight numbers at once. They are written
    /// out, because at some optimisation levels the compiler would calculate with one number after another. Each number is the result of the same
    /// operations in the same order.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) fn intersect_avx(&self, ray: &TriangleRay) -> Option<BlockHit> {
        use std::arch::x86_64::{
            _CMP_GE_OQ, _CMP_GT_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _mm256_add_ps, _mm256_and_ps, _mm256_cmp_ps, _mm256_div_ps,
            _mm256_movemask_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_sub_ps,
        };
        // Small closures without lists, which the compiler inlines: `a·b − c·d`, and a sum of three products.
        let difference = |a, b, c, d| _mm256_sub_ps(_mm256_mul_ps(a, b), _mm256_mul_ps(c, d));
        let sum = |a, b, c, d, e, f| {
            _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(a, b), _mm256_mul_ps(c, d)), _mm256_mul_ps(e, f))
        };
        let Vec3 { x, y, z } = ray.direction;
        let (dx, dy, dz) = (_mm256_set1_ps(x), _mm256_set1_ps(y), _mm256_set1_ps(z));
        let (abx, aby, abz) = (self.ab.x.load(), self.ab.y.load(), self.ab.z.load());
        let (acx, acy, acz) = (self.ac.x.load(), self.ac.y.load(), self.ac.z.load());
        let px = difference(dy, acz, dz, acy);
        let py = difference(dz, acx, dx, acz);
        let pz = difference(dx, acy, dy, acx);
        let inverse = _mm256_div_ps(_mm256_set1_ps(1.0), sum(abx, px, aby, py, abz, pz));
        let sx = _mm256_sub_ps(_mm256_set1_ps(ray.origin.x), self.a.x.load());
        let sy = _mm256_sub_ps(_mm256_set1_ps(ray.origin.y), self.a.y.load());
        let sz = _mm256_sub_ps(_mm256_set1_ps(ray.origin.z), self.a.z.load());
        let qx = difference(sy, abz, sz, aby);
        let qy = difference(sz, abx, sx, abz);
        let qz = difference(sx, aby, sy, abx);
        let t = _mm256_mul_ps(sum(acx, qx, acy, qy, acz, qz), inverse);
        let u = _mm256_mul_ps(sum(sx, px, sy, py, sz, pz), inverse);
        let v = _mm256_mul_ps(sum(dx, qx, dy, qy, dz, qz), inverse);
        let zero = _mm256_setzero_ps();
        let positive = _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(u, zero), _mm256_cmp_ps::<_CMP_GE_OQ>(v, zero));
        let inside = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_add_ps(u, v), _mm256_set1_ps(1.0));
        let behind = _mm256_cmp_ps::<_CMP_GT_OQ>(t, _mm256_set1_ps(ray.t_min));
        let before = _mm256_cmp_ps::<_CMP_LT_OQ>(t, _mm256_set1_ps(ray.t_max));
        let hit = _mm256_and_ps(_mm256_and_ps(positive, inside), _mm256_and_ps(behind, before));
        let mask = _mm256_movemask_ps(hit) as u32;
        if mask == 0 {
            return None;
        }
        let (t, u, v) = (Lanes::stored(t), Lanes::stored(u), Lanes::stored(v));
        nearest([&t.0, &u.0, &v.0], mask, 0)
    }
}
