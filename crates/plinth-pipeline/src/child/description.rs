//! Job description for a child process.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use plinth_media::{EncoderChoice, H264Encoder};
use plinth_spec::OutputPaths;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::preview::PreviewTask;
use crate::environment::EnvironmentFiles;

/// File name of the description in the job's folder.
pub const DESCRIPTION_FILE: &str = "job.json";

/// Job of a child process. Paths are relative to the job's folder, so that error messages do not reveal its location.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildJob {
    /// The task.
    pub task: ChildTask,
    /// Resource limits.
    pub limits: ChildLimits,
}

/// Kinds of tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildTask {
    /// Renders a model.
    Render(Box<RenderTask>),
    /// Packages a video as HLS.
    Package(PackageTask),
    /// Holds a model and draws single frames of it.
    Preview(PreviewTask),
    /// Probes the graphics adapter and the encoder.
    Probe(ProbeTask),
}

/// Probe of the graphics adapter and the encoder, in the same sandbox as renders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTask {
    /// Part of the graphics adapter's name, or `cpu`. `None` selects the fastest adapter.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Requested H.264 encoder.
    pub encoder: EncoderChoice,
}

/// Rendering of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderTask {
    /// GLB file.
    pub model: PathBuf,
    /// Render settings, validated when the render was created.
    pub settings: Value,
    /// Environment; `None` is the built-in studio.
    pub environment: Option<EnvironmentFiles>,
    /// Images named in the settings: file by ID.
    pub images: BTreeMap<String, PathBuf>,
    /// Output files and their paths.
    pub outputs: OutputPaths,
    /// Part of the graphics adapter's name, or `cpu`. `None` selects the fastest adapter.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of baked light for this model; `None` disables caching.
    pub cache: Option<CacheFolder>,
    /// H.264 encoder.
    pub encoder: H264Encoder,
    /// Whether all outputs have the preview watermark.
    pub watermark: bool,
    /// Whether indirect light is baked at draft quality, so that the first frame is ready sooner.
    pub draft: bool,
}

/// Folder with the baked light of one model. Jobs of other models must not have write access, because the contents are
/// trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheFolder {
    /// Absolute path of the folder, which may not exist yet.
    pub folder: PathBuf,
    /// Size limit in bytes.
    pub most_bytes: u64,
}

/// Packaging of a video as HLS.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageTask {
    /// Finished H.264 video in an MP4 container.
    pub source: PathBuf,
    /// Output folder.
    pub out_dir: PathBuf,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// H.264 encoder.
    pub encoder: H264Encoder,
}

/// Resource limits of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildLimits {
    /// CPU time limit of each process, in seconds over all threads.
    pub cpu_secs: u64,
    /// Maximum size of a file, in bytes.
    pub file_bytes: u64,
    /// Memory limit of each process, in bytes.
    pub memory_bytes: u64,
}

impl ChildJob {
    /// Writes the description to a folder.
    /// Errors: those of writing the file.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::from)?;
        std::fs::write(folder.join(DESCRIPTION_FILE), text)
    }

    /// Reads the description from a folder.
    /// Errors: the file is missing or malformed.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = std::fs::read(folder.join(DESCRIPTION_FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }
}
