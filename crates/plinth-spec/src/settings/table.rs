//! The table: one row per field.

use super::groups::Filter;
use crate::quality::{Aspect, DatasetQuality, Quality};

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number within a closed range.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A number within a closed range, but not 0.
    NonZero {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A scale: its magnitude lies within the range, its sign mirrors.
    Scale {
        /// Smallest magnitude.
        min: f64,
        /// Largest magnitude.
        max: f64,
    },
    /// Seconds above 0, bounded by the tier.
    Length,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `#rrggbb`.
    Color,
    /// A text of bounded length.
    Text,
    /// A list of texts.
    TextList,
    /// An object or list with fields of its own.
    Nested(Nested),
}

/// Fields with structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    /// `bgGradient`.
    Gradient,
    /// `materialEdits`.
    MaterialEdits,
    /// `decals`.
    Decals,
    /// `keyframes`.
    Keyframes,
    /// `camera`.
    Camera,
}

/// Fields that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What is made.
    Video,
    /// How the camera moves.
    Camera,
    /// A camera path of one's own.
    Keyframes,
    /// How the model stands and moves.
    Model,
    /// What is behind the model.
    Background,
    /// Light from all around.
    Environment,
    /// Lamps.
    Light,
    /// Shadow and reflection.
    Shadow,
    /// What happens to the finished picture.
    Post,
    /// Changes of surfaces.
    Material,
    /// Training data.
    Dataset,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in the API.
    pub key: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// What it takes.
    pub kind: Kind,
    /// The default as JSON text; `None`: unset.
    pub default: Option<&'static str>,
    /// Unit of a number.
    pub unit: &'static str,
    /// One sentence.
    pub words: &'static str,
}

/// The row of a field.
pub fn row(key: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.key == key)
}

const fn number(min: f64, max: f64) -> Kind {
    Kind::Number { min, max }
}

const fn field(
    key: &'static str,
    group: Group,
    kind: Kind,
    default: Option<&'static str>,
    unit: &'static str,
    words: &'static str,
) -> Row {
    Row { key, group, kind, default, unit, words }
}

/// Effects that move the camera.
pub(crate) const EFFECTS: &[&str] =
    &["turntable", "hero-spin", "showcase", "zoom-orbit", "reveal", "keyframes", "dataset"];

use Group as G;

/// Every field of render settings.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    field("quality", G::Video, Kind::Choice(&Quality::NAMES), Some("\"standard\""), "", "Size, codec and price of the video."),
    field("output", G::Video, Kind::Choice(&["video", "dataset"]), Some("\"video\""), "", "What is made: a video, or a multi-view dataset."),
    field("aspect", G::Video, Kind::Choice(&Aspect::NAMES), Some("\"16:9\""), "", "Shape of the picture."),
    field("length", G::Video, Kind::Length, Some("6"), "s", "Duration; up to 120 s, `pro` up to 60 s."),
    field("strictCredits", G::Video, Kind::Flag, Some("false"), "", "Never pay from the free pool."),
    field("effect", G::Camera, Kind::Choice(EFFECTS), Some("\"turntable\""), "", "How the camera moves; `dataset` means output `dataset`."),
    field("sweepAngle", G::Camera, number(10.0, 1080.0), None, "°", "Angle the camera travels; unset: 360, hero-spin 540, reveal 180."),
    field("easeOutRatio", G::Camera, number(0.0, 1.0), Some("0.6"), "", "Share of a hero-spin over which it slows down."),
    field("amplitude", G::Camera, number(5.0, 180.0), Some("60"), "°", "How far a showcase swings to each side."),
    field("zoomStart", G::Camera, number(0.1, 3.0), Some("1"), "×", "Orbit radius at the start of a zoom-orbit."),
    field("zoomEnd", G::Camera, number(0.1, 3.0), Some("0.7"), "×", "Orbit radius at the end of a zoom-orbit."),
    field("scaleFrom", G::Camera, number(0.0, 1.0), Some("0"), "×", "Size of the model at the start of a reveal."),
    field("easing", G::Camera, Kind::Flag, Some("true"), "", "Start and stop softly where the motion has ends."),
    field("rotateY", G::Camera, number(-180.0, 180.0), Some("0"), "°", "Angle at which the camera starts; the model does not turn."),
    field("zoom", G::Camera, number(0.5, 2.0), Some("1"), "×", "Divides the camera's distance."),
    field("keyframes", G::Keyframes, Kind::Nested(Nested::Keyframes), None, "", "1 to 64 poses of the camera, each with optional dwell and easing."),
    field("camera", G::Keyframes, Kind::Nested(Nested::Camera), None, "", "Base pose of a path given by angles: target, radius, theta, phi, fov."),
    field("startAngle", G::Keyframes, number(-1080.0, 1080.0), None, "°", "Azimuth added at the start of the path."),
    field("endAngle", G::Keyframes, number(-1080.0, 1080.0), None, "°", "Azimuth added at its end; unset: as at its beginning."),
    field("startTilt", G::Keyframes, number(-90.0, 90.0), None, "°", "Elevation added at the start."),
    field("endTilt", G::Keyframes, number(-90.0, 90.0), None, "°", "Elevation added at the end; unset: as at the beginning."),
    field("startZoom", G::Keyframes, number(0.1, 10.0), None, "×", "Divides the distance at the start."),
    field("endZoom", G::Keyframes, number(0.1, 10.0), None, "×", "Divides the distance at the end; unset: as at the beginning."),
    field("startFov", G::Keyframes, number(5.0, 120.0), None, "°", "Vertical field of view at the start."),
    field("endFov", G::Keyframes, number(5.0, 120.0), None, "°", "Vertical field of view at the end; unset: as at the beginning."),
    field("easeInSeconds", G::Keyframes, number(0.0, 60.0), Some("0"), "s", "Time over which the path starts softly."),
    field("easeOutSeconds", G::Keyframes, number(0.0, 60.0), Some("0"), "s", "Time over which it stops softly."),
    field("kfSegmentDuration", G::Keyframes, number(0.05, 60.0), Some("2"), "s", "Time between two keyframes, before the path is stretched to `length`."),
    field("loop", G::Keyframes, Kind::Flag, Some("false"), "", "The path returns to its first keyframe."),
    field("panX", G::Model, number(-180.0, 180.0), Some("0"), "°", "Yaw of the model, applied first."),
    field("tiltX", G::Model, number(-180.0, 180.0), Some("0"), "°", "Pitch of the model in the yawed frame."),
    field("rollZ", G::Model, number(-180.0, 180.0), Some("0"), "°", "Roll of the model, applied last."),
    field("scaleX", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along x; negative mirrors."),
    field("scaleY", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along y; negative mirrors."),
    field("scaleZ", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along z; negative mirrors."),
    field("translateX", G::Model, number(-20.0, 20.0), Some("0"), "units", "Moves the model; it spans 2 units."),
    field("translateY", G::Model, number(-20.0, 20.0), Some("0"), "units", "Lifts the model."),
    field("translateZ", G::Model, number(-20.0, 20.0), Some("0"), "units", "Moves the model toward the camera at angle 0."),
    field("animation", G::Model, Kind::Text, None, "", "Name of the clip to play; `*` is the first."),
    field("animationSpeed", G::Model, Kind::NonZero { min: -10.0, max: 10.0 }, Some("1"), "×", "Speed of the clip; negative plays in reverse."),
    field("hiddenMeshNames", G::Model, Kind::TextList, None, "", "Meshes to leave out, shadows included."),
    field("bgColor", G::Background, Kind::Color, Some("\"#ffffff\""), "", "Colour behind the model."),
    field("bgImageId", G::Background, Kind::Text, None, "", "Overlay image behind the model; goes before bgGradient and bgColor."),
    field("bgAlign", G::Background, Kind::Choice(&["left", "center", "right"]), Some("\"left\""), "", "Which part of a background image stays where it is wider than the picture."),
    field("bgGradient", G::Background, Kind::Nested(Nested::Gradient), None, "", "Gradient behind the model: 2 to 8 `stops` of one `color` each and an `angle` (0 upward, 90 to the right); goes before bgColor."),
    field("vignette", G::Background, number(0.0, 1.0), None, "", "Darkens the corners."),
    field("envId", G::Environment, Kind::Text, None, "", "Environment asset that lights the model."),
    field("envRotation", G::Environment, number(-180.0, 180.0), Some("0"), "°", "Turns the environment about the vertical."),
    field("envExposure", G::Environment, number(0.0156, 4.0), Some("1"), "×", "Multiplies the environment's light."),
    field("envMode", G::Environment, Kind::Choice(&["grounded", "lighting", "floating"]), Some("\"lighting\""), "", "Whether the environment is seen: as light only, as a sphere around, or with a ground under the model."),
    field("envOpacity", G::Environment, number(0.0, 1.0), Some("1"), "", "Fades a visible environment over the background."),
    field("envBlur", G::Environment, number(0.0, 1.0), Some("0"), "", "Blurs a visible environment, not its light."),
    field("envScale", G::Environment, number(0.25, 4.0), Some("1"), "×", "Size of the grounded dome."),
    field("envTint", G::Environment, Kind::Color, None, "", "Colour that multiplies the environment."),
    field("envTintStrength", G::Environment, number(0.0, 1.0), Some("1"), "", "How much of the tint applies."),
    field("spotlightIntensity", G::Light, number(0.0, 32.0), Some("1"), "×", "Key spotlight, which casts the shadow."),
    field("lightsIntensity", G::Light, number(0.0, 32.0), Some("1"), "×", "Fill and rim lights."),
    field("ambientIntensity", G::Light, number(0.0, 16.0), Some("1"), "×", "Weak light from everywhere."),
    field("glossIntensity", G::Light, number(0.0, 16.0), Some("1"), "×", "Reflections of the environment."),
    field("keyLightColor", G::Light, Kind::Color, Some("\"#ffffff\""), "", "Colour of the key spotlight."),
    field("fillLightColor", G::Light, Kind::Color, Some("\"#ffffff\""), "", "Colour of the fill and rim lights."),
    field("shadows", G::Shadow, Kind::Flag, Some("true"), "", "The key light casts a shadow on the model and a floor."),
    field("shadowMode", G::Shadow, Kind::Choice(&["shader", "flat", "accumulated"]), Some("\"shader\""), "", "How the shadow is made."),
    field("shadowDarkness", G::Shadow, number(0.0, 5.0), Some("1"), "×", "How dark the shadow is."),
    field("shadowSoftness", G::Shadow, number(0.0, 1.0), Some("0.5"), "", "How soft its edge is."),
    field("reflector", G::Shadow, Kind::Flag, Some("false"), "", "The floor mirrors the model."),
    field("reflectorMix", G::Shadow, number(0.0, 1.0), Some("0.5"), "", "Strength of the mirror image."),
    field("reflectorFade", G::Shadow, number(0.05, 5.0), Some("1"), "", "How soon the mirror image fades."),
    field("reflectorDepthBlur", G::Shadow, number(0.0, 10.0), Some("1"), "", "How much it blurs with distance."),
    field("filter", G::Post, Kind::Choice(&Filter::NAMES), Some("\"none\""), "", "Look of the finished picture."),
    field("bloomEnabled", G::Post, Kind::Flag, Some("false"), "", "Bright parts glow."),
    field("bloomStrength", G::Post, number(0.0, 2.0), Some("0.5"), "", "How much they glow."),
    field("dofEnabled", G::Post, Kind::Flag, Some("false"), "", "Depth of field."),
    field("dofStrength", G::Post, number(0.0, 1.0), Some("0.3"), "", "How shallow it is."),
    field("n8aoEnabled", G::Post, Kind::Flag, Some("false"), "", "Finer shading of crevices and contacts, cast as rays."),
    field("n8aoIntensity", G::Post, number(0.5, 32.0), Some("1"), "", "How often it counts: 1 is as in nature, more is darker."),
    field("swayEnabled", G::Post, Kind::Flag, Some("false"), "", "The camera moves as if held by hand."),
    field("swayIntensity", G::Post, number(0.0, 2.0), Some("1"), "", "How much it moves."),
    field("materialEdits", G::Material, Kind::Nested(Nested::MaterialEdits), None, "", "Changes of materials, by material name."),
    field("decals", G::Material, Kind::Nested(Nested::Decals), None, "", "Images stuck onto the model."),
    field("datasetQuality", G::Dataset, Kind::Choice(&DatasetQuality::NAMES), Some("\"100x800\""), "", "Number and size of a dataset's views."),
    field("coverage", G::Dataset, Kind::Choice(&["hemisphere", "sphere"]), Some("\"hemisphere\""), "", "Where a dataset's views stand: above the horizon, or all around."),
];
