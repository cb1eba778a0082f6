//! Manifest of a finished job.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plinth_media::{H264Encoder, WrittenFile};
use plinth_render::{Gpu, Renderer};
use plinth_scene::Scene;
use serde::{Deserialize, Serialize};

use crate::job::{Job, adapter_name};

/// Machine-readable result of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the program.
    pub version: String,
    /// Graphics adapter and driver.
    pub adapter: String,
    /// Settings with aliases resolved.
    pub render_settings: serde_json::Value,
    /// Number of frames of the video or views of the dataset.
    pub frames: u32,
    /// SHA-256 over all frames in order, in hex; only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_hash: Option<String>,
    /// Milliseconds per frame of each render pass; only if requested and if the adapter supports timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_millis: Option<BTreeMap<String, f64>>,
    /// Encoder of H.264 videos except the thumbnail video; missing without such videos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<H264Encoder>,
    /// Error of the hardware encoder after which libx264 encoded the videos; missing if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_failure: Option<String>,
    /// Written files.
    pub files: Vec<ManifestFile>,
    /// Warnings: settings without effect, and repairs of the model.
    pub warnings: Vec<String>,
    /// Time spent by stage.
    pub timings: Timings,
}

impl Manifest {
    /// Creates the manifest of a job whose files are complete.
    pub(crate) fn of(
        job: &Job,
        (gpu, renderer): (&Gpu, &Renderer<'_>),
        scene: Scene,
        files: Vec<WrittenFile>,
        moments: &Moments,
    ) -> Self {
        let pass_millis = renderer.pass_times().map(|times| {
            let frames = f64::from(times.frames.max(1));
            times.millis.into_iter().map(|(pass, millis)| (pass.to_owned(), millis / frames)).collect()
        });
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adapter: adapter_name(gpu),
            render_settings: job.settings.echoed(),
            frames: scene.shots.len() as u32,
            frame_hash: None,
            pass_millis,
            encoder: None,
            hardware_failure: None,
            files: files.into_iter().map(ManifestFile::from).collect(),
            warnings: scene.warnings,
            timings: moments.timings(),
        }
    }
}

/// Written file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Kind of the file: [`plinth_spec::output_file::Declaration::local_name`].
    pub kind: String,
    /// Path.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Width in pixels; of a view for datasets.
    pub width: u32,
    /// Height in pixels; of a view for datasets.
    pub height: u32,
}

impl From<WrittenFile> for ManifestFile {
    fn from(file: WrittenFile) -> Self {
        Self {
            kind: file.file.declaration().local_name.to_owned(),
            path: file.path.display().to_string(),
            bytes: file.bytes,
            width: file.width,
            height: file.height,
        }
    }
}

/// Time spent by stage, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// From the start until the model is loaded and the device is open.
    pub load_secs: f64,
    /// Preparation of light, textures, geometry and pipelines.
    pub prepare_secs: f64,
    /// From the start to the first frame.
    pub first_frame_secs: f64,
    /// From the first to the last frame.
    pub render_secs: f64,
    /// Part of `render_secs` spent in the writer: conversion of frames, and waiting for the encoders.
    pub write_secs: f64,
    /// From the last frame until all files are complete.
    pub finish_secs: f64,
    /// Total.
    pub total_secs: f64,
}

/// Points in time at which the stages of a job ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) begin: Instant,
    pub(crate) loaded: Instant,
    pub(crate) prepared: Instant,
    /// `None` if no frame had to be drawn.
    pub(crate) first_frame: Option<Instant>,
    pub(crate) rendered: Instant,
    /// Time spent in the writer until `rendered`.
    pub(crate) writing: Duration,
}

impl Moments {
    /// Returns the time of each stage; the last stage ends now.
    fn timings(&self) -> Timings {
        let first = self.first_frame.unwrap_or(self.rendered);
        Timings {
            load_secs: (self.loaded - self.begin).as_secs_f64(),
            prepare_secs: (self.prepared - self.loaded).as_secs_f64(),
            first_frame_secs: (first - self.begin).as_secs_f64(),
            render_secs: (self.rendered - first).as_secs_f64(),
            write_secs: self.writing.as_secs_f64(),
            finish_secs: self.rendered.elapsed().as_secs_f64(),
            total_secs: self.begin.elapsed().as_secs_f64(),
        }
    }
}
