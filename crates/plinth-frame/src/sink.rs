//! Traits of the receivers of frames and views.

use crate::{Frame, Layers};

/// Error of a receiver, which accepts no more frames.
#[derive(Debug, thiserror::Error)]
#[error("the receiver of frames stopped")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Receives the views of a dataset in order, each once.
pub trait LayersSink {
    /// Accepts the next view. Blocks while the receiver is busy, which bounds the memory of queued views.
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError>;

    /// Returns the buffers of a processed view, if any, to be reused for the next view.
    fn spare(&mut self) -> Option<Layers>;
}

/// Receives the frames of a video in order, each once. A frame equal to an earlier one is sent again with its own
/// index.
pub trait FrameSink {
    /// Accepts the next frame. Blocks while the receiver is busy, which bounds the memory of queued frames.
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError>;
}
