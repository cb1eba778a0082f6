//! What `manifest.json` says.

use serde::Serialize;
use serde_json::Value;

use super::file::FileEntry;

/// Where a set comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetAbout {
    /// Version of the program.
    pub version: String,
    /// Adapter and driver that drew.
    pub adapter: String,
    /// The settings as they were read.
    pub render_settings: Value,
    /// `hemisphere`, `sphere`, or `given` for cameras of the user's own.
    pub coverage: &'static str,
    /// Settings without effect and repairs of the model.
    pub warnings: Vec<String>,
}

/// The manifest of a set. It has no member `frames`: instant-ngp reads every JSON file of a folder, and takes those with
/// `frames` for cameras.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest<'a> {
    #[serde(flatten)]
    pub(crate) about: &'a DatasetAbout,
    pub(crate) views: usize,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Every other file of the set.
    pub(crate) files: &'a [FileEntry],
}
