//! Traits of the receivers of frames and dataset views.

use crate::{Frame, Layers};

/// Error of a receiver that accepts no more frames.
#[derive(Debug, thiserror::Error)]
#[error("the receiver of frames stopped")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Receives each view of a dataset once, in order.
pub trait LayersSink {
    /// Accepts the next view. Blocks while the receiver is busy, which bounds the memory of queued views.
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError>;

    /// Returns a view that the receiver has finished with, so that the next view can reuse its buffers. Returns `None`
    /// if there is no such view.
    fn spare(&mut self) -> Option<Layers>;
}

/// Receives each frame of a video once, in order. A frame whose pixels equal those of an earlier frame is sent again
/// with its own index.
pub trait FrameSink {
    /// Accepts the next frame. Blocks while the receiver is busy, which bounds the memory of queued frames.
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError>;
}
