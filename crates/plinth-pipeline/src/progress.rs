//! Progress of a job.

use std::time::{Duration, Instant};

use plinth_spec::named;

named! {
    /// Stage of a job.
    Stage {
        /// The model is loaded, and the graphics device is opened.
        Loading = "loading",
        /// Light, textures and geometry are prepared.
        Preparing = "preparing",
        /// Frames are drawn and encoded. From this stage on, the job soon notices that it was cancelled.
        Rendering = "rendering",
        /// All frames are drawn, and the encoders complete their files.
        Finishing = "finishing",
    }
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub stage: Stage,
    /// Number of finished frames.
    pub frame: u32,
    /// Total number of frames.
    pub frames: u32,
    /// Estimated time until all frames are drawn; `None` until this run has finished two frames.
    pub left: Option<Duration>,
}

/// Estimates the remaining time from the mean time between frames.
pub(crate) struct Clock {
    first: Option<Instant>,
    frames: u32,
    /// Number of frames that an earlier, interrupted run has already finished.
    before: u32,
}

impl Clock {
    /// Creates a clock for a job of `frames` frames. An earlier run has already finished `before` of them.
    pub(crate) fn new(frames: u32, before: u32) -> Self {
        Self { first: None, frames, before }
    }

    /// Returns the progress after `done` frames are finished.
    pub(crate) fn tick(&mut self, done: u32) -> Progress {
        let first = *self.first.get_or_insert_with(Instant::now);
        let steps = done.saturating_sub(self.before + 1);
        let left = (steps > 0).then(|| first.elapsed() / steps * (self.frames - done));
        Progress { stage: Stage::Rendering, frame: done, frames: self.frames, left }
    }
}
