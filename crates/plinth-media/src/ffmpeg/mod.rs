//! ffmpeg as a child process.

mod command;
mod encoder;
mod probe;
mod process;
mod variants;

pub(crate) use command::{Stream, VideoCodec};
pub(crate) use encoder::Encoder;
pub use probe::{Capabilities, ffmpeg_version, probe};
pub(crate) use process::Process;
pub(crate) use variants::{Tiles, Variant, encode_variants};
