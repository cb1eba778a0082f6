//! The triangles of a leaf of the bounding volume hierarchy. SIMD instructions test all of them at once.

use glam::{Vec3, Vec4};

use super::build::BuildItem;
use super::lanes::{BLOCK, Lanes, Numbers};
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

    #[inline]
    fn load<N: Numbers>(&self, first: usize) -> Vectors<N> {
        Vectors { x: N::load(&self.x, first), y: N::load(&self.y, first), z: N::load(&self.z, first) }
    }
}

impl<N: Numbers> Vectors<N> {
    #[inline]
    fn splat(v: Vec3) -> Self {
        Self { x: N::splat(v.x), y: N::splat(v.y), z: N::splat(v.z) }
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
    fn dot(self, o: Self) -> N {
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
struct PlaneHits<N> {
    t: N,
    u: N,
    v: N,
}

impl PlaneHits<Vec4> {
    /// Returns a bit mask of the triangles that the ray hits before `t_max`.
    #[inline]
    fn inside(&self, ray: &TriangleRay, t_max: f32) -> u32 {
        let inside = self.u.cmpge(Vec4::ZERO) & self.v.cmpge(Vec4::ZERO) & (self.u + self.v).cmple(Vec4::ONE);
        (inside & self.t.cmpgt(Vec4::splat(ray.t_min)) & self.t.cmplt(Vec4::splat(t_max))).bitmask()
    }
}

#[cfg(target_arch = "x86_64")]
impl PlaneHits<Lanes> {
    /// Same as [`PlaneHits::inside`] for the triangles of a leaf, with instructions that compare eight numbers at once.
    #[target_feature(enable = "avx")]
    #[inline]
    fn inside_avx(&self, ray: &TriangleRay) -> u32 {
        use std::arch::x86_64::{
            _CMP_GE_OQ, _CMP_GT_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _mm256_add_ps, _mm256_and_ps, _mm256_cmp_ps,
            _mm256_loadu_ps, _mm256_movemask_ps, _mm256_set1_ps, _mm256_setzero_ps,
        };
        let load = |lanes: &Lanes| {
            #[expect(unsafe_code, reason = "see decision 0066")]
            // SAFETY: The list has eight numbers, and need not be aligned.
            unsafe {
                _mm256_loadu_ps(lanes.0.as_ptr())
            }
        };
        let (t, u, v) = (load(&self.t), load(&self.u), load(&self.v));
        let zero = _mm256_setzero_ps();
        let positive = _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(u, zero), _mm256_cmp_ps::<_CMP_GE_OQ>(v, zero));
        let inside = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_add_ps(u, v), _mm256_set1_ps(1.0));
        let behind = _mm256_cmp_ps::<_CMP_GT_OQ>(t, _mm256_set1_ps(ray.t_min));
        let before = _mm256_cmp_ps::<_CMP_LT_OQ>(t, _mm256_set1_ps(ray.t_max));
        let hit = _mm256_and_ps(_mm256_and_ps(positive, inside), _mm256_and_ps(behind, before));
        _mm256_movemask_ps(hit) as u32
    }
}

impl<N: Numbers> PlaneHits<N> {
    /// Returns the nearest hit of those in a bit mask. `first` is the lane of the first triangle.
    #[inline]
    fn nearest(self, mut mask: u32, first: usize) -> Option<BlockHit> {
        let mut best = take_lowest_bit(&mut mask)?;
        // Lists, because the compiler turns a register with a variable index into a jump, which processors mispredict.
        let (t, u, v) = (self.t.to_list(), self.u.to_list(), self.v.to_list());
        let (t, u, v) = (t.as_ref(), u.as_ref(), v.as_ref());
        while let Some(lane) = take_lowest_bit(&mut mask) {
            if t[lane] < t[best] {
                best = lane;
            }
        }
        Some(BlockHit { t: t[best], u: u[best], v: v[best], lane: first + best })
    }
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
        for first in (0..BLOCK).step_by(Vec4::COUNT) {
            let planes = self.plane_hits::<Vec4>(ray, first);
            let mask = planes.inside(ray, best.map_or(ray.t_max, |hit| hit.t));
            best = planes.nearest(mask, first).or(best);
        }
        best
    }

    /// Same as [`intersect`](Self::intersect), with instructions that calculate with eight numbers at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) fn intersect_avx(&self, ray: &TriangleRay) -> Option<BlockHit> {
        let planes = self.plane_hits::<Lanes>(ray, 0);
        let mask = planes.inside_avx(ray);
        planes.nearest(mask, 0)
    }

    /// Returns the intersections with the planes of triangles from the lane `first` on (Möller and Trumbore 1997, "Fast,
    /// Minimum Storage Ray-Triangle Intersection").
    #[expect(clippy::inline_always, reason = "the target features of the caller must apply to the whole function")]
    #[inline(always)]
    fn plane_hits<N: Numbers>(&self, ray: &TriangleRay, first: usize) -> PlaneHits<N> {
        let (origin, direction) = (Vectors::<N>::splat(ray.origin), Vectors::<N>::splat(ray.direction));
        let (a, ab, ac) = (self.a.load::<N>(first), self.ab.load::<N>(first), self.ac.load::<N>(first));
        let p = direction.cross(ac);
        let inverse = ab.dot(p).reciprocal();
        let s = origin.minus(a);
        let q = s.cross(ab);
        PlaneHits { t: ac.dot(q) * inverse, u: s.dot(p) * inverse, v: direction.dot(q) * inverse }
    }
}
