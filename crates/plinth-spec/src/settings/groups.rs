//! Checked settings, typed. Values of these types come only from parsing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::decals::Decal;
use super::material_edits::MaterialEdit;
use crate::quality::{Aspect, DatasetQuality, Quality};

/// Checked settings of one render.
#[derive(Clone, Debug)]
pub struct RenderSettings {
    pub(super) sent: Map<String, Value>,
    pub(super) video: Video,
    pub(super) camera: CameraMotion,
    pub(super) path: Path,
    pub(super) model: ModelPose,
    pub(super) background: Background,
    pub(super) environment: Environment,
    pub(super) light: Light,
    pub(super) shadow: Shadow,
    pub(super) post: Post,
    pub(super) material_edits: BTreeMap<String, MaterialEdit>,
    pub(super) decals: Vec<Decal>,
    pub(super) dataset: Dataset,
}

macro_rules! accessors {
    ($($name:ident: $kind:ty, $words:literal;)*) => {
        impl RenderSettings {
            $(#[doc = $words]
            pub const fn $name(&self) -> &$kind {
                &self.$name
            })*
        }
    };
}

accessors! {
    video: Video, "What is made.";
    camera: CameraMotion, "How the camera moves.";
    path: Path, "A camera path of one's own.";
    model: ModelPose, "How the model stands and moves.";
    background: Background, "What is behind the model.";
    environment: Environment, "Light from all around.";
    light: Light, "Lamps.";
    shadow: Shadow, "Shadow and reflection.";
    post: Post, "What happens to the finished picture.";
    material_edits: BTreeMap<String, MaterialEdit>, "Changes of materials, by material name.";
    decals: Vec<Decal>, "Images stuck onto the model.";
    dataset: Dataset, "Training data.";
}

impl RenderSettings {
    /// What was sent, aliases resolved; defaults are not filled in.
    pub fn echoed(&self) -> Value {
        Value::Object(self.sent.clone())
    }

    /// The echoed settings with sorted keys: equal texts mean equal settings.
    pub fn canonical(&self) -> String {
        // serde_json's map is sorted by key.
        self.echoed().to_string()
    }
}

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A video.
    Video,
    /// A multi-view dataset.
    Dataset,
}

/// Fields of the video group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Video {
    /// `quality`.
    pub quality: Quality,
    /// `output`.
    pub output: Output,
    /// `aspect`.
    pub aspect: Aspect,
    /// `length`.
    pub length_secs: f64,
    /// `strictCredits`.
    pub strict_credits: bool,
}

/// How the camera moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Once around.
    Turntable,
    /// A fast spin that slows down.
    HeroSpin,
    /// A swing to both sides.
    Showcase,
    /// An orbit that comes nearer.
    ZoomOrbit,
    /// The model grows while the camera travels.
    Reveal,
    /// A path of one's own.
    Keyframes,
}

/// Fields of the camera group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CameraMotion {
    /// `effect`.
    pub effect: Effect,
    /// `sweepAngle` in degrees, or the effect's own.
    pub sweep_deg: f64,
    /// `easeOutRatio`.
    pub ease_out_ratio: f64,
    /// `amplitude` in degrees.
    pub amplitude_deg: f64,
    /// `zoomStart`.
    pub zoom_start: f64,
    /// `zoomEnd`.
    pub zoom_end: f64,
    /// `scaleFrom`.
    pub scale_from: f64,
    /// `easing`.
    pub easing: bool,
    /// `rotateY` in degrees.
    pub orbit_start_deg: f64,
    /// `zoom`.
    pub zoom: f64,
}

/// How time runs between two keyframes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyEasing {
    /// Evenly, but softly where it leaves or reaches a dwell.
    #[default]
    Unset,
    /// Evenly.
    Linear,
    /// Soft start.
    In,
    /// Soft end.
    Out,
    /// Both.
    InOut,
}

/// One pose of a camera path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// World position of the camera.
    pub position: [f64; 3],
    /// World point it looks at.
    pub look_at: [f64; 3],
    /// Vertical field of view in degrees.
    pub fov_deg: f64,
    /// Seconds it stays.
    pub dwell_secs: f64,
    /// How it travels to the next pose.
    pub easing: KeyEasing,
}

/// Base pose of a path given by angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BasePose {
    /// World point it looks at.
    pub target: [f64; 3],
    /// Distance from it.
    pub radius: f64,
    /// Azimuth from +Z toward +X in degrees.
    pub theta_deg: f64,
    /// Polar angle from +Y in degrees.
    pub phi_deg: f64,
    /// Vertical field of view in degrees.
    pub fov_deg: f64,
}

/// Fields of the keyframes group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Path {
    /// `keyframes`.
    pub keyframes: Vec<Keyframe>,
    /// `camera`.
    pub camera: Option<BasePose>,
    /// `startAngle`, `endAngle` in degrees.
    pub angle_deg: (f64, f64),
    /// `startTilt`, `endTilt` in degrees.
    pub tilt_deg: (f64, f64),
    /// `startZoom`, `endZoom`.
    pub zoom: (f64, f64),
    /// `startFov`, `endFov` in degrees; `None`: the base pose's.
    pub fov_deg: (Option<f64>, Option<f64>),
    /// `easeInSeconds`.
    pub ease_in_secs: f64,
    /// `easeOutSeconds`.
    pub ease_out_secs: f64,
    /// `kfSegmentDuration`.
    pub segment_secs: f64,
    /// `loop`.
    pub loops: bool,
}

/// Which clip plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipChoice {
    /// The first one.
    First,
    /// The one of this name.
    Named(String),
}

/// Fields of the model group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelPose {
    /// `panX` in degrees.
    pub yaw_deg: f64,
    /// `tiltX` in degrees.
    pub pitch_deg: f64,
    /// `rollZ` in degrees.
    pub roll_deg: f64,
    /// `scaleX`, `scaleY`, `scaleZ`.
    pub scale: [f64; 3],
    /// `translateX`, `translateY`, `translateZ`.
    pub translate: [f64; 3],
    /// `animation`.
    pub clip: Option<ClipChoice>,
    /// `animationSpeed`.
    pub clip_speed: f64,
    /// `hiddenMeshNames`.
    pub hidden_mesh_names: Vec<String>,
}

/// Which part of a background that is wider than the picture stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// The left one.
    #[default]
    Left,
    /// The middle.
    Center,
    /// The right one.
    Right,
}

/// Colours that go over into each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// sRGB colours at even distances, at least two.
    pub stops: Vec<[u8; 3]>,
    /// Direction in degrees: 0 upward, 90 to the right, as in CSS.
    pub angle_deg: f64,
}

/// Fields of the background group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Background {
    /// `bgColor`, sRGB.
    pub color: [u8; 3],
    /// `bgGradient`; it goes before the colour.
    pub gradient: Option<Gradient>,
    /// `bgImageId`; it goes before both.
    pub image: Option<String>,
    /// `bgAlign`.
    pub align: Align,
}

/// How an environment is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvironmentMode {
    /// Not at all: it lights the model.
    #[default]
    Lighting,
    /// As a sphere around.
    Floating,
    /// As a dome with a ground that the model stands on.
    Grounded,
}

/// Fields of the environment group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Environment {
    /// `envId`.
    pub id: Option<String>,
    /// `envRotation` in degrees.
    pub rotation_deg: f64,
    /// `envExposure`.
    pub exposure: f64,
    /// `envMode`.
    pub mode: EnvironmentMode,
    /// `envOpacity`.
    pub opacity: f64,
    /// `envBlur`.
    pub blur: f64,
    /// `envScale`.
    pub scale: f64,
    /// `envTint`, sRGB.
    pub tint: Option<[u8; 3]>,
    /// `envTintStrength`.
    pub tint_strength: f64,
}

/// Fields of the light group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Light {
    /// `spotlightIntensity`.
    pub spot: f64,
    /// `lightsIntensity`.
    pub lights: f64,
    /// `ambientIntensity`.
    pub ambient: f64,
    /// `glossIntensity`.
    pub gloss: f64,
    /// `keyLightColor`, sRGB.
    pub key_color: [u8; 3],
    /// `fillLightColor`, sRGB.
    pub fill_color: [u8; 3],
}

/// How the shadow on the floor is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShadowMode {
    /// From the shadow map, softer with the distance from what casts it.
    #[default]
    Shader,
    /// An even silhouette with a soft edge.
    Flat,
    /// The mean of many shadows from all over the lamp.
    Accumulated,
}

/// A mirroring floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reflector {
    /// `reflectorMix`.
    pub mix: f64,
    /// `reflectorFade`.
    pub fade: f64,
    /// `reflectorDepthBlur`.
    pub depth_blur: f64,
}

/// Fields of the shadow group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shadow {
    /// `shadows`.
    pub enabled: bool,
    /// `shadowMode`.
    pub mode: ShadowMode,
    /// `shadowDarkness`.
    pub darkness: f64,
    /// `shadowSoftness`.
    pub softness: f64,
    /// `reflector` and what belongs to it.
    pub reflector: Option<Reflector>,
}

/// The look of the finished picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// As rendered.
    #[default]
    None,
    /// Brown tones.
    Sepia,
    /// Black and white.
    Bw,
    /// Stronger colours.
    Vivid,
    /// Toward amber.
    Warm,
    /// Toward blue.
    Cool,
    /// Lifted blacks, pale colours.
    Faded,
    /// Hard black and white.
    Noir,
    /// The grain of film.
    Grain,
    /// Banded light and ink outlines.
    Toon,
}

impl Filter {
    /// All, in the order of [`Filter::NAMES`].
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::Sepia,
        Self::Bw,
        Self::Vivid,
        Self::Warm,
        Self::Cool,
        Self::Faded,
        Self::Noir,
        Self::Grain,
        Self::Toon,
    ];
    /// Their names in the API.
    pub const NAMES: [&'static str; 10] =
        ["none", "sepia", "bw", "vivid", "warm", "cool", "faded", "noir", "grain", "toon"];
}

/// Fields of the post group, and `vignette`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Post {
    /// `filter`.
    pub filter: Filter,
    /// `vignette`; 0 where unset.
    pub vignette: f64,
    /// `bloomStrength` where bloom is on; else 0.
    pub bloom: f64,
    /// `dofStrength` where depth of field is on; else 0.
    pub depth_of_field: f64,
    /// `n8aoIntensity` where ambient occlusion is on.
    pub occlusion: Option<f64>,
    /// `swayIntensity` where sway is on; else 0.
    pub sway: f64,
}

/// Fields of the dataset group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dataset {
    /// `datasetQuality`.
    pub quality: Option<DatasetQuality>,
    /// `coverage` is `sphere`.
    pub whole_sphere: bool,
}
