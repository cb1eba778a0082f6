//! Frames with their pixel format and backdrop, layers of dataset views, and the traits of their receivers.
//!
//! This crate connects rendering and encoding, which do not depend on each other. Row 0 is the top row everywhere.

mod frame;
mod layers;
mod sink;

pub use frame::{Backdrop, Frame, PixelFormat, Region};
pub use layers::Layers;
pub use sink::{FrameSink, LayersSink, SinkError};
