//! Tests one encoder: encodes frames, and checks the resulting files.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::film::{FPS, FRAME_BYTES, FRAMES, SIZE, picture};
use crate::container::pictures;
use crate::ffmpeg::{Encoder, H264Encoder, Process, Stream, VideoCodec, supervised};
use crate::full_disk::test_on_full_disk;
use crate::hls::{HlsPlan, package_by};
use crate::{MediaError, properties};

/// Time limit of a test. A working hardware encoder takes about a second, most of which it needs to start.
const LIMIT: Duration = Duration::from_secs(10);
/// Interval at which the cancellation flag is checked.
const LOOK: Duration = Duration::from_millis(20);
/// Quality of the test video, as a constant rate factor (CRF) of x264. Renders use the same value.
const CRF: u8 = 17;
/// Minimum PSNR over all planes, in dB. libx264 reaches 47 dB with these frames. At CRF 28, where losses become
/// visible, it reaches 40 dB. Swapped planes or a wrong colour range give less than 30 dB.
const LEAST_PSNR: f64 = 40.0;
/// Parts of the description that ffmpeg prints for a stream with the required properties.
const PROPERTIES: [&str; 2] = ["h264 (High)", "yuv420p(tv, bt709"];

/// Encodes the test frames as a video and as HLS variants, and checks the files. The inner error is a message that
/// describes the problem of the encoder.
/// Errors: if `cancel` became true, or ffmpeg is missing.
pub(super) fn run(program: &Path, encoder: H264Encoder, cancel: &AtomicBool) -> Result<Result<(), String>, MediaError> {
    let late = AtomicBool::new(false);
    let (ended, waiting) = sync_channel::<()>(1);
    let tried = std::thread::scope(|scope| {
        let late = &late;
        scope.spawn(move || {
            let begin = Instant::now();
            while waiting.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if begin.elapsed() > LIMIT || cancel.load(Ordering::Relaxed) {
                    late.store(true, Ordering::Relaxed);
                }
            }
        });
        let tried = encode_and_check(program, encoder, late);
        drop(ended);
        tried
    });
    match tried {
        Ok(()) => Ok(Ok(())),
        Err(Fault::Media(MediaError::Stopped)) if cancel.load(Ordering::Relaxed) => Err(MediaError::Stopped),
        Err(Fault::Media(missing @ MediaError::FfmpegMissing { .. })) => Err(missing),
        Err(Fault::Media(MediaError::Stopped)) => Ok(Err(format!("it took longer than {} seconds", LIMIT.as_secs()))),
        Err(Fault::Media(error)) => Ok(Err(message(&error, encoder))),
        Err(Fault::Wrong(problem)) => Ok(Err(problem)),
    }
}

/// Reason why a test failed.
enum Fault {
    Media(MediaError),
    Wrong(String),
}

impl From<MediaError> for Fault {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

fn encode_and_check(program: &Path, encoder: H264Encoder, stop: &AtomicBool) -> Result<(), Fault> {
    let folder =
        tempfile::tempdir().map_err(|error| Fault::Wrong(format!("a temporary folder cannot be created: {error}")))?;
    let file = folder.path().join("trial.mp4");
    encode(program, encoder, &file, stop)?;
    let found = pictures(&file).map_err(|error| Fault::Wrong(error.to_string()))?.unwrap_or_default();
    if found != FRAMES {
        return Err(Fault::Wrong(format!("its video has {found} of {FRAMES} frames")));
    }
    properties::check(&file, FPS)
        .map_err(|problem| Fault::Wrong(format!("its video lacks a required property: {problem}")))?;
    decode(program, &file, &folder.path().join("trial.yuv"), stop)?;
    let plan = HlsPlan { ffmpeg: program.to_owned(), encoder, source: file, out_dir: folder.path().join("hls") };
    package_by(&plan, stop)?;
    Ok(())
}

fn encode(program: &Path, encoder: H264Encoder, file: &Path, stop: &AtomicBool) -> Result<(), MediaError> {
    let codec = VideoCodec::H264 { encoder, crf: CRF };
    let stream = Stream { width: SIZE.0, height: SIZE.1, fps: FPS, codec };
    let mut running = Encoder::start(program, stream, file, file)?;
    for index in 0..FRAMES {
        running.picture(picture(index), stop)?;
    }
    running.finish(stop)
}

/// Decodes a video, and checks its colour properties and its frames.
fn decode(program: &Path, file: &Path, raw: &Path, stop: &AtomicBool) -> Result<(), Fault> {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-nostats", "-xerror", "-y", "-i"]).arg(file);
    command.args(["-map", "0:v:0", "-f", "rawvideo"]).arg(raw).stdin(Stdio::null());
    supervised(&mut command);
    let mut process = Process::start(command, raw, file, false)?;
    process.wait(stop)?;
    let output = process.output();
    let stream = output.lines().find(|line| line.contains("Video: ")).unwrap_or_default();
    if let Some(lacking) = PROPERTIES.iter().find(|property| !stream.contains(**property)) {
        return Err(Fault::Wrong(format!("its video is not {lacking}, but: {}", stream.trim())));
    }
    let likeness = likeness(raw).map_err(|error| Fault::Wrong(format!("its video cannot be decoded: {error}")))?;
    if likeness < LEAST_PSNR {
        return Err(Fault::Wrong(format!("its video differs from the input (PSNR {likeness:.1} dB)")));
    }
    Ok(())
}

/// Returns the PSNR between the decoded frames and the test frames, in dB.
/// Errors: if the file cannot be read, or has the wrong length.
fn likeness(raw: &Path) -> std::io::Result<f64> {
    let mut decoded = std::fs::File::open(raw)?;
    if decoded.metadata()?.len() != u64::from(FRAMES) * FRAME_BYTES as u64 {
        return Err(std::io::Error::other("wrong number or size of frames"));
    }
    let (mut bytes, mut squares) = (vec![0; FRAME_BYTES], 0_u64);
    for index in 0..FRAMES {
        decoded.read_exact(&mut bytes)?;
        squares += picture(index).iter().zip(&bytes).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum::<u64>();
    }
    let mean = squares as f64 / (f64::from(FRAMES) * FRAME_BYTES as f64);
    Ok(10.0 * (255.0 * 255.0 / mean.max(1e-6)).log10())
}

/// Returns the first line of the encoder's error message without memory addresses, and the hardware that the encoder
/// requires. Only the first line is used, because it names the cause, and the later lines are consequences.
fn message(error: &MediaError, encoder: H264Encoder) -> String {
    let output = match error {
        MediaError::Hardware { source, .. } => return message(source, encoder),
        MediaError::Encoder { message, .. } => message.split("; ").next().unwrap_or_default(),
        MediaError::Incomplete { problem, .. } => {
            return format!("its variants for streaming lack a required property: {problem}");
        }
        MediaError::DiskFull { message, .. } => return test_on_full_disk(message),
        other => return other.to_string(),
    };
    // Example: "[h264_nvenc @ 0x5607a1b9db00] Cannot load libcuda.so.1"
    let output = match output.split_once("] ") {
        Some((tag, rest)) if tag.starts_with('[') && tag.contains(" @ 0x") => rest,
        _ => output,
    };
    format!("{} (it needs {})", output.trim_end_matches('.'), encoder.needs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_same_in_every_run() {
        let output = "[h264_nvenc @ 0x5607a1b9db00] Cannot load libcuda.so.1; Error while opening encoder";
        let error = MediaError::Encoder { file: "a".into(), message: output.to_owned() };
        let output = message(&error.of_encoder(H264Encoder::Nvenc), H264Encoder::Nvenc);
        assert!(output.starts_with("Cannot load libcuda.so.1 (it needs an NVIDIA card"), "{output}");
    }

    #[test]
    fn an_encoder_that_fails_on_a_full_disk_does_not_lack_its_hardware() {
        let error = MediaError::DiskFull { file: "a".into(), message: "No space left on device".to_owned() };
        let output = message(&error, H264Encoder::Nvenc);
        assert!(output.starts_with("the disk with the folder ") && output.ends_with("device"), "{output}");
    }
}
