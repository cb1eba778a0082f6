//! Contents of `manifest.json`.

use serde::Serialize;
use serde_json::Value;

use super::file::FileEntry;

/// Origin of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetAbout {
    /// Version of the program.
    pub version: String,
    /// Graphics adapter and driver.
    pub adapter: String,
    /// Settings with aliases resolved.
    pub render_settings: Value,
    /// `hemisphere`, `sphere`, or `given` for custom cameras.
    pub coverage: &'static str,
    /// Warnings: settings without effect, and repairs of the model.
    pub warnings: Vec<String>,
}

/// Manifest of a dataset. It has no member `frames`, because instant-ngp reads every JSON file in a folder and would
/// take a file with `frames` for cameras.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest<'a> {
    #[serde(flatten)]
    pub(crate) about: &'a DatasetAbout,
    pub(crate) views: usize,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// All other files of the dataset.
    pub(crate) files: &'a [FileEntry],
}
