//! What a job made.

use std::collections::BTreeMap;

use plinth_media::WrittenFile;
use serde::{Deserialize, Serialize};

/// What a job made, for machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the program.
    pub version: String,
    /// Adapter and driver that drew.
    pub adapter: String,
    /// The settings as they were read.
    pub render_settings: serde_json::Value,
    /// Frames of the video, or views of the dataset.
    pub frames: u32,
    /// SHA-256 over all frames in order, as hexadecimal digits; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_hash: Option<String>,
    /// Milliseconds a frame by pass; only where it was asked for and the adapter has a clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_millis: Option<BTreeMap<String, f64>>,
    /// The files.
    pub files: Vec<ManifestFile>,
    /// Settings without effect and repairs of the model.
    pub warnings: Vec<String>,
    /// Where the time went.
    pub timings: Timings,
}

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManifestFile {
    /// `video`, `web`, `thumb`, `poster`, `smallPoster` or `dataset`.
    pub kind: String,
    /// Where it is.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Width in pixels, of a dataset that of each view.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl From<WrittenFile> for ManifestFile {
    fn from(file: WrittenFile) -> Self {
        Self {
            kind: file.kind.to_owned(),
            path: file.path.display().to_string(),
            bytes: file.bytes,
            width: file.width,
            height: file.height,
        }
    }
}

/// Seconds by stage.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Start to the model read and the device open.
    pub load_secs: f64,
    /// Light, textures, geometry, pipelines.
    pub prepare_secs: f64,
    /// Start to the first frame.
    pub first_frame_secs: f64,
    /// First to last frame.
    pub render_secs: f64,
    /// Of this, handing frames to the encoders: conversion, and waiting where they are behind.
    pub write_secs: f64,
    /// Last frame to complete files.
    pub finish_secs: f64,
    /// All together.
    pub total_secs: f64,
}
