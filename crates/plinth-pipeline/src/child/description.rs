//! Description of a job for a child process.

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

/// Job of a child process. Paths are relative to the folder of the job, so that error messages do not reveal where this
/// folder is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildJob {
    /// What the child process does.
    pub task: ChildTask,
    /// Resource limits.
    pub limits: ChildLimits,
}

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildTask {
    /// Renders a model.
    Render(Box<RenderTask>),
    /// Packages a video as HLS.
    Package(PackageTask),
    /// Keeps a model loaded and draws single frames of it.
    Preview(PreviewTask),
    /// Checks which graphics adapter and which H.264 encoder are available.
    Probe(ProbeTask),
}

/// Checks which graphics adapter and which H.264 encoder are available, in the same sandbox as renders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTask {
    /// Selects the fastest adapter whose name contains this text, or a software driver for `cpu`. `None` selects the
    /// fastest of all adapters.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// H.264 encoder that was configured.
    pub encoder: EncoderChoice,
    /// Whether the machine will write videos, which need ffmpeg's software encoders.
    pub writes_videos: bool,
    /// Whether the machine will write ProRes.
    pub writes_prores: bool,
}

/// Renders a model to files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderTask {
    /// GLB file.
    pub model: PathBuf,
    /// Render settings, which were validated when the render was created.
    pub settings: Value,
    /// Environment of the scene; `None` is the built-in studio.
    pub environment: Option<EnvironmentFiles>,
    /// Files of the images that the settings use, by asset ID.
    pub images: BTreeMap<String, PathBuf>,
    /// Files to write, with their paths.
    pub outputs: OutputPaths,
    /// Selects the fastest adapter whose name contains this text, or a software driver for `cpu`. `None` selects the
    /// fastest of all adapters.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of baked light for this model; `None` disables caching.
    pub cache: Option<CacheFolder>,
    /// H.264 encoder to use.
    pub encoder: H264Encoder,
    /// Whether the preview watermark is drawn on all outputs.
    pub watermark: bool,
    /// Whether indirect light is baked at draft quality, so that the first frame is ready sooner.
    pub draft: bool,
    /// Whether the process stays after this render. It then keeps the model, and renders it again for each further task
    /// in a line of JSON on its standard input.
    #[serde(default)]
    pub stays: bool,
}

/// Folder that caches the baked light of one model. Cached files are trusted, so jobs of other models must not be able
/// to write to the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheFolder {
    /// Absolute path of the folder, which may not exist yet.
    pub folder: PathBuf,
    /// Maximum size of all cached files, in bytes.
    pub most_bytes: u64,
}

/// Packages a video as HLS.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageTask {
    /// Finished H.264 video in an MP4 container.
    pub source: PathBuf,
    /// Output folder.
    pub out_dir: PathBuf,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// H.264 encoder to use.
    pub encoder: H264Encoder,
}

/// Resource limits of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildLimits {
    /// CPU time limit of each process: seconds, summed over all its threads.
    pub cpu_secs: u64,
    /// Maximum size of each written file, in bytes.
    pub file_bytes: u64,
    /// Memory limit of each process, in bytes.
    pub memory_bytes: u64,
}

impl ChildJob {
    /// Writes the description to a folder, as [`DESCRIPTION_FILE`].
    /// Errors: if the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::from)?;
        std::fs::write(folder.join(DESCRIPTION_FILE), text)
    }

    /// Reads the description from a folder.
    /// Errors: if the file is missing or malformed.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = std::fs::read(folder.join(DESCRIPTION_FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }
}
