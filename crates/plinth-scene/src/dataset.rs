//! Builds the scene of a dataset: many cameras around a model that does not move.

use std::sync::Arc;

use glam::{DMat4, DVec3, DVec4, Vec2, Vec3};
use plinth_model::{Animation, Model};
use plinth_spec::settings::{Coverage, RenderSettings};

use crate::assets::SceneAssets;
use crate::build::{Frames, PlacedModel};
use crate::camera::dataset_views;
use crate::clip;
use crate::error::SceneError;
use crate::fit::distance;
use crate::intrinsics::Intrinsics;
use crate::place::Placement;
use crate::scene::Scene;
use crate::shot::{Camera, Shot};
use crate::shots::MARGIN;

/// Field of view of a 50 mm lens on a 36 mm wide sensor, in radians. The NeRF-synthetic dataset uses the same field of
/// view.
const ANGLE: f64 = 0.691_111_207_008_361_8;
/// Distance in world units by which the depth range extends beyond the model. Without this distance, rounding errors
/// could clip the model.
const DEPTH_ROOM: f64 = 1e-4;
/// Number of steps between the values of 16-bit depth images that encode surfaces. The value above the last of them means
/// that there is no surface.
const SURFACE_STEPS: f64 = 65_534.0;
/// Minimum near distance, as a fraction of the largest depth.
const LEAST_NEAR: f64 = 1e-3;

/// Converts the scene's world space (+Y up) to the dataset's world space (+Z up): (x, y, z) becomes (x, −z, y).
const Z_UP_FROM_WORLD: DMat4 =
    DMat4::from_cols(DVec4::X, DVec4::new(0.0, 0.0, 1.0, 0.0), DVec4::new(0.0, -1.0, 0.0, 0.0), DVec4::W);

/// The camera positions of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub enum DatasetViews {
    /// Cameras that are spread evenly around the model. Each camera shows the whole model.
    Spread {
        /// Number of views.
        count: u32,
        /// Width and height of a view in pixels.
        side: u32,
        /// The part of the sphere on which the cameras are.
        coverage: Coverage,
    },
    /// Cameras whose poses are given by the caller.
    Given {
        /// Intrinsics that all views share.
        intrinsics: Intrinsics,
        /// Camera-to-world transforms, which must be rigid. They refer to the dataset's world space (+Z up). A camera
        /// looks along its −Z axis, and its +Y axis points up in the image.
        world_from_camera: Vec<DMat4>,
    },
}

impl DatasetViews {
    /// Returns the width and the height of a view in pixels.
    pub fn size(&self) -> (u32, u32) {
        match self {
            Self::Spread { side, .. } => (*side, *side),
            Self::Given { intrinsics, .. } => (intrinsics.width, intrinsics.height),
        }
    }
}

/// The cameras of a dataset, and values that apply to all views. The dataset's world space is right-handed with +Z up,
/// in normalised units.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewSet {
    /// Intrinsics that all views share.
    pub intrinsics: Intrinsics,
    /// Camera-to-world transform of each view. The camera looks along its −Z axis, and its +Y axis points up in the
    /// image.
    pub world_from_camera: Vec<DMat4>,
    /// A depth that is smaller than the depth of every surface in every view. Depth is the distance from the camera,
    /// measured along the camera's axis.
    pub depth_near: f64,
    /// A depth that is larger than the depth of every surface in every view.
    pub depth_far: f64,
    /// Transform from the model file's coordinates to the dataset's world space.
    pub world_from_model: DMat4,
    /// Bounding box of the model in the dataset's world space: its minimum and maximum corners.
    pub bounds: (DVec3, DVec3),
}

impl ViewSet {
    /// Returns the positions of the cameras in the scene's world space, in which +Y is up.
    pub fn positions_in_scene(&self) -> Vec<DVec3> {
        let position = |pose: &DMat4| Z_UP_FROM_WORLD.transpose().transform_vector3(pose.w_axis.truncate());
        self.world_from_camera.iter().map(position).collect()
    }
}

/// Builds the scene of a dataset with one shot per view. An animated model is shown in the pose of a video's first frame:
/// at the start of the clip or, with a negative speed, at its end. There is no floor, and the background is transparent.
/// Errors: if the model has nothing to draw, or no camera faces the model.
pub fn build_dataset<'a>(
    model: Arc<Model>,
    settings: &RenderSettings,
    assets: impl Into<SceneAssets<'a>>,
    views: &DatasetViews,
) -> Result<(Scene, ViewSet), SceneError> {
    let speed = settings.model().clip_speed;
    let assets = assets.into();
    let times = |clip: Option<&Animation>| vec![clip.map(|c| clip::looped(0.0, speed, c.duration))];
    let (width, height) = views.size();
    let frames = Frames::of_dataset(width, height);
    let placed = PlacedModel::new(model, settings, &assets, frames, times)?;
    let clip_time = placed.clip_times.first().copied().flatten();
    let (intrinsics, world_from_camera) = match views {
        DatasetViews::Spread { count, side, coverage } => {
            let motion = settings.camera();
            let toward = dataset_views(*count, *coverage, motion.orbit_start_deg);
            let intrinsics = Intrinsics::square(*side, ANGLE);
            let radius = framing_distance(&placed.placement, &toward) / motion.zoom;
            (intrinsics, toward.into_iter().map(|d| Z_UP_FROM_WORLD * looking_at_origin(d, radius)).collect())
        }
        DatasetViews::Given { intrinsics, world_from_camera } => (*intrinsics, world_from_camera.clone()),
    };
    let ranges: Vec<(f64, f64)> = world_from_camera.iter().map(|pose| depth_range(&placed.placement, pose)).collect();
    let in_front = || ranges.iter().filter(|(_, far)| *far > 0.0);
    let farthest = in_front().map(|(_, far)| *far).fold(0.0, f64::max);
    if farthest <= 0.0 {
        return Err(SceneError::NoCameraFacesTheModel);
    }
    let depth_near = in_front().map(|(near, far)| nearest_drawn(*near, *far)).fold(farthest, f64::min);
    let depth_far = far_limit(depth_near, farthest);
    let shots = (0..).zip(&world_from_camera).zip(&ranges).map(|((index, pose), range)| Shot {
        index,
        camera: camera(&intrinsics, pose, *range),
        grow: 1.0,
        grow_origin: Vec3::ZERO,
        clip_time,
        focus: 1.0,
        grain: 0,
    });
    let shots = shots.collect();
    let world_from_model = Z_UP_FROM_WORLD * placed.placement.world_from_model;
    let (min, max) = placed.placement.bounds();
    let bounds = (
        DVec3::new(min.x.into(), (-max.z).into(), min.y.into()),
        DVec3::new(max.x.into(), (-min.z).into(), max.y.into()),
    );
    let scene = placed.into_scene(settings, assets, shots)?;
    let scene = Scene { reflector: None, post: scene.post.of_colors_only(), ..scene };
    Ok((scene, ViewSet { intrinsics, world_from_camera, depth_near, depth_far, world_from_model, bounds }))
}

/// Returns the smallest camera distance at which every view shows the whole model.
fn framing_distance(placement: &Placement, toward: &[DVec3]) -> f64 {
    let tan = (ANGLE as f32 * 0.5).tan() * (1.0 - MARGIN);
    let needed = toward.iter().map(|d| {
        let axes = (right_of(*d).as_vec3(), d.as_vec3());
        distance(|v| placement.reach_in_world(v), axes, (tan, tan))
    });
    f64::from(needed.fold(0.1, f32::max) * placement.room())
}

/// Returns the camera-to-world transform (+Y up) of a camera that looks at the origin. The camera is in the direction
/// `toward`, at the distance `radius`.
fn looking_at_origin(toward: DVec3, radius: f64) -> DMat4 {
    let right = right_of(toward);
    let up = toward.cross(right);
    DMat4::from_cols(right.extend(0.0), up.extend(0.0), toward.extend(0.0), (toward * radius).extend(1.0))
}

/// Returns the direction of the right edge of a view from the direction `toward`.
fn right_of(toward: DVec3) -> DVec3 {
    DVec3::Y.cross(toward).normalize_or(DVec3::X)
}

/// Returns the smallest and the largest depth of the model, measured along the axis of a camera.
fn depth_range(placement: &Placement, pose: &DMat4) -> (f64, f64) {
    let world_from_camera = Z_UP_FROM_WORLD.transpose() * *pose;
    let back = world_from_camera.z_axis.truncate();
    let away = world_from_camera.w_axis.truncate().dot(back);
    let (min, max) = placement.bounds();
    let room = (max - min).length() * (placement.room() - 1.0);
    let reach = |d: DVec3| f64::from(placement.reach_in_world(d.as_vec3()) + room);
    (away - reach(back) - DEPTH_ROOM, away + reach(-back) + DEPTH_ROOM)
}

/// Returns the near distance, raised to at least the fraction `LEAST_NEAR` of `far`, the largest depth. Cameras inside the
/// model need this minimum, because the model extends behind them, so that `near` is negative.
fn nearest_drawn(near: f64, far: f64) -> f64 {
    near.max(far * LEAST_NEAR)
}

/// Returns the far limit of the encoded depth, which is at least `farthest`. If the limits are far apart, the step of
/// 16-bit depth is larger than `DEPTH_ROOM`. The limit then has a distance of a whole step from the surfaces, so that none
/// of them is encoded less exactly because the highest value means that there is no surface.
fn far_limit(near: f64, farthest: f64) -> f64 {
    let step = (farthest - DEPTH_ROOM - near) / SURFACE_STEPS;
    farthest.max(farthest - DEPTH_ROOM + step)
}

fn camera(intrinsics: &Intrinsics, pose: &DMat4, (near, far): (f64, f64)) -> Camera {
    let Intrinsics { width, height, fl_x, fl_y, cx, cy } = *intrinsics;
    let (width, height) = (f64::from(width), f64::from(height));
    let world_from_camera = Z_UP_FROM_WORLD.transpose() * *pose;
    // A camera that faces away from the model draws nothing, so any valid range is correct.
    let (near, far) = if far > 0.0 { (near, far) } else { (0.5, 1.0) };
    Camera {
        view_from_world: world_from_camera.inverse().as_mat4(),
        position: world_from_camera.w_axis.truncate().as_vec3(),
        fov_y: intrinsics.angle_y() as f32,
        pixel_aspect: (fl_y / fl_x) as f32,
        principal_point: Vec2::new((2.0 * cx / width - 1.0) as f32, (1.0 - 2.0 * cy / height) as f32),
        // The minimum applies after the factor, so that no surface is drawn that is closer than `ViewSet::depth_near`.
        near: nearest_drawn(near * 0.95, far) as f32,
        far: (far * 1.05) as f32,
    }
}
