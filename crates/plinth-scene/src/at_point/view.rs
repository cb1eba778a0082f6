//! Converts between points of a frame and points in the world.

use glam::{DVec3, Vec2, Vec3};
use plinth_spec::preview::ViewPose;

use crate::shot::Shot;

/// Minimum distance in world units between a camera and the point that it looks at.
const LEAST_LOOK_DISTANCE: f64 = 0.1;

/// A ray in the world space of posed vertices, which is the space before `Shot::grow` is applied. The point with the
/// depth `d` in the frame is `origin + d * direction`.
pub(super) struct Ray {
    pub(super) origin: Vec3,
    pub(super) direction: Vec3,
    /// The smallest and the largest depth that the frame shows.
    pub(super) depths: (f32, f32),
}

/// A shot, with the tangents that convert positions in its frame to directions.
pub(super) struct FrameView<'a> {
    shot: &'a Shot,
    /// Tangents of half the field of view, horizontally and vertically.
    tan_half: Vec2,
}

impl<'a> FrameView<'a> {
    /// `aspect` is the width of the frame divided by its height.
    pub(super) fn new(shot: &'a Shot, aspect: f32) -> Self {
        let tan = (0.5 * shot.camera.fov_y).tan();
        Self { shot, tan_half: Vec2::new(tan * aspect * shot.camera.pixel_aspect, tan) }
    }

    /// Returns the camera as the pose of a keyframe. The keyframe's target is the point on the camera's axis that is
    /// nearest to the origin.
    pub(super) fn pose(&self) -> ViewPose {
        let camera = &self.shot.camera;
        let position = camera.position.as_dvec3();
        let forward = -camera.view_from_world.row(2).truncate().as_dvec3().normalize_or(DVec3::Z);
        let look_at = position + forward * (-position).dot(forward).max(LEAST_LOOK_DISTANCE);
        let fov = f64::from(camera.fov_y).to_degrees();
        ViewPose { position: position.to_array(), look_at: look_at.to_array(), fov }
    }

    /// Returns the unit vector that points up in the frame, in world space.
    pub(super) fn up(&self) -> Vec3 {
        self.shot.camera.view_from_world.row(1).truncate()
    }

    /// Returns the ray from the camera through a point. `point` is the position in the frame as fractions of its width
    /// and height, from the top left. Returns `None` if the model is scaled to zero in this frame.
    pub(super) fn ray(&self, point: Vec2) -> Option<Ray> {
        let (camera, grow, center) = (&self.shot.camera, self.shot.grow, self.shot.grow_origin);
        if grow <= 0.0 {
            return None;
        }
        let on_frame = Vec2::new(2.0 * point.x - 1.0, 1.0 - 2.0 * point.y) - camera.principal_point;
        let in_view = (on_frame * self.tan_half).extend(-1.0);
        let direction = camera.view_from_world.transpose().transform_vector3(in_view);
        Some(Ray {
            origin: center + (camera.position - center) / grow,
            direction: direction / grow,
            depths: (camera.near, camera.far),
        })
    }

    /// Returns the point at a depth on a ray, in the world space of the frame: after `Shot::grow` is applied.
    pub(super) fn drawn(&self, ray: &Ray, depth: f32) -> Vec3 {
        let center = self.shot.grow_origin;
        center + (ray.origin + ray.direction * depth - center) * self.shot.grow
    }

    /// Returns the position of a posed vertex in the frame, as fractions of its width and height. Returns `None` if the
    /// vertex is not in front of the camera.
    pub(super) fn project(&self, vertex: Vec3) -> Option<Vec2> {
        let (camera, center) = (&self.shot.camera, self.shot.grow_origin);
        let in_view = camera.view_from_world.transform_point3(center + (vertex - center) * self.shot.grow);
        if in_view.z > -camera.near {
            return None;
        }
        let on_frame = in_view.truncate() / (self.tan_half * -in_view.z) + camera.principal_point;
        Some(Vec2::new(0.5 + 0.5 * on_frame.x, 0.5 - 0.5 * on_frame.y))
    }
}
