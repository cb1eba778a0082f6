//! The fields with structure: their shapes, and reading those that are small.

use serde_json::Value;

use super::decals::DECALS;
use super::error::SettingsError;
use super::groups::{BasePose, Gradient, KeyEasing, Keyframe};
use super::material_edits::MATERIAL_EDITS;
use super::shape::{Shape, color, number, optional, required, vector};
use super::table::Nested;
use crate::limits;

/// A place or direction, in normalised units.
pub(super) const PLACE: Shape = Shape::List(&Shape::Number(-1000.0, 1000.0), 3, 3);
/// A vertical field of view in degrees.
const FOV: Shape = Shape::Number(1.0, 170.0);
/// Words of [`KeyEasing`], in its order.
const EASINGS: [(&str, KeyEasing); 4] = [
    ("linear", KeyEasing::Linear),
    ("ease-in", KeyEasing::In),
    ("ease-out", KeyEasing::Out),
    ("ease-in-out", KeyEasing::InOut),
];

const GRADIENT: Shape = Shape::Object(&[
    required("stops", Shape::List(&Shape::Object(&[required("color", Shape::Color)]), 2, limits::GRADIENT_STOPS)),
    required("angle", Shape::Number(0.0, 359.0)),
]);
const POSE: Shape = Shape::Object(&[required("position", PLACE), required("lookAt", PLACE), required("fov", FOV)]);
const KEYFRAME: Shape = Shape::Object(&[
    required("pose", POSE),
    optional("dwell", Shape::Number(0.0, 120.0)),
    optional("easing", Shape::Choice(&[EASINGS[0].0, EASINGS[1].0, EASINGS[2].0, EASINGS[3].0])),
]);
const KEYFRAMES: Shape = Shape::List(&KEYFRAME, 1, limits::KEYFRAMES);
const CAMERA: Shape = Shape::Object(&[
    required("target", PLACE),
    required("radius", Shape::Number(0.01, 1000.0)),
    required("theta", Shape::Number(-3600.0, 3600.0)),
    required("phi", Shape::Number(0.0, 180.0)),
    required("fov", FOV),
]);

impl Nested {
    /// What such a field may be.
    pub(super) const fn shape(self) -> &'static Shape {
        match self {
            Self::Gradient => &GRADIENT,
            Self::MaterialEdits => &MATERIAL_EDITS,
            Self::Decals => &DECALS,
            Self::Keyframes => &KEYFRAMES,
            Self::Camera => &CAMERA,
        }
    }
}

/// Checks a field completely.
pub(super) fn check(key: &str, kind: Nested, value: &Value) -> Result<(), SettingsError> {
    kind.shape().check(key, value)?;
    let bytes = if kind == Nested::MaterialEdits { value.to_string().len() } else { 0 };
    if bytes > limits::MATERIAL_EDITS_BYTES {
        let words = format!("{key} may take at most {} bytes, not {bytes}", limits::MATERIAL_EDITS_BYTES);
        return Err(SettingsError::invalid(key, words));
    }
    Ok(())
}

/// Reads a checked `bgGradient`.
pub(super) fn gradient(value: &Value) -> Gradient {
    let stops = value["stops"].as_array().into_iter().flatten();
    Gradient { stops: stops.filter_map(|stop| color(&stop["color"])).collect(), angle_deg: number(&value["angle"]) }
}

/// Reads a checked keyframe.
pub(super) fn keyframe(value: &Value) -> Keyframe {
    let pose = &value["pose"];
    let easing = EASINGS.iter().find(|(word, _)| value["easing"] == *word);
    Keyframe {
        position: vector(&pose["position"]),
        look_at: vector(&pose["lookAt"]),
        fov_deg: number(&pose["fov"]),
        dwell_secs: number(&value["dwell"]),
        easing: easing.map_or_else(KeyEasing::default, |(_, easing)| *easing),
    }
}

/// Reads a checked `camera`.
pub(super) fn camera(value: &Value) -> BasePose {
    BasePose {
        target: vector(&value["target"]),
        radius: number(&value["radius"]),
        theta_deg: number(&value["theta"]),
        phi_deg: number(&value["phi"]),
        fov_deg: number(&value["fov"]),
    }
}
