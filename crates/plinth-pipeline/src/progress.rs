//! How far a job is.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Reading the model, opening the device.
    Loading,
    /// Light, textures, geometry.
    Preparing,
    /// Drawing and encoding. Reported before the first file is begun; a wish to stop is looked for after that.
    Rendering,
    /// Waiting for encoders.
    Finishing,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// Frames that are done.
    pub frame: u32,
    /// Frames in all.
    pub frames: u32,
    /// Time that rendering will still take, once two frames are done.
    pub left: Option<Duration>,
}

/// Measures the time between frames.
pub(crate) struct Clock {
    first: Option<Instant>,
    frames: u32,
    /// Frames that were done before.
    before: u32,
}

impl Clock {
    /// For `frames`, of which `before` are done already.
    pub(crate) fn new(frames: u32, before: u32) -> Self {
        Self { first: None, frames, before }
    }

    /// Notes that `done` frames are done.
    pub(crate) fn tick(&mut self, done: u32) -> Progress {
        let first = *self.first.get_or_insert_with(Instant::now);
        let steps = done.saturating_sub(self.before + 1);
        let left = (steps > 0).then(|| first.elapsed() / steps * (self.frames - done));
        Progress { stage: Stage::Rendering, frame: done, frames: self.frames, left }
    }
}
