//! A scene: a model placed in normalised units, its light, its background and the plan of its shots.
//!
//! World space is the specification's normalised space: the model, in its pose before rotation, is centred at the
//! origin with the largest side of its bounds 2 units long; +Y up, +Z toward the camera at angle 0. The model's yaw,
//! pitch, roll, scale and translation are applied in it. Only the camera and, in `reveal`, the overall scale move
//! besides the model's own animation.

use std::sync::Arc;

use glam::{DMat4, Mat4, Vec3};
use plinth_model::{Image, Model};
use plinth_spec::settings::{Filter, ShadowMode};

use crate::{EnvironmentMap, Shot, Surroundings};

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
    /// Whether gathered light is worked out more finely than is worth its while in most pictures.
    pub fine_light: bool,
    /// How shadows look; `None` when they are off.
    pub shadow: Option<ShadowLook>,
    /// A floor that mirrors the model.
    pub reflector: Option<ReflectorLook>,
    /// Height of the floor that catches shadows, in world units.
    pub floor_height: f32,
    /// The pictures are training data: nothing but the model is drawn, no floor, and its triangles as they are.
    pub is_dataset: bool,
    /// What is behind the model.
    pub background: Background,
    /// What happens to the finished picture.
    pub post: PostLook,
    /// The same where nothing may be seen through: in files without alpha.
    pub opaque_background: Background,
    /// The environment as it is seen before the background; `None` where it only gives light.
    pub surroundings: Option<Surroundings>,
    /// The model's world bounds over the whole shot, transforms included: (min, max).
    pub bounds: (Vec3, Vec3),
    /// One entry per frame, in order.
    pub shots: Vec<Shot>,
}

/// What happens to the finished picture. Nothing, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PostLook {
    /// `filter`.
    pub filter: Filter,
    /// `vignette`: share of light that the corners lose.
    pub vignette: f32,
    /// `bloomStrength`: share of the light of what shines that is spread around it; 0 is off.
    pub bloom: f32,
    /// Diameter of the lens' aperture in world units; 0: everything is sharp.
    pub aperture: f32,
}

impl PostLook {
    /// The picture is finished as it is.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Every colour of the picture may become another.
    pub fn changes_colors(&self) -> bool {
        self.filter != Filter::None || self.vignette > 0.0
    }

    /// Pixels far from the model may change.
    pub fn reaches_everywhere(&self) -> bool {
        self.changes_colors() || self.bloom > 0.0
    }

    /// What of it changes a colour into another, alike in every view and at every pixel.
    #[must_use]
    pub fn of_colors_only(self) -> Self {
        let filter = match self.filter {
            Filter::Grain | Filter::Toon => Filter::None,
            other => other,
        };
        Self { filter, ..Self::default() }
    }

    /// Where surfaces are has to be known.
    pub fn needs_surfaces(&self) -> bool {
        self.aperture > 0.0 || self.filter == Filter::Toon
    }
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

/// How a mirroring floor looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReflectorLook {
    /// `reflectorMix`: share of light that is mirrored where the model touches the floor.
    pub mix: f32,
    /// `reflectorFade`: height above the floor, in world units, of what is mirrored with 1/e of that.
    pub fade: f32,
    /// `reflectorDepthBlur`: how much it blurs with that height.
    pub depth_blur: f32,
}

/// How the key light's shadow looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowLook {
    /// `shadowMode`.
    pub mode: ShadowMode,
    /// `shadowDarkness`: 0 none, 1 as lit, more is darker.
    pub darkness: f32,
    /// `shadowSoftness`, 0..=1: 0 hard, 1 very soft.
    pub softness: f32,
}
