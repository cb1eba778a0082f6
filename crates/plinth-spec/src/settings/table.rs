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

/// Whether the renderer draws a field's look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// It does.
    Now,
    /// The field is checked and stored, but the picture does not change.
    NotYet,
    /// Only for these values.
    NotYetFor(&'static [&'static str]),
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
    /// Whether it is drawn.
    pub rendered: Rendered,
}

/// The row of a field.
pub fn row(key: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.key == key)
}

const fn number(min: f64, max: f64) -> Kind {
    Kind::Number { min, max }
}

const fn now(
    key: &'static str,
    group: Group,
    kind: Kind,
    default: Option<&'static str>,
    unit: &'static str,
    words: &'static str,
) -> Row {
    Row { key, group, kind, default, unit, words, rendered: Rendered::Now }
}

const fn later(
    key: &'static str,
    group: Group,
    kind: Kind,
    default: Option<&'static str>,
    unit: &'static str,
    words: &'static str,
) -> Row {
    Row { key, group, kind, default, unit, words, rendered: Rendered::NotYet }
}

const fn partly(row: Row, not_yet: &'static [&'static str]) -> Row {
    Row { rendered: Rendered::NotYetFor(not_yet), ..row }
}

/// Effects that move the camera.
pub(crate) const EFFECTS: &[&str] =
    &["turntable", "hero-spin", "showcase", "zoom-orbit", "reveal", "keyframes", "dataset"];

use Group as G;

/// Every field of render settings.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    now("quality", G::Video, Kind::Choice(&Quality::NAMES), Some("\"standard\""), "", "Size, codec and price of the video."),
    now("output", G::Video, Kind::Choice(&["video", "dataset"]), Some("\"video\""), "", "What is made: a video, or a multi-view dataset."),
    now("aspect", G::Video, Kind::Choice(&Aspect::NAMES), Some("\"16:9\""), "", "Shape of the picture."),
    now("length", G::Video, Kind::Length, Some("6"), "s", "Duration; up to 120 s, `pro` up to 60 s."),
    now("strictCredits", G::Video, Kind::Flag, Some("false"), "", "Never pay from the free pool."),
    now("effect", G::Camera, Kind::Choice(EFFECTS), Some("\"turntable\""), "", "How the camera moves; `dataset` means output `dataset`."),
    now("sweepAngle", G::Camera, number(10.0, 1080.0), None, "°", "Angle the camera travels; unset: 360, hero-spin 540, reveal 180."),
    now("easeOutRatio", G::Camera, number(0.0, 1.0), Some("0.6"), "", "Share of a hero-spin over which it slows down."),
    now("amplitude", G::Camera, number(5.0, 180.0), Some("60"), "°", "How far a showcase swings to each side."),
    now("zoomStart", G::Camera, number(0.1, 3.0), Some("1"), "×", "Orbit radius at the start of a zoom-orbit."),
    now("zoomEnd", G::Camera, number(0.1, 3.0), Some("0.7"), "×", "Orbit radius at the end of a zoom-orbit."),
    now("scaleFrom", G::Camera, number(0.0, 1.0), Some("0"), "×", "Size of the model at the start of a reveal."),
    now("easing", G::Camera, Kind::Flag, Some("true"), "", "Start and stop softly where the motion has ends."),
    now("rotateY", G::Camera, number(-180.0, 180.0), Some("0"), "°", "Angle at which the camera starts; the model does not turn."),
    now("zoom", G::Camera, number(0.5, 2.0), Some("1"), "×", "Divides the camera's distance."),
    now("keyframes", G::Keyframes, Kind::Nested(Nested::Keyframes), None, "", "1 to 64 poses of the camera, each with optional dwell and easing."),
    now("camera", G::Keyframes, Kind::Nested(Nested::Camera), None, "", "Base pose of a path given by angles: target, radius, theta, phi, fov."),
    now("startAngle", G::Keyframes, number(-1080.0, 1080.0), None, "°", "Azimuth added at the start of the path."),
    now("endAngle", G::Keyframes, number(-1080.0, 1080.0), None, "°", "Azimuth added at its end."),
    now("startTilt", G::Keyframes, number(-90.0, 90.0), None, "°", "Elevation added at the start."),
    now("endTilt", G::Keyframes, number(-90.0, 90.0), None, "°", "Elevation added at the end."),
    now("startZoom", G::Keyframes, number(0.1, 10.0), None, "×", "Divides the distance at the start."),
    now("endZoom", G::Keyframes, number(0.1, 10.0), None, "×", "Divides the distance at the end."),
    now("startFov", G::Keyframes, number(5.0, 120.0), None, "°", "Vertical field of view at the start."),
    now("endFov", G::Keyframes, number(5.0, 120.0), None, "°", "Vertical field of view at the end."),
    now("easeInSeconds", G::Keyframes, number(0.0, 60.0), Some("0"), "s", "Time over which the path starts softly."),
    now("easeOutSeconds", G::Keyframes, number(0.0, 60.0), Some("0"), "s", "Time over which it stops softly."),
    now("kfSegmentDuration", G::Keyframes, number(0.05, 60.0), Some("2"), "s", "Time between two keyframes, before the path is stretched to `length`."),
    now("loop", G::Keyframes, Kind::Flag, Some("false"), "", "The path returns to its first keyframe."),
    now("panX", G::Model, number(-180.0, 180.0), Some("0"), "°", "Yaw of the model, applied first."),
    now("tiltX", G::Model, number(-180.0, 180.0), Some("0"), "°", "Pitch of the model in the yawed frame."),
    now("rollZ", G::Model, number(-180.0, 180.0), Some("0"), "°", "Roll of the model, applied last."),
    now("scaleX", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along x; negative mirrors."),
    now("scaleY", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along y; negative mirrors."),
    now("scaleZ", G::Model, Kind::Scale { min: 0.01, max: 20.0 }, Some("1"), "×", "Stretches along z; negative mirrors."),
    now("translateX", G::Model, number(-20.0, 20.0), Some("0"), "units", "Moves the model; it spans 2 units."),
    now("translateY", G::Model, number(-20.0, 20.0), Some("0"), "units", "Lifts the model."),
    now("translateZ", G::Model, number(-20.0, 20.0), Some("0"), "units", "Moves the model toward the camera at angle 0."),
    now("animation", G::Model, Kind::Text, None, "", "Name of the clip to play; `*` is the first."),
    now("animationSpeed", G::Model, Kind::NonZero { min: -10.0, max: 10.0 }, Some("1"), "×", "Speed of the clip; negative plays in reverse."),
    now("hiddenMeshNames", G::Model, Kind::TextList, None, "", "Meshes to leave out, shadows included."),
    now("bgColor", G::Background, Kind::Color, Some("\"#ffffff\""), "", "Colour behind the model."),
    now("bgImageId", G::Background, Kind::Text, None, "", "Overlay image behind the model; goes before bgGradient and bgColor."),
    now("bgAlign", G::Background, Kind::Choice(&["left", "center", "right"]), Some("\"left\""), "", "Which part of a background image stays where it is wider than the picture."),
    now("bgGradient", G::Background, Kind::Nested(Nested::Gradient), None, "", "Gradient behind the model: 2 to 8 `stops` of one `color` each and an `angle` (0 upward, 90 to the right); goes before bgColor."),
    now("vignette", G::Background, number(0.0, 1.0), None, "", "Darkens the corners."),
    now("envId", G::Environment, Kind::Text, None, "", "Environment asset that lights the model."),
    now("envRotation", G::Environment, number(-180.0, 180.0), Some("0"), "°", "Turns the environment about the vertical."),
    now("envExposure", G::Environment, number(0.0156, 4.0), Some("1"), "×", "Multiplies the environment's light."),
    now("envMode", G::Environment, Kind::Choice(&["grounded", "lighting", "floating"]), Some("\"lighting\""), "", "Whether the environment is seen: as light only, as a sphere around, or with a ground under the model."),
    now("envOpacity", G::Environment, number(0.0, 1.0), Some("1"), "", "Fades a visible environment over the background."),
    now("envBlur", G::Environment, number(0.0, 1.0), Some("0"), "", "Blurs a visible environment, not its light."),
    now("envScale", G::Environment, number(0.25, 4.0), Some("1"), "×", "Size of the grounded dome."),
    now("envTint", G::Environment, Kind::Color, None, "", "Colour that multiplies the environment."),
    now("envTintStrength", G::Environment, number(0.0, 1.0), Some("1"), "", "How much of the tint applies."),
    now("spotlightIntensity", G::Light, number(0.0, 32.0), Some("1"), "×", "Key spotlight, which casts the shadow."),
    now("lightsIntensity", G::Light, number(0.0, 32.0), Some("1"), "×", "Fill and rim lights."),
    now("ambientIntensity", G::Light, number(0.0, 16.0), Some("1"), "×", "Weak light from everywhere."),
    now("glossIntensity", G::Light, number(0.0, 16.0), Some("1"), "×", "Reflections of the environment."),
    now("keyLightColor", G::Light, Kind::Color, Some("\"#ffffff\""), "", "Colour of the key spotlight."),
    now("fillLightColor", G::Light, Kind::Color, Some("\"#ffffff\""), "", "Colour of the fill and rim lights."),
    now("shadows", G::Shadow, Kind::Flag, Some("true"), "", "The key light casts a shadow on the model and a floor."),
    now("shadowMode", G::Shadow, Kind::Choice(&["shader", "flat", "accumulated"]), Some("\"shader\""), "", "How the shadow is made."),
    now("shadowDarkness", G::Shadow, number(0.0, 5.0), Some("1"), "×", "How dark the shadow is."),
    now("shadowSoftness", G::Shadow, number(0.0, 1.0), Some("0.5"), "", "How soft its edge is."),
    now("reflector", G::Shadow, Kind::Flag, Some("false"), "", "The floor mirrors the model."),
    now("reflectorMix", G::Shadow, number(0.0, 1.0), Some("0.5"), "", "Strength of the mirror image."),
    now("reflectorFade", G::Shadow, number(0.05, 5.0), Some("1"), "", "How soon the mirror image fades."),
    now("reflectorDepthBlur", G::Shadow, number(0.0, 10.0), Some("1"), "", "How much it blurs with distance."),
    now("filter", G::Post, Kind::Choice(&Filter::NAMES), Some("\"none\""), "", "Look of the finished picture."),
    now("bloomEnabled", G::Post, Kind::Flag, Some("false"), "", "Bright parts glow."),
    now("bloomStrength", G::Post, number(0.0, 2.0), Some("0.5"), "", "How much they glow."),
    now("dofEnabled", G::Post, Kind::Flag, Some("false"), "", "Depth of field."),
    now("dofStrength", G::Post, number(0.0, 1.0), Some("0.3"), "", "How shallow it is."),
    now("n8aoEnabled", G::Post, Kind::Flag, Some("false"), "", "Finer shading of crevices and contacts, cast as rays."),
    now("n8aoIntensity", G::Post, number(0.5, 32.0), Some("1"), "", "How often it counts: 1 is as in nature, more is darker."),
    now("swayEnabled", G::Post, Kind::Flag, Some("false"), "", "The camera moves as if held by hand."),
    now("swayIntensity", G::Post, number(0.0, 2.0), Some("1"), "", "How much it moves."),
    now("materialEdits", G::Material, Kind::Nested(Nested::MaterialEdits), None, "", "Changes of materials, by material name."),
    now("decals", G::Material, Kind::Nested(Nested::Decals), None, "", "Images stuck onto the model."),
    now("datasetQuality", G::Dataset, Kind::Choice(&DatasetQuality::NAMES), Some("\"100x800\""), "", "Number and size of a dataset's views."),
    now("coverage", G::Dataset, Kind::Choice(&["hemisphere", "sphere"]), Some("\"hemisphere\""), "", "Where a dataset's views stand: above the horizon, or all around."),
];
