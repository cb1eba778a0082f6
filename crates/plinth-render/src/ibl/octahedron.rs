//! Directions on a square (Cigolle et al. 2014, "A Survey of Efficient Representations for Independent Unit Vectors").

use glam::Vec3;

/// The unit direction of a point of the map, 0..1; +Y is the middle, −Y the corners.
pub(crate) fn direction(u: f32, v: f32) -> Vec3 {
    let (x, z) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    let y = 1.0 - x.abs() - z.abs();
    let fold = (-y).max(0.0);
    Vec3::new(x - fold.copysign(x), y, z - fold.copysign(z)).normalize()
}
