//! How many texels per unit length a triangle shows, and the mip levels that a driver therefore reads on it.

use glam::Vec3;

use super::texture::MAX_ANISOTROPY;

/// Number of levels that are distinguished.
pub(super) const LEVELS: usize = 16;

/// How a device reads textures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Smallest length on a surface from one pixel to the next in world units.
    pub(super) step: f32,
    pub(super) is_anisotropic: bool,
}

/// The number of texels per unit length on a triangle, in the directions in which it is largest and smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Density {
    pub(super) largest: f32,
    pub(super) smallest: f32,
}

impl Density {
    /// Returns the density for the gradients of the two texture coordinates in texels. On very narrow triangles, the
    /// fourth powers of the gradients exceed the range of 32-bit numbers.
    pub(super) fn of(u: Vec3, v: Vec3) -> Self {
        let (u, v) = (u.as_dvec3(), v.as_dvec3());
        // The singular values of the matrix with the rows `u` and `v`.
        let squares = u.length_squared() + v.length_squared();
        let product = u.cross(v).length();
        let difference = (squares * squares - 4.0 * product * product).max(0.0).sqrt();
        let largest = (0.5 * (squares + difference)).sqrt();
        let smallest = if largest > 0.0 { product / largest } else { 0.0 };
        Self { largest: largest as f32, smallest: smallest as f32 }
    }

    /// Returns the finest mip level that can be read on a triangle with this density.
    pub(super) fn level(self, reading: Reading) -> usize {
        let texels = reading.step * if reading.is_anisotropic { self.anisotropic() } else { self.isotropic() };
        // If the number is not finite because the triangle is degenerate, the finest level is kept.
        if texels.is_finite() { (texels.max(1.0).log2() as usize).min(LEVELS - 1) } else { 0 }
    }

    /// Returns a lower bound of the number of texels per unit length from which a driver without anisotropic filtering
    /// computes the level.
    ///
    /// According to the Vulkan specification, this is the number along one of the two axes of the picture, whichever is
    /// greater. As the axes are perpendicular, it is at least the root mean square of the two densities, which is 0.71
    /// times `hypot`. Mesa's software driver takes the greatest change of one texture coordinate instead, which is at
    /// least 0.5 times `hypot`, but it rounds up: from 1.62 texels on, it does not read level 0.
    fn isotropic(self) -> f32 {
        0.61 * self.largest.hypot(self.smallest)
    }

    /// Returns the same as [`Self::isotropic`] for a driver with anisotropic filtering. It computes the level from the
    /// smaller number of texels along an axis of the picture, but from at least a fraction of the greater number.
    /// Drivers approximate these numbers in different ways, so one more level is kept.
    fn anisotropic(self) -> f32 {
        let other = std::f32::consts::FRAC_1_SQRT_2 * self.largest.hypot(self.smallest);
        0.5 * self.smallest.max(other / f32::from(MAX_ANISOTROPY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTWARE: Reading = Reading { step: 0.01, is_anisotropic: false };
    const CARD: Reading = Reading { step: 0.01, is_anisotropic: true };

    #[test]
    fn levels_that_no_pixel_can_read_are_finer_than_the_level_of_the_density() {
        let level = |largest: f32, smallest: f32, reading: Reading| Density { largest, smallest }.level(reading);
        // If pixels are 4 texels apart, the exact level is 2.
        let apart = |texels: f32, reading: Reading| level(100.0 * texels, 100.0 * texels, reading);
        assert_eq!([3.9, 4.1, 4.9].map(|texels| apart(texels, SOFTWARE)), [1, 1, 2]);
        assert_eq!([3.9, 4.1, 8.1].map(|texels| apart(texels, CARD)), [0, 1, 2]);
        // With anisotropic filtering, up to eight samples are spread along the direction with many texels.
        assert_eq!((level(1600.0, 100.0, SOFTWARE), level(1600.0, 100.0, CARD)), (3, 0));
        assert_eq!((level(0.0, 0.0, SOFTWARE), level(50.0, 50.0, SOFTWARE)), (0, 0));
        assert_eq!((level(f32::INFINITY, 0.0, SOFTWARE), level(f32::NAN, 0.0, CARD)), (0, 0));
        assert_eq!(level(1e30, 1e30, SOFTWARE), LEVELS - 1);
    }
}
