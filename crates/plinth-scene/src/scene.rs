//! A scene: a model placed in normalised units, its lights, its background and one shot per frame.
//!
//! World space is the specification's normalised space: the model, before rotation, is centred at the origin and the
//! largest side of its bounds is 2 units long; +Y is up, +Z points to the camera at angle 0. The model's yaw, pitch,
//! roll, scale and translation are applied in it. During a render only the camera, the model's animation and, in
//! `reveal`, the overall scale change.

use std::sync::Arc;

use glam::{DMat4, Mat4, Vec3};
use plinth_model::{Image, Model};

use crate::{EnvironmentMap, PostLook, ReflectorLook, ShadowLook, Shot, Surroundings};

/// Sampling quality of baked light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightDetail {
    /// A third of the usual rays, so that the first frame comes sooner.
    Draft,
    /// The default.
    Usual,
    /// Up to three times the usual rays, for large frames and for ambient occlusion.
    Fine,
}

/// Everything needed to draw the frames of one render.
#[derive(Clone, Debug)]
pub struct Scene {
    pub model: Arc<Model>,
    /// World from model: normalisation, then the settings' scale, rotation and translation.
    pub world_from_model: Mat4,
    /// `world_from_model` in double precision.
    pub(crate) exact_world_from_model: DMat4,
    /// Uniform scale of `world_from_model`.
    pub world_from_model_scale: f32,
    /// Index of the animation clip that plays.
    pub clip: Option<usize>,
    /// Messages about settings that have no effect.
    pub warnings: Vec<String>,
    /// Whether `hiddenMeshNames` hides each node; as long as `model.nodes`.
    pub hidden_nodes: Vec<bool>,
    /// The environment light, already rotated, tinted and multiplied by its exposure.
    pub environment: EnvironmentMap,
    /// Factor on the environment's specular reflections (`glossIntensity`).
    pub gloss: f32,
    /// Uniform ambient radiance, linear.
    pub ambient: Vec3,
    /// The spotlight that casts the shadow; `None` at intensity 0.
    pub key_light: Option<KeyLight>,
    /// Fill light, rim light and the file's own lights; none of them casts a shadow.
    pub lights: Vec<PointLikeLight>,
    /// Strength of ambient occlusion (`n8aoIntensity`): the exponent applied to it; 1 is physically correct.
    pub occlusion: f32,
    /// Sampling quality of baked light.
    pub light_detail: LightDetail,
    /// The shadow; `None` if it is off.
    pub shadow: Option<ShadowLook>,
    /// The reflecting floor; `None` if it is off.
    pub reflector: Option<ReflectorLook>,
    /// Height of the floor that receives shadows, in world units.
    pub floor_height: f32,
    /// Whether the frames are views of a dataset: they show only the model, without a floor and without simplification
    /// of its triangles.
    pub is_dataset: bool,
    /// Background of the video; transparent if the video has alpha.
    pub background: Background,
    /// Background of files without alpha; never transparent.
    pub opaque_background: Background,
    /// Post-processing effects.
    pub post: PostLook,
    /// The environment drawn in front of the background; `None` if it only gives light.
    pub surroundings: Option<Surroundings>,
    /// World-space bounds of the model over the whole video, transforms included: (min, max).
    pub bounds: (Vec3, Vec3),
    /// One shot per frame, in order.
    pub shots: Vec<Shot>,
}

/// What is drawn behind the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Background {
    /// One sRGB colour.
    Solid([u8; 3]),
    /// An opaque sRGB picture of the size of the frames.
    Picture(Arc<Image>),
    /// Nothing; the frame carries alpha.
    Transparent,
}

/// The key light, a spotlight that casts the shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyLight {
    /// Position in world space.
    pub position: Vec3,
    /// Point in world space that it aims at.
    pub target: Vec3,
    /// Linear colour times intensity: the irradiance at the target of a surface that faces the light.
    pub irradiance: Vec3,
    /// Half angle of the cone in radians.
    pub cone_half_angle: f32,
    /// Fraction of the cone over which it fades out, 0..=1.
    pub penumbra: f32,
}

/// A light without a shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointLikeLight {
    /// A directional light.
    Directional {
        /// Unit vector from the surface to the light.
        to_light: Vec3,
        /// Linear irradiance of a surface that faces the light.
        irradiance: Vec3,
    },
    /// A point or spot light that falls off with the square of the distance.
    Point {
        /// Position in world space.
        position: Vec3,
        /// Linear radiant intensity, in world units (irradiance = intensity / distance²).
        intensity: Vec3,
        /// Distance at which the light has faded to zero.
        range: Option<f32>,
        /// Cone of a spot light: unit direction in which it shines, cosines of the inner and the outer half angle.
        cone: Option<(Vec3, f32, f32)>,
    },
}
