//! The inner nodes of the bounding volume hierarchy.

use glam::{Vec3, Vec4};

use super::{Child, LEAF, WIDTH};

/// A node with the bounding boxes of its eight children. Unused lanes have empty boxes, which no ray enters. Because of the
/// alignment, no list of eight numbers is in two cache lines.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Node {
    /// The planes of the boxes: minimum x, y and z, then maximum x, y and z.
    planes: [[f32; WIDTH]; 6],
    pub(super) children: [Child; WIDTH],
}

/// The distances at which a ray enters the boxes of a node. Because of the alignment, they are in one cache line: processors
/// read single numbers more slowly from a 256-bit store that crosses two lines.
#[repr(align(32))]
pub(super) struct Entries(pub(super) [f32; WIDTH]);

/// A ray in the form that the tests of boxes need.
pub(super) struct NodeRay {
    origin: Vec3,
    inverse: Vec3,
    /// For each axis, the index in `Node::planes` of the plane at which the ray enters a box (`enter`) or leaves it
    /// (`leave`).
    enter: [usize; 3],
    leave: [usize; 3],
}

impl NodeRay {
    pub(super) fn new(origin: Vec3, direction: Vec3) -> Self {
        let inverse = direction.recip();
        let backward = inverse.to_array().map(f32::is_sign_negative);
        let plane = |far: bool| std::array::from_fn(|axis| if backward[axis] == far { axis } else { axis + 3 });
        Self { origin, inverse, enter: plane(false), leave: plane(true) }
    }
}

impl Node {
    /// A node without children.
    pub(super) const EMPTY: Self = {
        let (min, max) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
        Self { planes: [min, min, min, max, max, max], children: [LEAF; WIDTH] }
    };

    /// Sets the bounding box and the link of a child.
    pub(super) fn set(&mut self, lane: usize, (min, max): (Vec3, Vec3), child: Child) {
        for axis in 0..3 {
            self.planes[axis][lane] = min[axis];
            self.planes[axis + 3][lane] = max[axis];
        }
        self.children[lane] = child;
    }

    /// Returns the distance at which the ray enters each box. Also returns a bit mask of the boxes that the ray enters
    /// before `t_max`.
    pub(super) fn entries(&self, ray: &NodeRay, t_max: f32) -> (Entries, u32) {
        let half = |first: usize| {
            let distance = |plane: usize, axis: usize| {
                let planes = Vec4::from_slice(&self.planes[plane][first..first + 4]);
                (planes - Vec4::splat(ray.origin[axis])) * Vec4::splat(ray.inverse[axis])
            };
            let near = [distance(ray.enter[0], 0), distance(ray.enter[1], 1), distance(ray.enter[2], 2)];
            let far = [distance(ray.leave[0], 0), distance(ray.leave[1], 1), distance(ray.leave[2], 2)];
            let enter = near[0].max(near[1]).max(near[2]).max(Vec4::ZERO);
            let leave = far[0].min(far[1]).min(far[2]).min(Vec4::splat(t_max));
            (enter.to_array(), enter.cmple(leave).bitmask())
        };
        let (([a, b, c, d], low), ([e, f, g, h], high)) = (half(0), half(4));
        (Entries([a, b, c, d, e, f, g, h]), low | high << 4)
    }

    /// Same as [`entries`](Self::entries), with instructions that test eight boxes at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) fn entries_avx(&self, ray: &NodeRay, t_max: f32) -> (Entries, u32) {
        use std::arch::x86_64::{
            _CMP_LE_OQ, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps, _mm256_movemask_ps,
            _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm256_sub_ps,
        };
        let distance = |plane: usize, axis: usize| {
            #[expect(unsafe_code, reason = "see decision 0066")]
            // SAFETY: The list has eight numbers, and need not be aligned.
            let planes = unsafe { _mm256_loadu_ps(self.planes[plane].as_ptr()) };
            _mm256_mul_ps(_mm256_sub_ps(planes, _mm256_set1_ps(ray.origin[axis])), _mm256_set1_ps(ray.inverse[axis]))
        };
        let near = [distance(ray.enter[0], 0), distance(ray.enter[1], 1), distance(ray.enter[2], 2)];
        let far = [distance(ray.leave[0], 0), distance(ray.leave[1], 1), distance(ray.leave[2], 2)];
        let enter = _mm256_max_ps(_mm256_max_ps(_mm256_max_ps(near[0], near[1]), near[2]), _mm256_setzero_ps());
        let leave = _mm256_min_ps(_mm256_min_ps(_mm256_min_ps(far[0], far[1]), far[2]), _mm256_set1_ps(t_max));
        let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(enter, leave));
        let mut entries = Entries([0.0; WIDTH]);
        #[expect(unsafe_code, reason = "see decision 0066")]
        // SAFETY: The list has room for eight numbers, and need not be aligned.
        unsafe {
            _mm256_storeu_ps(entries.0.as_mut_ptr(), enter);
        }
        (entries, mask as u32)
    }
}
