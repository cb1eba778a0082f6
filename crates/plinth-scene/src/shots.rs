//! Computes the camera and the other properties of each frame.

use glam::{DVec3, Mat4, Vec2, Vec3};
use plinth_spec::settings::{BasePose, CameraMotion, Effect, Filter, RenderSettings};
use rayon::prelude::*;

use crate::camera::{PARALLEL, framing_radius, orbit, path, sway};
use crate::fit::distance;
use crate::place::Placement;
use crate::shot::{Camera, Shot};

/// Vertical field of view of cameras that orbit the model, in degrees.
const FOV_DEG: f64 = 35.0;
/// Elevation of cameras that orbit the model, in degrees above the horizon.
const ELEVATION_DEG: f64 = 15.0;
/// Fraction of the frame that is left empty around the model.
pub(crate) const MARGIN: f32 = 0.12;
/// Maximum number of frames for which the framing distance is computed. More frames are sampled evenly.
const FIT_ANGLES: u32 = 120;
/// Maximum distance in world units from the model at which the floor is visible.
const FLOOR_REACH: f32 = 12.0;
/// Factor by which the model's bounding sphere is enlarged to get the near and far planes.
const DEPTH_ROOM: f32 = 1.1;
/// Minimum distance of the near plane, as a fraction of the camera's distance to the model. A nearer plane would make
/// the depth buffer imprecise.
const LEAST_NEAR: f32 = 0.02;
/// Minimum distance of the near plane and minimum radius of a model, in world units.
const LEAST_LENGTH: f32 = 1e-3;
/// Minimum distance between the camera and the model in world units.
const LEAST_DISTANCE: f32 = 0.1;

/// Computes the [`Shot`] of each frame. `clip_times` has one entry per frame.
pub(crate) fn shots(settings: &RenderSettings, placement: &Placement, clip_times: &[Option<f32>]) -> Vec<Shot> {
    let count = clip_times.len() as u32;
    let distance = framing_distance(settings, placement, count);
    let bounds = placement.bounds();
    let middle = (bounds.0 + bounds.1) * 0.5;
    let grow_origin = Vec3::new(middle.x, placement.lowest(), middle.z);
    clip_times
        .par_iter()
        .zip(0..count)
        .map(|(clip_time, index)| {
            let (camera, grow, looked_at) = frame(settings, distance, bounds, index, count);
            let grain = if settings.post().filter == Filter::Grain { index + 1 } else { 0 };
            // Measuring a large model takes long, so the focus is only computed if the settings have depth of field.
            let has_focus = settings.post().depth_of_field() > 0.0;
            let focus = if has_focus { focus(placement, &camera, (grow, grow_origin), looked_at) } else { camera.near };
            Shot { index, camera, grow, grow_origin, clip_time: *clip_time, focus, grain }
        })
        .collect()
}

/// Distance from the nearest point of the model to the focal plane, as a fraction of the depth of the model.
const FOCUS_DEPTH: f32 = 0.12;
/// Fraction of the depth of the model by which the near plane must be behind the front for the focus to be at the point
/// that the camera looks at. Before, while a camera moves into the model, the focus changes evenly, because a jump would be
/// visible. The fraction is small, because until then what the camera looks at is blurred.
const FOCUS_CHANGE: f32 = 0.03;

/// Returns the distance along the camera's axis at which the picture is in focus. This distance is near the front of
/// the model. If the front is behind the near plane, as in a room, the picture is in focus at the distance `looked_at` of
/// the point that the camera looks at, but not behind the model; within [`FOCUS_CHANGE`] of the front, it is in focus
/// between these two distances. The model is scaled by the factor `grow` about a point in world space.
fn focus(placement: &Placement, camera: &Camera, (grow, grow_origin): (f32, Vec3), looked_at: f32) -> f32 {
    let back = camera.view_from_world.row(2).truncate();
    let origin = (grow_origin - placement.translation).dot(back);
    let scaled = |reach: f32| origin + (reach - origin) * grow;
    let (front, rear) = (scaled(placement.reach(back)), scaled(-placement.reach(-back)));
    let from_origin = (camera.position - placement.translation).dot(back);
    let (to_front, depth) = (from_origin - front, front - rear);
    let at_front = (to_front + FOCUS_DEPTH * depth).max(camera.near);
    let behind = camera.near - to_front;
    if behind <= 0.0 {
        return at_front;
    }
    let at_target = looked_at.min(from_origin - rear).max(camera.near);
    let share = (behind / (FOCUS_CHANGE * depth).max(LEAST_LENGTH)).min(1.0);
    at_front + (at_target - at_front) * share
}

/// Returns the camera of frame `index`, the scale of the model, and the distance between the camera and the point that it
/// looks at.
fn frame(settings: &RenderSettings, distance: f64, bounds: (Vec3, Vec3), index: u32, count: u32) -> (Camera, f32, f32) {
    let motion = settings.camera();
    if motion.effect == Effect::Keyframes {
        let base = base_pose(motion, distance / motion.zoom);
        let pose = path(settings.path(), base, settings.video().length_secs, index, count);
        let position = swayed(settings, (pose.position, pose.look_at), index, count);
        let looked_at = position.distance(pose.look_at) as f32;
        return (camera_at((position, pose.look_at, pose.up), pose.fov_deg, bounds), 1.0, looked_at);
    }
    let at = orbit(motion, index, count);
    let position = direction(at.azimuth_deg, ELEVATION_DEG) * (distance * at.radius / motion.zoom);
    let position = swayed(settings, (position, DVec3::ZERO), index, count);
    let camera = camera_at((position, DVec3::ZERO, DVec3::Y), FOV_DEG, bounds);
    (camera, at.grow as f32, position.length() as f32)
}

/// Returns the position of the camera in frame `index` after adding the sway of the settings.
fn swayed(settings: &RenderSettings, (position, look_at): (DVec3, DVec3), index: u32, count: u32) -> DVec3 {
    sway(position, look_at, settings.post().sway(), settings.video().length_secs, (index, count))
}

/// Returns the smallest camera distance at which the model is inside the frame at every angle of the camera motion.
/// Translations of the model and custom camera poses are ignored.
fn framing_distance(settings: &RenderSettings, placement: &Placement, count: u32) -> f64 {
    let motion = settings.camera();
    let (width, height) = settings.video().quality.size(settings.video().aspect);
    let tan_y = (FOV_DEG as f32 * 0.5).to_radians().tan() * (1.0 - MARGIN);
    let tan_x = tan_y * width as f32 / height as f32;
    let angles = count.clamp(1, FIT_ANGLES);
    let framed = (0..angles)
        .into_par_iter()
        .map(|i| {
            let index =
                if angles > 1 { (u64::from(i) * u64::from(count - 1) / u64::from(angles - 1)) as u32 } else { 0 };
            let (toward, up) = toward_camera(settings, index, count);
            let axes = (right_of(toward, up).as_vec3(), toward.as_vec3());
            distance(|d| placement.reach(d), axes, (tan_x, tan_y))
        })
        .reduce(|| LEAST_DISTANCE, f32::max);
    f64::from(framed * placement.room()) / framing_radius(motion.effect)
}

/// Returns the unit vector from the model to the camera in frame `index`, and the direction that points up in the
/// picture.
fn toward_camera(settings: &RenderSettings, index: u32, count: u32) -> (DVec3, DVec3) {
    let motion = settings.camera();
    let (toward, up) = if motion.effect == Effect::Keyframes {
        let pose = path(settings.path(), base_pose(motion, 1.0), settings.video().length_secs, index, count);
        ((pose.position - pose.look_at).normalize_or(DVec3::Z), pose.up)
    } else {
        (direction(orbit(motion, index, count).azimuth_deg, ELEVATION_DEG), DVec3::Y)
    };
    (swayed(settings, (toward, DVec3::ZERO), index, count), up)
}

/// Returns the base pose for a path that consists of angles, if the settings contain no base pose.
fn base_pose(motion: &CameraMotion, radius: f64) -> BasePose {
    BasePose {
        target: [0.0; 3],
        radius,
        theta_deg: motion.orbit_start_deg,
        phi_deg: 90.0 - ELEVATION_DEG,
        fov_deg: FOV_DEG,
    }
}

/// Returns the unit vector with a given azimuth (from +Z toward +X) and elevation.
fn direction(azimuth_deg: f64, elevation_deg: f64) -> DVec3 {
    let (a, e) = (azimuth_deg.to_radians(), elevation_deg.to_radians());
    DVec3::new(e.cos() * a.sin(), e.sin(), e.cos() * a.cos())
}

/// Returns the direction of the picture's right edge, for a camera in the direction `back` of what it looks at. The
/// direction `up` points to the top of the picture as far as possible. If it is parallel to `back`, the camera uses the Z
/// axis instead.
fn right_of(back: DVec3, up: DVec3) -> DVec3 {
    let right = up.cross(back);
    let right = if right.length() > PARALLEL { right } else { DVec3::NEG_Z.cross(back) * back.dot(up).signum() };
    right.normalize()
}

/// Returns the camera at `position` that looks at `look_at`. The direction `up` points to the top of the picture as far
/// as possible.
fn camera_at((position, look_at, up): (DVec3, DVec3, DVec3), fov_deg: f64, bounds: (Vec3, Vec3)) -> Camera {
    let back = (position - look_at).normalize_or(DVec3::Z);
    let right = right_of(back, up);
    let up = back.cross(right);
    let world_from_view = Mat4::from_cols(
        right.as_vec3().extend(0.0),
        up.as_vec3().extend(0.0),
        back.as_vec3().extend(0.0),
        position.as_vec3().extend(1.0),
    );
    let center = (bounds.0 + bounds.1) * 0.5;
    let radius = ((bounds.1 - bounds.0) * 0.5).length().max(LEAST_LENGTH);
    let away = position.as_vec3().distance(center);
    // Away from the middle of a wide picture, the model's depth is much smaller than its distance.
    let depth = (position.as_vec3() - center).dot(back.as_vec3());
    Camera {
        view_from_world: world_from_view.inverse(),
        position: position.as_vec3(),
        fov_y: (fov_deg as f32).to_radians(),
        pixel_aspect: 1.0,
        principal_point: Vec2::ZERO,
        near: (depth - radius * DEPTH_ROOM - FLOOR_REACH * 0.5).max(away * LEAST_NEAR).max(LEAST_LENGTH),
        far: away + radius * DEPTH_ROOM + FLOOR_REACH,
    }
}
