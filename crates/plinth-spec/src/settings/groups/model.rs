//! Settings of the model's pose and animation.

use serde_json::Value;

use crate::limits;
use crate::settings::declare::objects;
use crate::settings::field::{Field, number, scale, text};
use crate::settings::read::Read;
use crate::settings::shape::Shape;

/// The animation clip to play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipChoice {
    /// The first clip.
    First,
    /// The clip with this name.
    Named(String),
}

impl Read for ClipChoice {
    fn read(value: &Value) -> Option<Self> {
        let name = value.as_str()?;
        Some(if name == "*" { Self::First } else { Self::Named(name.to_owned()) })
    }
}

const TURN: Field = number(-180.0, 180.0).unit("°").or(0.0);
const STRETCH: Field = scale(0.01, 20.0).unit("×").or(1.0);
const SHIFT: Field = number(-20.0, 20.0).unit("units").or(0.0);
const SPEED: Field = Field::of(Shape::NonZero { min: -10.0, max: 10.0 }).unit("×").or(1.0);
const MESH_NAMES: Field =
    Field::of(Shape::Texts { max: limits::HIDDEN_MESH_NAMES, max_chars: limits::HIDDEN_MESH_NAME_CHARS });

objects! {
    /// Settings of the model's pose and animation.
    #[non_exhaustive]
    ModelPose {
        yaw_deg: f64 = "panX", TURN, "Yaw of the model. It is applied first.";
        pitch_deg: f64 = "tiltX", TURN, "Pitch of the model. It is applied after the yaw, about the rotated axis.";
        roll_deg: f64 = "rollZ", TURN, "Roll of the model. It is applied last.";
        scale_x: f64 = "scaleX", STRETCH, "Stretches the model along x; a negative value mirrors it.";
        scale_y: f64 = "scaleY", STRETCH, "Stretches the model along y; a negative value mirrors it.";
        scale_z: f64 = "scaleZ", STRETCH, "Stretches the model along z; a negative value mirrors it.";
        translate_x: f64 = "translateX", SHIFT, "Moves the model to the right. The model spans 2 units.";
        translate_y: f64 = "translateY", SHIFT, "Moves the model up.";
        translate_z: f64 = "translateZ", SHIFT, "Moves the model toward the camera at angle 0.";
        clip: Option<ClipChoice> = "animation", text(), "Name of the animation clip to play. `*` selects the first clip.";
        clip_speed: f64 = "animationSpeed", SPEED, "Playback speed of the clip. A negative speed plays it in reverse.";
        hidden_mesh_names: Vec<String> = "hiddenMeshNames", MESH_NAMES, "Names of meshes that are not drawn and cast no shadow.";
    }
}

impl ModelPose {
    /// Returns the scale along x, y and z.
    pub const fn scale(&self) -> [f64; 3] {
        [self.scale_x, self.scale_y, self.scale_z]
    }

    /// Returns the translation along x, y and z in normalised units.
    pub const fn translate(&self) -> [f64; 3] {
        [self.translate_x, self.translate_y, self.translate_z]
    }
}
