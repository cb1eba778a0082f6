//! Computes the length on the model's surface that one pixel covers.

use glam::Vec3;

use crate::Shot;

/// Distance in pixels by which a renderer may displace a surface when it simplifies triangles. Geometry that lies on a
/// surface, such as a decal, must keep a larger distance from this surface.
pub const SURFACE_ERROR_PIXELS: f32 = 0.55;
/// Minimum depth of the model in world units, for cameras inside the model's bounds.
const NEAREST: f32 = 0.02;

/// Returns the smallest length on the model's surface that one pixel covers in any shot, in world units. `(min, max)`
/// is the bounding box of the model. `height` is the height of the frame in pixels.
pub fn smallest_pixel((min, max): (Vec3, Vec3), shots: &[Shot], height: u32) -> f32 {
    let pixel = |shot: &Shot| {
        let nearest = nearest_depth((min, max), shot).max(NEAREST);
        2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
    };
    shots.iter().map(pixel).fold(f32::MAX, f32::min)
}

/// Returns the smallest depth of a box: the distance along the camera's axis, which determines how long a pixel is.
fn nearest_depth((min, max): (Vec3, Vec3), shot: &Shot) -> f32 {
    // The camera looks along -z.
    let toward_camera = shot.camera.view_from_world.row(2).truncate();
    let nearest = Vec3::select(toward_camera.cmpgt(Vec3::ZERO), max, min);
    -shot.camera.view_from_world.transform_point3(nearest).z
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, Mat3, Mat4, Vec2};

    use super::*;
    use crate::Camera;

    fn shot(position: Vec3, target: Vec3) -> Shot {
        let back = (position - target).normalize();
        let right = Vec3::Y.cross(back).normalize();
        let rotation = Mat3::from_cols(right, back.cross(right), back);
        let camera = Camera {
            view_from_world: Mat4::from(Affine3A::from_mat3_translation(rotation, position).inverse()),
            position,
            fov_y: 0.6,
            pixel_aspect: 1.0,
            principal_point: Vec2::ZERO,
            near: 0.1,
            far: 100.0,
        };
        let grow_origin = Vec3::ZERO;
        Shot { index: 0, camera, grow: 1.0, grow_origin, clip_time: None, focus: 1.0, grain: 0 }
    }

    /// Returns by how many pixels a shot displaces a point that moves `length` up in the picture.
    fn displacement(shot: &Shot, at: Vec3, length: f32, height: u32) -> f32 {
        let at = shot.camera.view_from_world.transform_point3(at);
        let on_picture = |y: f32| y / -at.z / (0.5 * shot.camera.fov_y).tan() * 0.5 * height as f32;
        on_picture(at.y + length) - on_picture(at.y)
    }

    #[test]
    fn no_corner_moves_more_than_a_pixel_and_the_nearest_moves_one() {
        let bounds = (Vec3::new(-1.0, 0.0, -0.2), Vec3::new(1.5, 0.5, 0.3));
        let corners = |i: usize| {
            Vec3::from_array(std::array::from_fn(
                |axis| if i >> axis & 1 == 0 { bounds.0[axis] } else { bounds.1[axis] },
            ))
        };
        let shots = [
            shot(Vec3::new(3.0, 1.0, 4.0), Vec3::ZERO),
            shot(Vec3::new(-2.0, 3.0, -2.5), Vec3::new(0.0, 0.3, 0.0)),
            // A wide box, seen along its diagonal, beside the camera's axis.
            shot(Vec3::new(4.0, 0.2, 1.0), Vec3::new(0.0, 0.2, 1.5)),
        ];
        for part in [&shots[..1], &shots[1..2], &shots[2..], &shots] {
            let pixel = smallest_pixel(bounds, part, 720);
            let moved = part.iter().flat_map(|shot| (0..8).map(|i| displacement(shot, corners(i), pixel, 720)));
            let largest = moved.fold(0.0, f32::max);
            assert!((largest - 1.0).abs() < 1e-3, "{largest} pixels");
        }
    }

    #[test]
    fn a_pixel_has_a_length_although_the_camera_is_inside_the_model() {
        let bounds = (Vec3::splat(-1.0), Vec3::splat(1.0));
        let pixel = smallest_pixel(bounds, &[shot(Vec3::new(0.2, 0.0, 0.1), Vec3::ZERO)], 720);
        assert!((pixel - 2.0 * 0.3_f32.tan() * NEAREST / 720.0).abs() < 1e-9, "{pixel}");
    }
}
