//! Progress of a job.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Loads the model and opens the graphics device.
    Loading,
    /// Prepares light, textures and geometry.
    Preparing,
    /// Draws and encodes frames. Reported before the first file is created; cancellation is checked after the report.
    Rendering,
    /// Waits for the encoders.
    Finishing,
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Current stage.
    pub stage: Stage,
    /// Number of finished frames.
    pub frame: u32,
    /// Total number of frames.
    pub frames: u32,
    /// Estimated time until all frames are drawn; `None` until two frames are finished.
    pub left: Option<Duration>,
}

/// Measures the time between frames.
pub(crate) struct Clock {
    first: Option<Instant>,
    frames: u32,
    /// Number of frames that were finished before this run.
    before: u32,
}

impl Clock {
    /// Creates a clock for `frames`, of which `before` are finished already.
    pub(crate) fn new(frames: u32, before: u32) -> Self {
        Self { first: None, frames, before }
    }

    /// Records that `done` frames are finished, and returns the progress.
    pub(crate) fn tick(&mut self, done: u32) -> Progress {
        let first = *self.first.get_or_insert_with(Instant::now);
        let steps = done.saturating_sub(self.before + 1);
        let left = (steps > 0).then(|| first.elapsed() / steps * (self.frames - done));
        Progress { stage: Stage::Rendering, frame: done, frames: self.frames, left }
    }
}
