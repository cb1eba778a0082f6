//! Computes the length on the model's surface that one pixel covers.

use glam::Vec3;

use crate::Shot;

/// Distance in pixels by which a renderer may displace a surface when it simplifies triangles. Geometry that lies on a
/// surface, such as a decal, must keep a larger distance from this surface.
pub const SURFACE_ERROR_PIXELS: f32 = 0.6;
/// Minimum distance between camera and model in world units, for cameras inside the model's bounds.
const NEAREST: f32 = 0.02;

/// Returns the smallest length on the model's surface that one pixel covers in any shot, in world units. `(min, max)`
/// is the bounding box of the model. `height` is the height of the frame in pixels.
pub fn smallest_pixel((min, max): (Vec3, Vec3), shots: &[Shot], height: u32) -> f32 {
    let (middle, radius) = ((min + max) * 0.5, ((max - min) * 0.5).length());
    let pixel = |shot: &Shot| {
        let nearest = (shot.camera.position.distance(middle) - radius).max(NEAREST);
        2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
    };
    shots.iter().map(pixel).fold(f32::MAX, f32::min)
}
