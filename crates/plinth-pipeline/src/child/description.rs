//! What a child process is to do.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use plinth_media::{EncoderChoice, H264Encoder};
use plinth_spec::OutputPaths;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::environment::EnvironmentFiles;

/// Name of the description in the job's folder.
pub const DESCRIPTION_FILE: &str = "job.json";

/// What a child process is to do. Paths are relative to the job's folder, so that no message tells where that is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildJob {
    /// The task.
    pub task: ChildTask,
    /// What it may use.
    pub limits: ChildLimits,
}

/// The kinds of tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildTask {
    /// A model becomes files.
    Render(Box<RenderTask>),
    /// A video becomes streamable.
    Package(PackageTask),
    /// Which adapter and which encoder a render would take is found out.
    Probe(ProbeTask),
}

/// What a render would take is found out where renders run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTask {
    /// Part of an adapter's name, or `cpu`; `None`: the best there is.
    pub adapter: Option<String>,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// The H.264 encoder that is asked for.
    pub encoder: EncoderChoice,
}

/// A model becomes files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderTask {
    /// The GLB file.
    pub model: PathBuf,
    /// Settings that were checked when they were sent.
    pub settings: Value,
    /// The environment; `None`: the built-in studio.
    pub environment: Option<EnvironmentFiles>,
    /// Images that the settings name: identifier and file.
    pub images: BTreeMap<String, PathBuf>,
    /// What is to be written, and where.
    pub outputs: OutputPaths,
    /// Part of an adapter's name, or `cpu`; `None`: the best there is.
    pub adapter: Option<String>,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// Where what is worked out for this model is kept; `None`: it is not kept.
    pub cache: Option<CacheFolder>,
    /// What encodes H.264.
    pub encoder: H264Encoder,
    /// Whether every output carries the mark of a preview.
    pub watermark: bool,
    /// Whether gathered light is worked out coarsely, so that the first frame comes sooner.
    pub draft: bool,
}

/// A folder for what is worked out for one model. No other model's job may write there: what it holds is believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheFolder {
    /// The folder, which need not be there yet; not relative to the job's, which goes.
    pub folder: PathBuf,
    /// Bytes that it may hold.
    pub most_bytes: u64,
}

/// A video becomes streamable.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageTask {
    /// A finished H.264 MP4.
    pub source: PathBuf,
    /// Folder for the files.
    pub out_dir: PathBuf,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// What encodes H.264.
    pub encoder: H264Encoder,
}

/// What a child process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildLimits {
    /// Seconds of processor time, over all threads, of each process.
    pub cpu_secs: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Bytes of memory of each process.
    pub memory_bytes: u64,
}

impl ChildJob {
    /// Writes the description into a folder.
    /// Errors: the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::from)?;
        std::fs::write(folder.join(DESCRIPTION_FILE), text)
    }

    /// Reads the description of a folder.
    /// Errors: the file is missing, or not a description.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = std::fs::read(folder.join(DESCRIPTION_FILE))?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }
}
