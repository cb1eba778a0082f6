//! The content of a dataset's `manifest.json`.

use serde::Serialize;
use serde_json::Value;

use super::file::FileEntry;
use super::overview_layout::OverviewLayout;

/// Describes how a dataset was created.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetAbout {
    /// Version of Plinth.
    pub version: String,
    /// Names of the graphics adapter and its driver.
    pub adapter: String,
    /// Render settings that affect frames and differ from their defaults. Aliases are replaced by the names of the settings.
    pub render_settings: Value,
    /// The part of the sphere on which the cameras are: `hemisphere`, `sphere`, or `given` for custom cameras.
    pub coverage: &'static str,
    /// Warnings about settings that have no effect, and about parts of the model that were repaired.
    pub warnings: Vec<String>,
}

/// Content of `manifest.json`. It must not have a member `frames`: instant-ngp reads every JSON file in a folder, and
/// would use a file with this member as a list of cameras.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest<'a> {
    #[serde(flatten)]
    pub(crate) about: &'a DatasetAbout,
    pub(crate) views: usize,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The position of each view in `overview.webp`.
    pub(crate) overview: OverviewLayout,
    /// All files of the dataset except the manifest.
    pub(crate) files: &'a [FileEntry],
}
