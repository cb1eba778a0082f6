//! Encoding with one encoder, and a look at what it made.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::film::{FPS, FRAME_BYTES, FRAMES, SIZE, picture};
use crate::container::pictures;
use crate::ffmpeg::{Encoder, H264Encoder, Process, Stream, VideoCodec, supervised};
use crate::hls::{HlsPlan, package_by};
use crate::{MediaError, properties};

/// How long a trial may take. Hardware takes a second, most of it for its start.
const LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks at a wish to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Quality of the trial, on the scale of x264's constant rate factor: that of videos.
const CRF: u8 = 17;
/// Least likeness of what is decoded to what was encoded, in decibel (PSNR over all planes). libx264 has 47 here, and 40 with
/// a rate factor of 28, where loss is seen; exchanged planes or another range of colour have less than 30.
const LEAST_PSNR: f64 = 40.0;
/// What ffmpeg says of a stream with the properties that all videos have.
const PROPERTIES: [&str; 2] = ["h264 (High)", "yuv420p(tv, bt709"];

/// Encodes a film as videos and as variants for streaming are, and checks both. The inner error is what is wrong with the
/// encoder, in words.
/// Errors: `cancel` became true, or ffmpeg is missing.
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
        Err(Fault::Media(error)) => Ok(Err(words(&error, encoder))),
        Err(Fault::Wrong(problem)) => Ok(Err(problem)),
    }
}

/// Why a trial did not succeed.
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
    let folder = tempfile::tempdir().map_err(|error| Fault::Wrong(format!("no temporary folder: {error}")))?;
    let file = folder.path().join("trial.mp4");
    encode(program, encoder, &file, stop)?;
    let found = pictures(&file).map_err(|error| Fault::Wrong(error.to_string()))?.unwrap_or_default();
    if found != FRAMES {
        return Err(Fault::Wrong(format!("its video has {found} of {FRAMES} frames")));
    }
    properties::check(&file, FPS).map_err(|problem| Fault::Wrong(format!("its video is not as all are: {problem}")))?;
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

/// Decodes a video and refuses one that shows something else than what was encoded, or in other colours.
fn decode(program: &Path, file: &Path, raw: &Path, stop: &AtomicBool) -> Result<(), Fault> {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-nostats", "-xerror", "-y", "-i"]).arg(file);
    command.args(["-map", "0:v:0", "-f", "rawvideo"]).arg(raw).stdin(Stdio::null());
    supervised(&mut command);
    let mut process = Process::start(command, raw, file)?;
    process.wait(stop)?;
    let said = process.said();
    let stream = said.lines().find(|line| line.contains("Video: ")).unwrap_or_default();
    if let Some(lacking) = PROPERTIES.iter().find(|property| !stream.contains(**property)) {
        return Err(Fault::Wrong(format!("its video is not {lacking}, but: {}", stream.trim())));
    }
    let likeness = likeness(raw).map_err(|error| Fault::Wrong(format!("its video cannot be decoded: {error}")))?;
    if likeness < LEAST_PSNR {
        return Err(Fault::Wrong(format!("its video does not show what was encoded (PSNR {likeness:.1} dB)")));
    }
    Ok(())
}

/// Likeness of decoded pictures to the film in decibel.
/// Errors: the file cannot be read, or has more or less than the film.
fn likeness(raw: &Path) -> std::io::Result<f64> {
    let mut decoded = std::fs::File::open(raw)?;
    if decoded.metadata()?.len() != u64::from(FRAMES) * FRAME_BYTES as u64 {
        return Err(std::io::Error::other("another number or size of frames"));
    }
    let (mut bytes, mut squares) = (vec![0; FRAME_BYTES], 0_u64);
    for index in 0..FRAMES {
        decoded.read_exact(&mut bytes)?;
        squares += picture(index).iter().zip(&bytes).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum::<u64>();
    }
    let mean = squares as f64 / (f64::from(FRAMES) * FRAME_BYTES as f64);
    Ok(10.0 * (255.0 * 255.0 / mean.max(1e-6)).log10())
}

/// What an encoder said first, without addresses in memory, and what it needs. What ffmpeg says after that follows from it.
fn words(error: &MediaError, encoder: H264Encoder) -> String {
    let said = match error {
        MediaError::Hardware { source, .. } => return words(source, encoder),
        MediaError::Encoder { words, .. } => words.split("; ").next().unwrap_or_default(),
        MediaError::Incomplete { problem, .. } => {
            return format!("its variants for streaming are not as all are: {problem}");
        }
        other => return other.to_string(),
    };
    // "[h264_nvenc @ 0x5607a1b9db00] Cannot load libcuda.so.1"
    let said = match said.split_once("] ") {
        Some((tag, rest)) if tag.starts_with('[') && tag.contains(" @ 0x") => rest,
        _ => said,
    };
    format!("{} (it needs {})", said.trim_end_matches('.'), encoder.needs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_in_every_run() {
        let said = "[h264_nvenc @ 0x5607a1b9db00] Cannot load libcuda.so.1; Error while opening encoder";
        let error = MediaError::Encoder { file: "a".into(), words: said.to_owned() };
        let said = words(&error.of_encoder(H264Encoder::Nvenc), H264Encoder::Nvenc);
        assert!(said.starts_with("Cannot load libcuda.so.1 (it needs an NVIDIA card"), "{said}");
    }
}
