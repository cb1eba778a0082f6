//! What an ffmpeg can do, found out by doing it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::command::{Stream, VideoCodec};
use super::encoder::Encoder;
use super::h264::H264Encoder;
use super::process::printed;
use crate::MediaError;

/// What an ffmpeg can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The first line it says of itself.
    pub version: String,
    /// It encodes H.264 with libx264.
    pub h264: bool,
    /// It encodes ProRes 4444.
    pub prores: bool,
}

/// A probe is too short to be stopped.
static NEVER: AtomicBool = AtomicBool::new(false);

/// How long ffmpeg may take to say what it is.
const ANSWER: Duration = Duration::from_secs(10);

/// The first line that ffmpeg says of itself.
/// Errors: [`MediaError::FfmpegMissing`].
pub fn ffmpeg_version(program: &Path) -> Result<String, MediaError> {
    let said = ask(program, &["-version"])?;
    Ok(said.lines().next().unwrap_or("unknown version").to_owned())
}

/// Whether an ffmpeg was built with an encoder; that says nothing of the device it may need.
/// Errors: [`MediaError::FfmpegMissing`].
pub(crate) fn lists_encoders(program: &Path, encoders: &[H264Encoder]) -> Result<Vec<bool>, MediaError> {
    let said = ask(program, &["-hide_banner", "-encoders"])?;
    // " V....D h264_nvenc           NVIDIA NVENC H.264 encoder (codec h264)"
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_ascii_whitespace().nth(1)).collect();
    Ok(encoders.iter().map(|encoder| names.contains(&encoder.name())).collect())
}

fn ask(program: &Path, questions: &[&str]) -> Result<String, MediaError> {
    let mut command = Command::new(program);
    command.args(questions);
    printed(command, ANSWER).map_err(|source| missing(program, source))
}

fn missing(program: &Path, source: std::io::Error) -> MediaError {
    MediaError::FfmpegMissing { program: program.display().to_string(), source }
}

/// Starts ffmpeg and encodes a frame with each encoder that needs no device.
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
        h264: works(VideoCodec::H264 { encoder: H264Encoder::Libx264, crf: 23 }, "probe.mp4", 64 * 64 * 3 / 2),
        prores: works(VideoCodec::ProRes4444, "probe.mov", 64 * 64 * 8),
    })
}
