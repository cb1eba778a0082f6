//! All settings, grouped by topic. Values of these types can only be created by parsing, so they are always valid.

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
pub use camera::{CameraMotion, DATASET_EFFECT, DEFAULT_ZOOM_END, Effect};
pub use dataset::{Coverage, Dataset};
pub use decals::Decal;
pub use environment::{Environment, EnvironmentMode};
pub use light::Light;
pub use material_edits::{AlphaChoice, Faces, MaterialEdit, material_edit_fields};
pub use model::{ClipChoice, ModelPose};
pub use path::{BasePose, KeyEasing, Keyframe, KeyframeEasing, KeyframePose, Path};
pub use post::{Filter, Post};
pub use shadow::{Shadow, ShadowMode};
pub use surface::Surface;
pub use video::{Output, Video};

use super::error::SettingsError;
use super::field::Field;

/// A group of settings.
#[derive(Clone, Copy, Debug)]
pub struct SettingsGroup {
    /// Name of the group.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub description: &'static str,
    /// The descriptions of the group's settings.
    pub fields: &'static [Field],
}

/// Declares the render settings as a list of groups. The documentation lists the groups in the same order.
macro_rules! groups {
    ($($name:ident: $group:ident, $doc:literal;)*) => {
        /// Validated settings of one render.
        #[derive(Clone, Debug)]
        pub struct RenderSettings {
            /// The settings in the request. Aliases are replaced by the names of the settings.
            pub(super) sent: Map<String, Value>,
            $($name: $group,)*
        }

        const GROUPS: &[SettingsGroup] =
            &[$(SettingsGroup { name: stringify!($name), description: $doc, fields: $group::FIELDS }),*];

        impl RenderSettings {
            /// Converts a JSON object to render settings. Its members must already have been validated.
            /// Errors: if a value does not have the type of its setting.
            pub(super) fn from_checked(sent: Map<String, Value>) -> Result<Self, SettingsError> {
                Ok(Self { $($name: $group::from_members(&sent)?,)* sent })
            }

            /// Returns whether all settings outside the groups `camera` and `path` are equal.
            pub fn differs_only_in_camera(&self, other: &Self) -> bool {
                let groups = [$((stringify!($name), self.$name == other.$name)),*];
                groups.iter().all(|(name, is_same)| *is_same || matches!(*name, "camera" | "path"))
            }

            $(#[doc = $doc]
            pub const fn $name(&self) -> &$group {
                &self.$name
            })*
        }
    };
}

groups! {
    video: Video, "Settings of the output.";
    camera: CameraMotion, "Settings of the camera motion.";
    path: Path, "Settings of a custom camera path, which `effect: keyframes` uses.";
    model: ModelPose, "Settings of the model's pose and animation.";
    background: Background, "Settings of the background and of the vignette.";
    environment: Environment, "Settings of image-based lighting.";
    light: Light, "Settings of the lights.";
    shadow: Shadow, "Settings of shadow and reflection on the floor.";
    post: Post, "Settings of post-processing effects.";
    surface: Surface, "Settings of materials and decals.";
    dataset: Dataset, "Settings of datasets.";
}

/// Returns the descriptions of all settings, in the order of the documentation.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    GROUPS.iter().flat_map(|group| group.fields)
}

/// Returns all groups, in the order of the documentation.
pub const fn setting_groups() -> &'static [SettingsGroup] {
    GROUPS
}

/// Returns the description of the setting with this name in the API. Returns `None` if there is no such setting.
pub fn field(key: &str) -> Option<&'static Field> {
    fields().find(|field| field.key == key)
}
