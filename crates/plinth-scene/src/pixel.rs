//! Size of a pixel on the model.

use glam::Vec3;

use crate::Shot;

/// Distance in pixels by which a renderer may displace a surface when it simplifies triangles. Geometry placed on a
/// surface must be lifted by more than this.
pub const SURFACE_ERROR_PIXELS: f32 = 0.6;
/// Distance assumed for a camera inside the model's bounds, in world units.
const NEAREST: f32 = 0.02;

/// Smallest size of a pixel on the model over all shots, in world units. `(min, max)` are the model's bounds, `height`
/// is that of the frame in pixels.
pub fn smallest_pixel((min, max): (Vec3, Vec3), shots: &[Shot], height: u32) -> f32 {
    let (middle, radius) = ((min + max) * 0.5, ((max - min) * 0.5).length());
    let pixel = |shot: &Shot| {
        let nearest = (shot.camera.position.distance(middle) - radius).max(NEAREST);
        2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
    };
    shots.iter().map(pixel).fold(f32::MAX, f32::min)
}
