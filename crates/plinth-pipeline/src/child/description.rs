//! The description of a job, which a child process reads.

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

/// The job of a child process. Paths are relative to the folder of the job, so that error messages do not reveal the
/// location of this folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildJob {
    /// The task of the child process.
    pub task: ChildTask,
    /// Resource limits.
    pub limits: ChildLimits,
}

/// The task of a child process.
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

/// Task that checks which graphics adapter and which H.264 encoder are available, in the same sandbox as renders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTask {
    /// Selects the fastest adapter whose name contains this text, or a software driver for `cpu`. `None` selects the
    /// fastest of all adapters.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// The configured H.264 encoder.
    pub encoder: EncoderChoice,
    /// Whether the machine will write videos. If so, ffmpeg's software encoders are checked.
    pub writes_videos: bool,
    /// Whether the machine will write ProRes videos. If so, ffmpeg's ProRes encoder is checked.
    pub writes_prores: bool,
}

/// Task that renders a model to files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderTask {
    /// GLB file.
    pub model: PathBuf,
    /// Render settings, which were validated when the render was created.
    pub settings: Value,
    /// Environment of the scene; `None` for the built-in studio.
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
    /// Cache of light and reduced textures of this model; `None` disables caching.
    pub cache: Option<CacheFolder>,
    /// H.264 encoder to use.
    pub encoder: H264Encoder,
    /// Whether the preview watermark is drawn on all outputs.
    pub watermark: bool,
    /// Whether indirect light is baked at draft quality, so that the first frame is ready sooner.
    pub draft: bool,
    /// Whether the process stays after this render. If it does, it keeps the model loaded, and reads further render
    /// tasks for the model from its standard input, one line of JSON for each.
    #[serde(default)]
    pub stays: bool,
}

/// Folder that caches light and reduced textures of one model. Cached files are trusted, so no other process may write to
/// the folder than jobs that draw this model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheFolder {
    /// Absolute path of the folder. The folder is created if it does not exist.
    pub folder: PathBuf,
    /// Maximum size of all cached files, in bytes.
    pub most_bytes: u64,
}

/// Task that packages a video as HLS.
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
    /// CPU time limit of each process, in seconds. The time of all its threads is added up.
    pub cpu_secs: u64,
    /// Maximum size of each written file, in bytes.
    pub file_bytes: u64,
    /// Memory limit of each process, in bytes.
    pub memory_bytes: u64,
}

impl ChildJob {
    /// Writes the description to the file [`DESCRIPTION_FILE`] in a folder.
    /// Errors: if the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::from)?;
        std::fs::write(folder.join(DESCRIPTION_FILE), text)
    }

    /// Reads the description from the file [`DESCRIPTION_FILE`] in a folder.
    /// Errors: if the file is missing or malformed.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = std::fs::read(folder.join(DESCRIPTION_FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }
}
