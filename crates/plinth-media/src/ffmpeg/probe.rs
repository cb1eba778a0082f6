//! Detects the version of an installed ffmpeg and the encoders that work.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::command::{Stream, VideoCodec};
use super::encoder::Encoder;
use super::h264::H264Encoder;
use super::process::printed;
use crate::MediaError;
use crate::full_disk::test_on_full_disk;

/// Version of an installed ffmpeg, and whether its software encoders work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// First line of `ffmpeg -version`.
    pub version: String,
    /// Result of testing libx264. The error describes the problem.
    pub h264: Result<(), String>,
    /// Result of testing the ProRes 4444 encoder.
    pub prores: Result<(), String>,
}

impl Capabilities {
    /// Checks that ffmpeg can encode H.264 in software and, if `needs_prores` is true, ProRes. Thumbnail videos are
    /// always encoded in software, even if a hardware encoder is used for other videos.
    /// Errors: [`MediaError::SoftwareEncoder`].
    pub fn require(&self, program: &Path, needs_prores: bool) -> Result<(), MediaError> {
        let (encoder, problem) = match (&self.h264, &self.prores) {
            (Err(problem), _) => ("libx264", problem.clone()),
            (Ok(()), Err(problem)) if needs_prores => ("prores_ks", problem.clone()),
            (Ok(()), _) => return Ok(()),
        };
        Err(MediaError::SoftwareEncoder { program: program.display().to_string(), encoder, problem })
    }
}

/// A cancellation flag that is never set, because tests of the encoders are too short to be cancelled.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Time limit of commands that only print information.
const ANSWER: Duration = Duration::from_secs(10);

/// Returns the first line of `ffmpeg -version`.
/// Errors: [`MediaError::FfmpegMissing`] if ffmpeg cannot be started.
fn version(program: &Path) -> Result<String, MediaError> {
    let output = ask(program, &["-version"])?;
    Ok(output.lines().next().unwrap_or("unknown version").to_owned())
}

/// Returns for each encoder whether ffmpeg was built with it. The hardware that the encoder needs may still be missing.
/// Errors: [`MediaError::FfmpegMissing`] if ffmpeg cannot be started.
pub(crate) fn lists_encoders(program: &Path, encoders: &[H264Encoder]) -> Result<Vec<bool>, MediaError> {
    let output = ask(program, &["-hide_banner", "-encoders"])?;
    // Example of a line: " V....D h264_nvenc           NVIDIA NVENC H.264 encoder (codec h264)"
    let names: Vec<&str> = output.lines().filter_map(|line| line.split_ascii_whitespace().nth(1)).collect();
    Ok(encoders.iter().map(|encoder| names.contains(&encoder.as_str())).collect())
}

fn ask(program: &Path, questions: &[&str]) -> Result<String, MediaError> {
    let mut command = Command::new(program);
    command.args(questions);
    printed(command, ANSWER).map_err(|source| missing(program, source))
}

fn missing(program: &Path, source: std::io::Error) -> MediaError {
    MediaError::FfmpegMissing { program: program.display().to_string(), source }
}

/// Tests each software encoder by encoding one frame.
/// Errors: [`MediaError::FfmpegMissing`] if ffmpeg cannot be started; [`MediaError::File`] if no folder can be created for the
/// tests.
pub fn probe(program: &Path) -> Result<Capabilities, MediaError> {
    let version = version(program)?;
    let folder = tempfile::tempdir().map_err(|source| MediaError::File { file: tempfile::env::temp_dir(), source })?;
    let works = |codec, name: &str, bytes: usize| {
        let stream = Stream { width: 64, height: 64, fps: 30, codec };
        let file = folder.path().join(name);
        let encoded = Encoder::start(program, stream, &file, &file).and_then(|mut encoder| {
            encoder.picture(vec![128; bytes], &NEVER)?;
            encoder.finish(&NEVER)
        });
        encoded.map_err(|error| match error {
            MediaError::DiskFull { message, .. } => test_on_full_disk(&message),
            other => other.to_string(),
        })
    };
    Ok(Capabilities {
        version,
        h264: works(VideoCodec::H264 { encoder: H264Encoder::Libx264, crf: 23 }, "probe.mp4", 64 * 64 * 3 / 2),
        prores: works(VideoCodec::ProRes4444, "probe.mov", 64 * 64 * 8),
    })
}
