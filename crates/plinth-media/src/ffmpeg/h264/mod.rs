//! H.264 encoders, and the options with which all of them produce files with the same properties.

mod choice;
mod level;
mod options;

pub use choice::{EncoderChoice, H264Encoder, UnknownEncoder};
pub(crate) use options::{Effort, H264};
