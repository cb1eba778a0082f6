//! The octahedral map, which maps directions to points of a square (Cigolle et al. 2014, "A Survey of Efficient
//! Representations for Independent Unit Vectors"). The mapping needs no inverse trigonometric functions.

use glam::Vec3;

/// The point of the octahedral map to which a unit direction is mapped. The point does not depend on the resolution of
/// the map.
#[derive(Clone, Copy)]
pub(crate) struct MapPoint {
    /// Coordinates in −1..=1.
    pub(crate) x: f32,
    pub(crate) z: f32,
    /// Sum of the absolute components of the direction.
    pub(crate) sum: f32,
}

impl MapPoint {
    #[inline]
    pub(crate) fn of(d: Vec3) -> Self {
        let sum = d.x.abs() + d.y.abs() + d.z.abs();
        let projected = d / sum;
        let (x, z) = if projected.y < 0.0 {
            ((1.0 - projected.z.abs()).copysign(projected.x), (1.0 - projected.x.abs()).copysign(projected.z))
        } else {
            (projected.x, projected.z)
        };
        Self { x, z, sum }
    }

    /// Returns the row-major index of the texel in a map of `side` × `side` texels.
    #[inline]
    pub(crate) fn texel(&self, side: usize) -> usize {
        // The conversion to 32 bits takes fewer instructions than one to `usize`.
        let cell = |c: f32| (((c * 0.5 + 0.5) * side as f32) as u32 as usize).min(side - 1);
        cell(self.z) * side + cell(self.x)
    }

    /// Returns the area of the map per unit of solid angle around the direction. The area of the whole map is 1.
    /// Derivation: each face of the octahedron is in a plane at the distance 1/√3 from the centre, and its area is √3
    /// times the area of its projection onto the square of side length 2.
    #[inline]
    pub(crate) fn density(&self) -> f32 {
        let distance = 1.0 / self.sum;
        distance.powi(3) / 4.0
    }
}

/// Returns the row-major index of the texel to which a unit direction is mapped. The map has `side` × `side` texels.
pub(crate) fn texel(d: Vec3, side: usize) -> usize {
    MapPoint::of(d).texel(side)
}

/// Returns the unit direction that is mapped to a point. `u` and `v` are in 0..=1. +Y is mapped to the centre and −Y to
/// the corners.
#[inline]
pub fn direction(u: f32, v: f32) -> Vec3 {
    let (x, z) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    let y = 1.0 - x.abs() - z.abs();
    let fold = (-y).max(0.0);
    Vec3::new(x - fold.copysign(x), y, z - fold.copysign(z)).normalize()
}

/// Returns the area of the map per unit of solid angle around a unit direction.
pub(crate) fn density(d: Vec3) -> f32 {
    MapPoint::of(d).density()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solid_angles_of_all_texels_add_up_to_the_sphere() {
        let side = 256;
        let coordinate = |i: usize| (i as f32 + 0.5) / side as f32;
        let sum: f32 = (0..side * side)
            .map(|i| 1.0 / (density(direction(coordinate(i % side), coordinate(i / side))) * (side * side) as f32))
            .sum();
        assert!((sum - 4.0 * std::f32::consts::PI).abs() < 0.01, "{sum}");
    }

    #[test]
    fn texel_is_the_inverse_of_direction() {
        for i in 0..64 * 64 {
            let d = direction(((i % 64) as f32 + 0.5) / 64.0, ((i / 64) as f32 + 0.5) / 64.0);
            assert_eq!(texel(d, 64), i);
        }
    }
}
