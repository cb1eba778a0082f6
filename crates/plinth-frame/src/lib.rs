//! Types of rendered frames and dataset views, the traits of their receivers, and image scaling.
//!
//! The renderer produces these types and the encoders consume them, so neither depends on the other. Row 0 is always
//! the top row.

mod frame;
mod layers;
mod resample;
mod sink;

pub use frame::{Backdrop, Frame, PixelFormat, Region};
pub use layers::Layers;
pub use resample::{Crop, ResampleError, Resampler, RgbaImage};
pub use sink::{FrameSink, LayersSink, SinkError};
