//! Computes the length on the model's surface that one pixel covers.

use glam::{BVec3, Vec2, Vec3};

use crate::{Camera, Shot};

/// Distance in pixels by which a renderer may displace a surface when it simplifies triangles. Geometry that lies on a
/// surface, such as a decal, must keep a larger distance from this surface.
pub const SURFACE_ERROR_PIXELS: f32 = 0.55;
/// Minimum depth of the model in world units, for cameras inside the model's bounds.
const NEAREST: f32 = 0.02;

/// Number of lengths of [`rounded_length`] per factor of 2.
const LENGTHS_PER_OCTAVE: f32 = 16.0;

/// Rounds a length down to the next power of 2^(1/16). If the same camera path is divided into another number of frames, its
/// smallest pixel differs a little, but what is computed for the rounded length need not be computed again.
pub fn rounded_length(length: f32) -> f32 {
    ((length.log2() * LENGTHS_PER_OCTAVE).floor() / LENGTHS_PER_OCTAVE).exp2()
}

/// Returns the smallest length on the model's surface that one pixel covers in any shot, in world units. `(min, max)`
/// is the bounding box of the model. `height` is the height of the frame in pixels.
pub fn smallest_pixel((min, max): (Vec3, Vec3), shots: &[Shot], height: u32) -> f32 {
    let pixel = |shot: &Shot| {
        let nearest = nearest_depth((min, max), shot).max(NEAREST);
        2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
    };
    shots.iter().map(pixel).fold(f32::MAX, f32::min)
}

/// Returns the smallest length on a surface of any orientation from one pixel to the next, in any direction and any
/// shot, in world units. Beside the camera's axis, it is smaller than [`smallest_pixel`], because a surface that is
/// perpendicular to the line of sight is inclined to the picture. `bounds` is the bounding box of the model, and
/// `(width, height)` is the size of the frame in pixels.
pub fn smallest_step(bounds: (Vec3, Vec3), shots: &[Shot], (width, height): (u32, u32)) -> f32 {
    let step = |shot: &Shot| {
        let Camera { fov_y, pixel_aspect, principal_point, .. } = shot.camera;
        let tan_y = (0.5 * fov_y).tan();
        let corner = Vec2::new(tan_y * pixel_aspect * width as f32 / height as f32, tan_y);
        let to_corner = (corner * (Vec2::ONE + principal_point.abs())).length();
        let off_axis = to_corner.min(largest_tangent(bounds, shot));
        let nearest = nearest_depth(bounds, shot).max(shot.camera.near);
        2.0 * tan_y * pixel_aspect.min(1.0) * nearest / (height as f32 * off_axis.hypot(1.0))
    };
    shots.iter().map(step).fold(f32::MAX, f32::min)
}

/// Returns the tangent of the largest angle between the camera's axis and a point of a box. Returns infinity if a part
/// of the box may be in front of the near plane, and thus beside or behind the camera.
fn largest_tangent((min, max): (Vec3, Vec3), shot: &Shot) -> f32 {
    let tangent = |corner: u32| {
        let is_max = |axis: u32| corner >> axis & 1 == 1;
        let world = Vec3::select(BVec3::new(is_max(0), is_max(1), is_max(2)), max, min);
        let seen = shot.camera.view_from_world.transform_point3(world);
        if -seen.z > shot.camera.near { seen.truncate().length() / -seen.z } else { f32::INFINITY }
    };
    (0..8).map(tangent).fold(0.0, f32::max)
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
    use glam::{Affine3A, Mat3, Mat4};

    use super::*;

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
    fn lengths_are_rounded_down_to_one_of_few() {
        for length in [1e-6, 0.013, 0.999, 1.0, 7.3] {
            let rounded = rounded_length(length);
            assert!(rounded <= length && rounded > 0.957 * length, "{length}: {rounded}");
            assert!((rounded_length(rounded * 1.04) / rounded - 1.0).abs() < 1e-5, "{length}: {rounded}");
        }
    }

    #[test]
    fn no_step_on_a_surface_is_shorter_than_the_smallest_step() {
        let bounds = (Vec3::new(-1.0, -0.4, -0.2), Vec3::new(1.2, 0.5, 0.3));
        let (width, height) = (960, 540);
        let shot = shot(Vec3::new(0.4, 0.3, 2.0), Vec3::ZERO);
        let smallest = smallest_step(bounds, std::slice::from_ref(&shot), (width, height));
        assert!(smallest < smallest_pixel(bounds, std::slice::from_ref(&shot), height));
        let tan = (0.5 * shot.camera.fov_y).tan();
        // The ray through a point of the picture, in view space. The depth of its points is their distance along it.
        let ray = |x: f32, y: f32| {
            let [x, y] = [(x / width as f32 - 0.5) * width as f32 / height as f32, y / height as f32 - 0.5];
            Vec3::new(2.0 * tan * x, 2.0 * tan * y, -1.0)
        };
        let nearest = nearest_depth(bounds, &shot);
        let mut shortest = f32::MAX;
        for (x, y) in [(480.0, 270.0), (900.0, 270.0), (480.0, 530.0), (20.0, 20.0), (955.0, 535.0)] {
            // A surface that is perpendicular to the line of sight.
            let (at, normal) = (ray(x, y) * nearest, ray(x, y).normalize());
            for angle in 0..32 {
                let (sin, cos) = (angle as f32 / 32.0 * std::f32::consts::TAU).sin_cos();
                let next = ray(x + 0.1 * cos, y + 0.1 * sin);
                let step = (next * (at.dot(normal) / next.dot(normal)) - at).length() * 10.0;
                assert!(step > smallest * 0.995, "{step} at {x}, {y}, not {smallest}");
                shortest = shortest.min(step);
            }
        }
        assert!(shortest < smallest * 1.05, "{shortest}, {smallest}");
    }

    #[test]
    fn steps_are_bounded_by_the_angle_of_the_model_or_of_the_picture() {
        let shot = shot(Vec3::new(0.0, 0.0, 4.0), Vec3::ZERO);
        let step = |half: Vec3| smallest_step((-half, half), std::slice::from_ref(&shot), (1080, 1080));
        let tan = 0.3_f32.tan();
        let expected = |depth: f32, tangent: f32| 2.0 * tan * depth / 1080.0 / tangent.hypot(1.0);
        // A small box, and boxes that extend beyond the picture and behind the camera.
        let cases = [
            (Vec3::new(0.3, 0.4, 0.0), expected(4.0, 0.125)),
            (Vec3::new(9.0, 9.0, 0.5), expected(3.5, tan * std::f32::consts::SQRT_2)),
            (Vec3::splat(5.0), expected(shot.camera.near, tan * std::f32::consts::SQRT_2)),
        ];
        for (half, expected) in cases {
            assert!((step(half) / expected - 1.0).abs() < 1e-4, "{half}: {} {expected}", step(half));
        }
    }

    #[test]
    fn a_pixel_has_a_length_although_the_camera_is_inside_the_model() {
        let bounds = (Vec3::splat(-1.0), Vec3::splat(1.0));
        let pixel = smallest_pixel(bounds, &[shot(Vec3::new(0.2, 0.0, 0.1), Vec3::ZERO)], 720);
        assert!((pixel - 2.0 * 0.3_f32.tan() * NEAREST / 720.0).abs() < 1e-9, "{pixel}");
    }
}
