//! The frame sink between the renderer and the media writer. It reports progress, hashes frames, and checks whether the
//! job was cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_frame::{Frame, FrameSink, SinkError};
use plinth_media::MediaWriter;

use crate::frame_hash::FrameHash;
use crate::progress::{Clock, Progress};

/// Error with which the sink stops the renderer after the job was cancelled.
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
pub(crate) struct Cancelled;

/// Passes frames to the media writer, and reports the progress of the job.
pub(crate) struct WatchedSink<'a> {
    pub(crate) writer: MediaWriter<'a>,
    pub(crate) clock: Clock,
    pub(crate) hash: Option<FrameHash>,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) report: &'a mut dyn FnMut(Progress),
    pub(crate) first_frame: Option<Instant>,
    /// Total time spent in the media writer.
    pub(crate) writing: Duration,
}

impl FrameSink for WatchedSink<'_> {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SinkError(Box::new(Cancelled)));
        }
        self.first_frame.get_or_insert_with(Instant::now);
        if let Some(hash) = &mut self.hash {
            hash.add(frame);
        }
        let begin = Instant::now();
        self.writer.frame(frame)?;
        self.writing += begin.elapsed();
        (self.report)(self.clock.tick(frame.index + 1));
        Ok(())
    }
}
