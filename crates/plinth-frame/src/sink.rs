//! Where frames go.

use crate::{Frame, Layers};

/// A receiver that can take no more frames; the cause is the receiver's own error.
#[derive(Debug, thiserror::Error)]
#[error("the receiver of frames stopped")]
pub struct SinkError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Takes views of a set in order, each once.
pub trait LayersSink {
    /// Takes the next view. Blocks while the receiver is behind: this is what bounds memory.
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError>;

    /// A view that was taken and is needed no more: the next one is written over it.
    fn spare(&mut self) -> Option<Layers>;
}

/// Takes the frames of a shot in order, each once. A frame that equals one before it arrives again with its own index.
pub trait FrameSink {
    /// Takes the next frame. Blocks while the receiver is behind: this is what bounds memory.
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError>;
}
