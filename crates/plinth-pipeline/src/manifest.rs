//! What a job made.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plinth_media::{H264Encoder, WrittenFile};
use plinth_render::{Gpu, Renderer};
use plinth_scene::Scene;
use serde::{Deserialize, Serialize};

use crate::job::{Job, adapter_name};

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
    /// The encoder of H.264 videos, the thumbnail apart; only where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<H264Encoder>,
    /// Why libx264 had to encode instead of the hardware encoder; only where it had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_failure: Option<String>,
    /// The files.
    pub files: Vec<ManifestFile>,
    /// Settings without effect and repairs of the model.
    pub warnings: Vec<String>,
    /// Where the time went.
    pub timings: Timings,
}

impl Manifest {
    /// Of a job whose files are complete.
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

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManifestFile {
    /// [`plinth_spec::output_file::Declaration::local_name`].
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
            kind: file.file.declaration().local_name.to_owned(),
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

/// When the stages of a job ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) begin: Instant,
    pub(crate) loaded: Instant,
    pub(crate) prepared: Instant,
    /// `None` where no frame had to be drawn.
    pub(crate) first_frame: Option<Instant>,
    pub(crate) rendered: Instant,
    /// Time spent in the writer until then.
    pub(crate) writing: Duration,
}

impl Moments {
    /// Seconds until now.
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
