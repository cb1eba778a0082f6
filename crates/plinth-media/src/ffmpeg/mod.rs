//! Runs ffmpeg as a child process.

mod command;
mod encoder;
mod h264;
mod probe;
mod process;
mod variants;

pub(crate) use command::{Stream, VideoCodec, supervised};
pub(crate) use encoder::Encoder;
pub use h264::{EncoderChoice, H264Encoder, UnknownEncoder};
pub(crate) use probe::lists_encoders;
pub use probe::{Capabilities, probe};
pub(crate) use process::{DEVICE_STALL, Process};
pub(crate) use variants::{Source, Tiles, Variant, encode_variants};
