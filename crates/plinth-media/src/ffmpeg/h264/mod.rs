//! H.264 encoders: which there are, and the options that give their files the same properties.

mod choice;
mod level;
mod options;

pub use choice::{EncoderChoice, H264Encoder, UnknownEncoder};
pub(crate) use options::{Effort, H264};
