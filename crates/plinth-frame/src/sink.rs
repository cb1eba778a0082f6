//! Where frames go.

use crate::Frame;

/// A receiver that can take no more frames; the cause is the receiver's own error.
#[derive(Debug, thiserror::Error)]
#[error("the receiver of frames stopped")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Takes the frames of a shot in order, each once. A frame that equals one before it arrives again with its own index.
pub trait FrameSink {
    /// Takes the next frame. Blocks while the receiver is behind: this is what bounds memory.
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError>;
}
