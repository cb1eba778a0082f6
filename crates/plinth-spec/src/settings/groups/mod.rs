//! All settings, group by group. Values of these types come only from parsing.

mod background;
mod camera;
mod dataset;
mod decals;
mod environment;
mod light;
mod material_edits;
mod model;
mod path;
mod post;
mod shadow;
mod surface;
mod video;

use serde_json::{Map, Value};

pub use background::{Background, Gradient, GradientStop};
pub(super) use camera::DATASET_EFFECT;
pub use camera::{CameraMotion, DEFAULT_ZOOM_END, Effect};
pub use dataset::{Coverage, Dataset};
pub use decals::Decal;
pub use environment::{Environment, EnvironmentMode};
pub use light::Light;
pub use material_edits::{AlphaChoice, Faces, MaterialEdit, material_edit_fields};
pub use model::{ClipChoice, ModelPose};
pub use path::{BasePose, KeyEasing, Keyframe, KeyframePose, Path};
pub use post::{Filter, Post};
pub use shadow::{Shadow, ShadowMode};
pub use surface::Surface;
pub use video::{Output, Video};

use super::error::SettingsError;
use super::field::Field;

/// A group of settings.
#[derive(Clone, Copy, Debug)]
pub struct SettingsGroup {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// The descriptions of its settings.
    pub fields: &'static [Field],
}

/// Declares the settings as a whole: their groups, in the order of the reference.
macro_rules! groups {
    ($($name:ident: $group:ident, $doc:literal;)*) => {
        /// Checked settings of one render.
        #[derive(Clone, Debug)]
        pub struct RenderSettings {
            /// What was sent, aliases resolved.
            pub(super) sent: Map<String, Value>,
            $($name: $group,)*
        }

        const GROUPS: &[SettingsGroup] =
            &[$(SettingsGroup { name: stringify!($name), description: $doc, fields: $group::FIELDS }),*];

        impl RenderSettings {
            /// Reads all groups from a JSON object, of which each member has been checked by its description.
            /// Errors: a value that is not of its setting's type.
            pub(super) fn from_checked(sent: Map<String, Value>) -> Result<Self, SettingsError> {
                Ok(Self { $($name: $group::from_members(&sent)?,)* sent })
            }

            $(#[doc = $doc]
            pub const fn $name(&self) -> &$group {
                &self.$name
            })*
        }
    };
}

groups! {
    video: Video, "What is made.";
    camera: CameraMotion, "How the camera moves.";
    path: Path, "A custom camera path.";
    model: ModelPose, "How the model is placed and animated.";
    background: Background, "What is behind the model, and the vignette.";
    environment: Environment, "Image-based light.";
    light: Light, "The light rig.";
    shadow: Shadow, "Shadow and reflection on the floor.";
    post: Post, "Post effects.";
    surface: Surface, "Changes of materials, and decals.";
    dataset: Dataset, "Which views a dataset has.";
}

/// The descriptions of all settings, in the order of the reference.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    GROUPS.iter().flat_map(|group| group.fields)
}

/// All groups, in the order of the reference.
pub const fn setting_groups() -> &'static [SettingsGroup] {
    GROUPS
}

/// The description of one setting.
pub fn field(key: &str) -> Option<&'static Field> {
    fields().find(|field| field.key == key)
}
