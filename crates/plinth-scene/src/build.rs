//! From model and settings to a scene.

use std::sync::Arc;

use glam::{DVec3, EulerRot, Mat3, Mat4, Quat, Vec3};
use plinth_model::Model;
use plinth_spec::quality::frame_count;
use plinth_spec::settings::{BasePose, ClipChoice, Effect, ModelPose, RenderSettings};

use crate::camera::{orbit, path};
use crate::environment::{EnvironmentMap, studio};
use crate::error::SceneError;
use crate::fit::{bounds, distance, poses, support_points};
use crate::scene::{Background, Scene, ShadowLook};
use crate::shot::{Camera, PosedPrimitive, Shot};
use crate::{clip, lights};

/// Vertical field of view of orbiting cameras in degrees.
const FOV_DEG: f64 = 35.0;
/// Their elevation above the horizon in degrees.
const ELEVATION_DEG: f64 = 15.0;
/// Share of the frame that stays free around the model.
const MARGIN: f32 = 0.12;
/// Frames at which the fit is tested, at most.
const FIT_SAMPLES: u32 = 72;
/// How far beyond the model the floor may be seen, in world units.
const FLOOR_REACH: f32 = 12.0;

/// Builds the scene of one render. Without an environment the built-in studio is used.
/// Errors: an animation that the model does not have, or nothing to draw.
pub fn build_scene(
    model: Arc<Model>,
    settings: &RenderSettings,
    environment: Option<EnvironmentMap>,
) -> Result<Scene, SceneError> {
    let mut warnings = model.warnings.clone();
    let hidden_nodes = hidden(&model, settings.model(), &mut warnings);
    let clip = chosen_clip(&model, settings.model())?;
    let (centered, world_from_model) = placement(&model, settings.model(), clip, &hidden_nodes)?;
    let framed: Vec<Vec<PosedPrimitive>> = poses(&model, clip, centered, &hidden_nodes);
    let world_bounds = {
        let (min, max) = bounds(framed.iter().flatten()).ok_or(SceneError::NothingVisible)?;
        let shift = translation(settings.model());
        (min + shift, max + shift)
    };
    let points = support_points(framed.iter().flatten());
    let shots = shots(&model, settings, clip, &points, world_bounds);
    let shadow = settings.shadow();
    let light = settings.light();
    Ok(Scene {
        world_from_model_scale: Mat3::from_mat4(world_from_model).determinant().abs().cbrt(),
        clip,
        hidden_nodes,
        environment: lit_environment(settings, environment),
        gloss: light.gloss as f32,
        ambient: lights::ambient(light),
        key_light: lights::key_light(light, world_bounds),
        lights: lights::other_lights(light, &model, world_from_model),
        shadow: shadow
            .enabled
            .then(|| ShadowLook { darkness: shadow.darkness as f32, softness: shadow.softness as f32 }),
        floor_height: world_bounds.0.y,
        background: if settings.video().quality.has_alpha() {
            Background::Transparent
        } else {
            Background::Solid(settings.background().color)
        },
        bounds: world_bounds,
        shots,
        world_from_model,
        warnings,
        model,
    })
}

fn hidden(model: &Model, pose: &ModelPose, warnings: &mut Vec<String>) -> Vec<bool> {
    for name in &pose.hidden_mesh_names {
        if !model.nodes.iter().any(|n| n.mesh.is_some() && n.name == *name) {
            warnings.push(format!("hiddenMeshNames: the model has no mesh '{name}'"));
        }
    }
    model.nodes.iter().map(|n| pose.hidden_mesh_names.contains(&n.name)).collect()
}

fn chosen_clip(model: &Model, pose: &ModelPose) -> Result<Option<usize>, SceneError> {
    let names = || model.animations.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
    match &pose.clip {
        None => Ok(None),
        Some(ClipChoice::First) => Ok((!model.animations.is_empty()).then_some(0)),
        Some(ClipChoice::Named(wanted)) => {
            model.animations.iter().position(|a| a.name == *wanted).map(Some).ok_or_else(|| {
                let available = if model.animations.is_empty() { "none".to_owned() } else { names() };
                SceneError::NoSuchAnimation { wanted: wanted.clone(), available }
            })
        }
    }
}

/// Normalises and places the model: world-from-model without and with the settings' translation.
fn placement(
    model: &Model,
    pose: &ModelPose,
    clip: Option<usize>,
    hidden: &[bool],
) -> Result<(Mat4, Mat4), SceneError> {
    let raw = poses(model, clip, Mat4::IDENTITY, hidden);
    let (min, max) = bounds(raw.iter().flatten()).ok_or(SceneError::NothingVisible)?;
    let center = min + (max - min) * 0.5;
    let stretch = Vec3::from(pose.scale.map(|s| s as f32));
    // A stretch changes the shape; a uniform scale is taken back, because the frame refits.
    let largest = ((max - min) * stretch.abs()).max_element();
    let fit = if largest > 0.0 { 2.0 / largest } else { 1.0 };
    if !fit.is_finite() || !center.is_finite() {
        return Err(SceneError::NothingVisible);
    }
    let turn = Quat::from_euler(
        EulerRot::YXZ,
        (pose.yaw_deg as f32).to_radians(),
        (pose.pitch_deg as f32).to_radians(),
        (pose.roll_deg as f32).to_radians(),
    );
    let centered = Mat4::from_quat(turn) * Mat4::from_scale(stretch * fit) * Mat4::from_translation(-center);
    Ok((centered, Mat4::from_translation(translation(pose)) * centered))
}

fn translation(pose: &ModelPose) -> Vec3 {
    Vec3::from(pose.translate.map(|t| t as f32))
}

/// The environment as it shines: rotated, exposed, tinted.
fn lit_environment(settings: &RenderSettings, given: Option<EnvironmentMap>) -> EnvironmentMap {
    let look = settings.environment();
    let tint = look.tint.map_or(Vec3::ONE, |tint| Vec3::ONE.lerp(lights::linear(tint), look.tint_strength as f32));
    let map = given.unwrap_or_else(studio).rotated((look.rotation_deg as f32).to_radians());
    map.scaled(tint * look.exposure as f32)
}

fn shots(
    model: &Model,
    settings: &RenderSettings,
    clip: Option<usize>,
    points: &[Vec3],
    world_bounds: (Vec3, Vec3),
) -> Vec<Shot> {
    let video = settings.video();
    let motion = settings.camera();
    let count = frame_count(video.length_secs);
    let (width, height) = video.quality.size(video.aspect);
    let aspect = width as f32 / height as f32;
    let framing = Framing::new(settings, points, count, aspect);
    let floor = Vec3::new(
        (world_bounds.0.x + world_bounds.1.x) * 0.5,
        world_bounds.0.y,
        (world_bounds.0.z + world_bounds.1.z) * 0.5,
    );
    (0..count)
        .map(|index| {
            let (camera, grow) = if motion.effect == Effect::Keyframes {
                let pose = path(settings.path(), framing.base_pose(motion.zoom), video.length_secs, index, count);
                (camera_at(pose.position, pose.look_at, pose.fov_deg, world_bounds), 1.0)
            } else {
                let at = orbit(motion, index, count);
                let toward = direction(at.azimuth_deg, ELEVATION_DEG);
                let position = framing.target + toward * (f64::from(framing.distance) * at.radius / motion.zoom);
                (camera_at(position, framing.target, FOV_DEG, world_bounds), at.grow as f32)
            };
            let time = f64::from(index) / f64::from(plinth_spec::quality::FRAMES_PER_SECOND);
            let clip_time = clip
                .and_then(|c| model.animations.get(c))
                .map(|c| clip::looped(time, settings.model().clip_speed, c.duration));
            Shot { index, camera, grow, grow_origin: floor, clip_time }
        })
        .collect()
}

/// Where orbiting cameras stand.
struct Framing {
    target: DVec3,
    distance: f32,
}

impl Framing {
    /// The distance at which the model is inside of the frame at every angle of the motion.
    fn new(settings: &RenderSettings, points: &[Vec3], count: u32, aspect: f32) -> Self {
        let motion = settings.camera();
        let target = Vec3::ZERO;
        let tan_y = (FOV_DEG as f32 * 0.5).to_radians().tan();
        let samples = count.clamp(1, FIT_SAMPLES);
        let distance = (0..samples)
            .map(|i| {
                let azimuth = orbit(motion, i * count / samples, count).azimuth_deg;
                let toward = direction(azimuth, ELEVATION_DEG).as_vec3();
                distance(points, target, toward, (tan_y * aspect, tan_y), MARGIN)
            })
            .fold(0.1, f32::max);
        Self { target: target.as_dvec3(), distance }
    }

    fn base_pose(&self, zoom: f64) -> BasePose {
        BasePose {
            target: self.target.to_array(),
            radius: f64::from(self.distance) / zoom,
            theta_deg: 0.0,
            phi_deg: 90.0 - ELEVATION_DEG,
            fov_deg: FOV_DEG,
        }
    }
}

/// Unit vector of an azimuth from +Z toward +X and an elevation.
fn direction(azimuth_deg: f64, elevation_deg: f64) -> DVec3 {
    let (a, e) = (azimuth_deg.to_radians(), elevation_deg.to_radians());
    DVec3::new(e.cos() * a.sin(), e.sin(), e.cos() * a.cos())
}

fn camera_at(position: DVec3, look_at: DVec3, fov_deg: f64, bounds: (Vec3, Vec3)) -> Camera {
    let back = (position - look_at).normalize_or(DVec3::Z);
    let up = if back.y.abs() > 0.9999 { DVec3::NEG_Z * back.y.signum() } else { DVec3::Y };
    let right = up.cross(back).normalize();
    let up = back.cross(right);
    let world_from_view = Mat4::from_cols(
        right.as_vec3().extend(0.0),
        up.as_vec3().extend(0.0),
        back.as_vec3().extend(0.0),
        position.as_vec3().extend(1.0),
    );
    let center = (bounds.0 + bounds.1) * 0.5;
    let radius = ((bounds.1 - bounds.0) * 0.5).length().max(1e-3);
    let away = position.as_vec3().distance(center);
    Camera {
        view_from_world: world_from_view.inverse(),
        position: position.as_vec3(),
        fov_y: (fov_deg as f32).to_radians(),
        near: (away - radius * 1.1 - FLOOR_REACH * 0.5).max(away * 0.02).max(1e-3),
        far: away + radius * 1.1 + FLOOR_REACH,
    }
}
