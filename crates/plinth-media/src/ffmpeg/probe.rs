//! What an ffmpeg can do, found out by doing it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use super::command::{Stream, VideoCodec};
use super::encoder::Encoder;
use crate::MediaError;

/// What an ffmpeg can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The first line it says of itself.
    pub version: String,
    /// It encodes H.264.
    pub h264: bool,
    /// It encodes ProRes 4444.
    pub prores: bool,
}

/// A probe is too short to be stopped.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The first line that ffmpeg says of itself.
/// Errors: [`MediaError::FfmpegMissing`].
pub fn ffmpeg_version(program: &Path) -> Result<String, MediaError> {
    let said = Command::new(program)
        .arg("-version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|source| missing(program, source))?;
    Ok(String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or("unknown version").to_owned())
}

fn missing(program: &Path, source: std::io::Error) -> MediaError {
    MediaError::FfmpegMissing { program: program.display().to_string(), source }
}

/// Starts ffmpeg and encodes a frame with each encoder.
/// Errors: [`MediaError::FfmpegMissing`].
pub fn probe(program: &Path) -> Result<Capabilities, MediaError> {
    let version = ffmpeg_version(program)?;
    let folder = tempfile::tempdir().map_err(|source| missing(program, source))?;
    let works = |codec, name: &str, bytes: usize| {
        let stream = Stream { width: 64, height: 64, fps: 30, codec };
        let file = folder.path().join(name);
        let encoded = Encoder::start(program, stream, &file, &file).and_then(|mut encoder| {
            encoder.picture(vec![128; bytes], &NEVER)?;
            encoder.finish(&NEVER)
        });
        encoded.is_ok()
    };
    Ok(Capabilities {
        version,
        h264: works(VideoCodec::H264 { crf: 23 }, "probe.mp4", 64 * 64 * 3 / 2),
        prores: works(VideoCodec::ProRes4444, "probe.mov", 64 * 64 * 8),
    })
}
