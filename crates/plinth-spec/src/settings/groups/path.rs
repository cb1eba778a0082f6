//! Settings of custom camera paths.

use serde_json::Value;

use crate::limits;
use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{Field, flag, number};
use crate::settings::read::Read;
use crate::settings::shape::Shape;

named! {
    /// Easing between two keyframes. Without an easing, the speed of the camera is constant, except that it changes
    /// smoothly before and after a dwell.
    KeyEasing {
        /// Constant speed.
        Linear = "linear",
        /// Smooth start.
        In = "ease-in",
        /// Smooth end.
        Out = "ease-out",
        /// Smooth start and end.
        InOut = "ease-in-out",
    }
}

/// The easing from a keyframe to the next one, as a request names it: by its name or, like the setting `easing`, by a
/// boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyframeEasing(pub KeyEasing);

impl Read for KeyframeEasing {
    fn read(value: &Value) -> Option<Self> {
        let easing = match value {
            Value::Bool(true) => Some(KeyEasing::InOut),
            Value::Bool(false) => Some(KeyEasing::Linear),
            other => other.as_str().and_then(KeyEasing::from_name),
        };
        easing.map(Self)
    }
}

/// A position or direction, in normalised units.
pub(super) const VECTOR: Field =
    Field::of(Shape::List { of: &Shape::Number { min: -1000.0, max: 1000.0 }, min: 3, max: 3 });
/// A vertical field of view in degrees.
const FOV: Field = number(1.0, 170.0);
const POSE: Field = Field::of(Shape::Object(KeyframePose::FIELDS));
const KEYFRAMES: Field =
    Field::of(Shape::List { of: &Shape::Object(Keyframe::FIELDS), min: 1, max: limits::KEYFRAMES });
const EASING: Field = Field::of(Shape::ChoiceOrFlag { names: KeyEasing::NAMES });
const CAMERA: Field = Field::of(Shape::Object(BasePose::FIELDS));

objects! {
    /// Camera pose of a keyframe, in normalised units.
    #[derive(Copy)]
    KeyframePose {
        position: [f64; 3] = "position", VECTOR.required();
        look_at: [f64; 3] = "lookAt", VECTOR.required();
        /// Vertical field of view in degrees.
        fov_deg: f64 = "fov", FOV.required();
    }

    /// A camera pose in a path. The camera may dwell at the pose, and may move to the next pose with an easing.
    #[derive(Copy)]
    Keyframe {
        pose: KeyframePose = "pose", POSE.required();
        own_dwell_secs: Option<f64> = "dwell", number(0.0, 120.0);
        named_easing: Option<KeyframeEasing> = "easing", EASING;
    }

    /// Base pose of a camera path that is defined by angles. Lengths are in normalised units.
    #[derive(Copy)]
    BasePose {
        target: [f64; 3] = "target", VECTOR.required();
        radius: f64 = "radius", number(0.01, 1000.0).required();
        /// Azimuth from +Z toward +X in degrees.
        theta_deg: f64 = "theta", number(-3600.0, 3600.0).required();
        /// Polar angle from +Y in degrees.
        phi_deg: f64 = "phi", number(0.0, 180.0).required();
        /// Vertical field of view in degrees.
        fov_deg: f64 = "fov", FOV.required();
    }

    /// Settings of custom camera paths.
    #[non_exhaustive]
    Path {
        keyframes: Vec<Keyframe> = "keyframes", KEYFRAMES, "Path of 1 to 64 camera poses. Each can have a `dwell` in seconds and an `easing` (linear, ease-in, ease-out, ease-in-out, or true or false) to the next pose.";
        camera: Option<BasePose> = "camera", CAMERA, "Base pose of a path that is given by angles: target, radius, theta, phi, fov.";
        start_angle_deg: Option<f64> = "startAngle", number(-1080.0, 1080.0).unit("°"), "Azimuth added at the start of the path.";
        end_angle_deg: Option<f64> = "endAngle", number(-1080.0, 1080.0).unit("°"), "Azimuth added at the end of the path. Default: `startAngle`.";
        start_tilt_deg: Option<f64> = "startTilt", number(-90.0, 90.0).unit("°"), "Elevation added at the start of the path.";
        end_tilt_deg: Option<f64> = "endTilt", number(-90.0, 90.0).unit("°"), "Elevation added at the end of the path. Default: `startTilt`.";
        start_zoom: Option<f64> = "startZoom", number(0.1, 10.0).unit("×"), "Zoom factor at the start of the path: the distance is divided by it.";
        end_zoom: Option<f64> = "endZoom", number(0.1, 10.0).unit("×"), "Zoom factor at the end of the path: the distance is divided by it. Default: `startZoom`.";
        start_fov_deg: Option<f64> = "startFov", number(5.0, 120.0).unit("°"), "Vertical field of view at the start of the path.";
        end_fov_deg: Option<f64> = "endFov", number(5.0, 120.0).unit("°"), "Vertical field of view at the end of the path; if unset, the same as at the start.";
        ease_in_secs: f64 = "easeInSeconds", number(0.0, 60.0).unit("s").or(0.0), "Time over which the camera accelerates at the start of the path.";
        ease_out_secs: f64 = "easeOutSeconds", number(0.0, 60.0).unit("s").or(0.0), "Time over which the camera slows down at the end of the path.";
        segment_secs: f64 = "kfSegmentDuration", number(0.05, 60.0).unit("s").or(2.0), "Time between two keyframes, before the path is stretched to `length`.";
        loops: bool = "loop", flag(false), "The path returns to its first keyframe. A path of angles ends one frame before its end, which is right for whole turns.";
    }
}

impl Keyframe {
    /// Returns the time in seconds for which the camera dwells at the keyframe.
    pub fn dwell_secs(&self) -> f64 {
        self.own_dwell_secs.unwrap_or(0.0)
    }

    /// Returns the easing to the next keyframe. Returns `None` if the request names none.
    pub fn easing(&self) -> Option<KeyEasing> {
        self.named_easing.map(|named| named.0)
    }
}

impl Path {
    /// Returns the azimuths in degrees that are added to the base pose at the start and at the end of the path.
    pub fn angle_deg(&self) -> (f64, f64) {
        start_and_end(self.start_angle_deg, self.end_angle_deg, 0.0)
    }

    /// Returns the elevations in degrees that are added to the base pose at the start and at the end of the path.
    pub fn tilt_deg(&self) -> (f64, f64) {
        start_and_end(self.start_tilt_deg, self.end_tilt_deg, 0.0)
    }

    /// Returns the zoom factors at the start and at the end of the path. The camera distance is divided by the zoom
    /// factor.
    pub fn zoom(&self) -> (f64, f64) {
        start_and_end(self.start_zoom, self.end_zoom, 1.0)
    }

    /// Returns the vertical field of view in degrees at the start and at the end of the path. `base_deg` is the field
    /// of view of the base pose, which applies if the settings contain none.
    pub fn fov_deg(&self, base_deg: f64) -> (f64, f64) {
        start_and_end(self.start_fov_deg, self.end_fov_deg, base_deg)
    }
}

fn start_and_end(start: Option<f64>, end: Option<f64>, unset: f64) -> (f64, f64) {
    let start = start.unwrap_or(unset);
    (start, end.unwrap_or(start))
}
