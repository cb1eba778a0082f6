//! A scene: a model placed in normalised units, its light, its background and the plan of its shots.
//!
//! World space is the specification's normalised space: the model, in its pose before rotation, is centred at the
//! origin with the largest side of its bounds 2 units long; +Y up, +Z toward the camera at angle 0. The model's yaw,
//! pitch, roll, scale and translation are applied in it. Only the camera and, in `reveal`, the overall scale move
//! besides the model's own animation.

use std::sync::Arc;

use glam::{DMat4, Mat4, Vec3};
use plinth_model::{Image, Model};

use crate::{EnvironmentMap, PostLook, ReflectorLook, ShadowLook, Shot, Surroundings};

/// How finely gathered light is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightDetail {
    /// With a third of the usual rays: the first frame comes sooner.
    Draft,
    /// As most pictures need it.
    Usual,
    /// With up to three times the usual rays, for large pictures and ambient occlusion.
    Fine,
}

/// Everything needed to draw every frame of one render.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The model.
    pub model: Arc<Model>,
    /// World from model: normalisation, then the settings' scale, rotation and translation.
    pub world_from_model: Mat4,
    /// The same, unrounded.
    pub(crate) exact_world_from_model: DMat4,
    /// Uniform part of that scale.
    pub world_from_model_scale: f32,
    /// Index of the clip that plays.
    pub clip: Option<usize>,
    /// Settings that had no effect, in words for the caller.
    pub warnings: Vec<String>,
    /// For each node: whether `hiddenMeshNames` leaves it out. As long as `model.nodes`.
    pub hidden_nodes: Vec<bool>,
    /// Light from all around, already rotated, tinted and multiplied by its exposure.
    pub environment: EnvironmentMap,
    /// Factor on the environment's specular reflections (`glossIntensity`).
    pub gloss: f32,
    /// Uniform ambient radiance, linear.
    pub ambient: Vec3,
    /// The light that casts the shadow; `None` at intensity 0.
    pub key_light: Option<KeyLight>,
    /// Fill and rim lights, and the file's own lights; none of them casts a shadow.
    pub lights: Vec<PointLikeLight>,
    /// How often what closes the environment off counts (`n8aoIntensity`).
    pub occlusion: f32,
    /// How finely gathered light is worked out.
    pub light_detail: LightDetail,
    /// How shadows look; `None` when they are off.
    pub shadow: Option<ShadowLook>,
    /// A floor that mirrors the model.
    pub reflector: Option<ReflectorLook>,
    /// Height of the floor that catches shadows, in world units.
    pub floor_height: f32,
    /// The pictures are training data: nothing but the model is drawn, no floor, and its triangles as they are.
    pub is_dataset: bool,
    /// What is behind the model in the video; transparent where the video has alpha.
    pub background: Background,
    /// What is behind the model in files without alpha; never transparent.
    pub opaque_background: Background,
    /// What happens to the finished picture.
    pub post: PostLook,
    /// The environment as it is seen before the background; `None` where it only gives light.
    pub surroundings: Option<Surroundings>,
    /// The model's world bounds over the whole shot, transforms included: (min, max).
    pub bounds: (Vec3, Vec3),
    /// One entry per frame, in order.
    pub shots: Vec<Shot>,
}

/// What is behind the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Background {
    /// One sRGB colour.
    Solid([u8; 3]),
    /// An opaque sRGB picture of the size of the frames.
    Picture(Arc<Image>),
    /// Nothing: the picture carries alpha.
    Transparent,
}

/// The key spotlight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyLight {
    /// World position.
    pub position: Vec3,
    /// World point it aims at.
    pub target: Vec3,
    /// Linear colour times intensity: the irradiance it gives at the target on a surface facing it.
    pub irradiance: Vec3,
    /// Half angle of the cone in radians.
    pub cone_half_angle: f32,
    /// Share of the cone over which it fades out, 0..=1.
    pub penumbra: f32,
}

/// A light without shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointLikeLight {
    /// Parallel light.
    Directional {
        /// Unit vector from the surface to the light.
        to_light: Vec3,
        /// Linear irradiance on a surface facing it.
        irradiance: Vec3,
    },
    /// A point or spot light that falls off with the square of the distance.
    Point {
        /// World position.
        position: Vec3,
        /// Linear radiant intensity, in world units (irradiance = intensity / distance²).
        intensity: Vec3,
        /// Distance at which it has faded out.
        range: Option<f32>,
        /// Spot cone: unit direction it shines in, cosine of the inner and of the outer half angle.
        cone: Option<(Vec3, f32, f32)>,
    },
}
