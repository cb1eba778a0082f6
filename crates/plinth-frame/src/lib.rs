//! Pixels with their meaning attached: frames, layers and the sink that receives them; scaling of images.
//!
//! The type at the door between rendering and files. Row 0 is the top row everywhere.

mod frame;
mod layers;
mod resample;
mod sink;

pub use frame::{Backdrop, Frame, PixelFormat, Region};
pub use layers::Layers;
pub use resample::{Crop, ResampleError, Resampler, RgbaImage};
pub use sink::{FrameSink, LayersSink, SinkError};
