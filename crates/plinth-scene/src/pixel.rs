//! How large a pixel is on the model.

use glam::Vec3;

use crate::Shot;

/// By how many pixels a renderer may displace a surface to draw it with fewer triangles. What lies on a surface is lifted
/// above it by more than that.
pub const SURFACE_ERROR_PIXELS: f32 = 0.6;
/// A camera inside of the model's bounds is taken to be this far from it, in world units.
const NEAREST: f32 = 0.02;

/// Size of a pixel at the model's nearest point over all shots, in world units. `bounds`: the model's, (min, max);
/// `height`: of the picture, in pixels.
pub fn smallest_pixel((min, max): (Vec3, Vec3), shots: &[Shot], height: u32) -> f32 {
    let (middle, radius) = ((min + max) * 0.5, ((max - min) * 0.5).length());
    let pixel = |shot: &Shot| {
        let nearest = (shot.camera.position.distance(middle) - radius).max(NEAREST);
        2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
    };
    shots.iter().map(pixel).fold(f32::MAX, f32::min)
}
