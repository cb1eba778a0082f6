//! Numbers of the triangles of a leaf, with which SIMD instructions calculate at once.

use std::ops::{Add, Mul, Sub};

use glam::Vec4;

/// Maximum number of triangles per leaf.
pub(super) const BLOCK: usize = 8;

/// A number for each triangle of a leaf. The alignment is that of a 256-bit register.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Lanes(pub(super) [f32; BLOCK]);

/// Numbers of several consecutive lanes, with which a processor calculates at once.
pub(super) trait Numbers: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    type List: AsRef<[f32]>;
    const COUNT: usize;
    fn splat(number: f32) -> Self;
    fn load(lanes: &Lanes, first: usize) -> Self;
    fn to_list(self) -> Self::List;
    fn reciprocal(self) -> Self;
}

impl Numbers for Vec4 {
    type List = [f32; 4];

    const COUNT: usize = 4;

    #[inline]
    fn splat(number: f32) -> Self {
        Self::splat(number)
    }

    #[inline]
    fn load(lanes: &Lanes, first: usize) -> Self {
        Self::from_slice(&lanes.0[first..first + 4])
    }

    #[inline]
    fn to_list(self) -> [f32; 4] {
        self.to_array()
    }

    #[inline]
    fn reciprocal(self) -> Self {
        self.recip()
    }
}

/// Calculations with all numbers, for a processor with 256-bit instructions. The compiler uses them in functions with the
/// target feature `avx`.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Add, BLOCK, Lanes, Mul, Numbers, Sub};

    impl Numbers for Lanes {
        type List = [f32; BLOCK];

        const COUNT: usize = BLOCK;

        #[inline]
        fn splat(number: f32) -> Self {
            Self([number; BLOCK])
        }

        #[inline]
        fn load(lanes: &Lanes, _first: usize) -> Self {
            *lanes
        }

        #[inline]
        fn to_list(self) -> [f32; BLOCK] {
            self.0
        }

        #[inline]
        fn reciprocal(self) -> Self {
            Self(self.0.map(f32::recip))
        }
    }

    impl Lanes {
        #[inline]
        fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
            Self(std::array::from_fn(|lane| f(self.0[lane], o.0[lane])))
        }
    }

    impl Add for Lanes {
        type Output = Self;

        #[inline]
        fn add(self, o: Self) -> Self {
            self.zip(o, |a, b| a + b)
        }
    }

    impl Sub for Lanes {
        type Output = Self;

        #[inline]
        fn sub(self, o: Self) -> Self {
            self.zip(o, |a, b| a - b)
        }
    }

    impl Mul for Lanes {
        type Output = Self;

        #[inline]
        fn mul(self, o: Self) -> Self {
            self.zip(o, |a, b| a * b)
        }
    }
}
