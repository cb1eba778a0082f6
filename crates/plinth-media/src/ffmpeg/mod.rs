//! ffmpeg as a child process.

mod command;
mod probe;
mod process;

pub(crate) use command::{Stream, VideoCodec};
pub use probe::{Capabilities, ffmpeg_version, probe};
pub(crate) use process::Encoder;
