//! Numbers of the triangles of a leaf, with which SIMD instructions calculate at once.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, _mm256_loadu_ps, _mm256_storeu_ps};

/// Maximum number of triangles per leaf.
pub(super) const BLOCK: usize = 8;

/// A number for each triangle of a leaf. The alignment is that of a 256-bit register.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Lanes(pub(super) [f32; BLOCK]);

#[cfg(target_arch = "x86_64")]
impl Lanes {
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) fn load(&self) -> __m256 {
        #[expect(unsafe_code, reason = "see decision 0066")]
        // SAFETY: The list has eight numbers, and need not be aligned.
        unsafe {
            _mm256_loadu_ps(self.0.as_ptr())
        }
    }

    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) fn stored(numbers: __m256) -> Self {
        let mut lanes = Self::default();
        #[expect(unsafe_code, reason = "see decision 0066")]
        // SAFETY: The list has room for eight numbers, and need not be aligned.
        unsafe {
            _mm256_storeu_ps(lanes.0.as_mut_ptr(), numbers);
        }
        lanes
    }
}
