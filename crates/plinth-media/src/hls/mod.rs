//! Packages a finished video as HLS (RFC 8216, and Apple's HLS Authoring Specification).
//!
//! One ffmpeg process reads the video once. It writes all variants as fragmented MP4, and the thumbnails. This module
//! then cuts the variants into segments at their fragments, and writes the playlists. The playlists that ffmpeg could
//! write lack attributes that players need.
//!
//! ```text
//! master.m3u8                      variants with their bit rates, sizes and codecs
//! 540p/index.m3u8  init.mp4  0.m4s 1.m4s …
//! 540p/iframes.m3u8                byte ranges of key frames, which players show while seeking
//! thumbnails.vtt  sprite-0.jpg …   thumbnails by time
//! ```

mod cut;
mod ladder;
mod playlist;
mod sprite;
mod thumbnails;
mod variant;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::MediaError;
use crate::container::{Movie, movie};
use crate::ffmpeg::{DEVICE_STALL, H264Encoder, Process, Source, Tiles, Variant as Encoded, encode_variants};
use crate::full_disk::lacks_room;
use cut::Pictures;
use ladder::{Rung, ladder};
use sprite::Grid;
use thumbnails::Cues;
use variant::Variant;

/// Length in seconds of all segments except the last. The playlists declare it as the target duration.
const SEGMENT_SECS: u32 = 2;
/// File name of the master playlist.
const MASTER: &str = "master.m3u8";
/// File name of the thumbnail track.
const THUMBNAILS: &str = "thumbnails.vtt";

/// Input and output of packaging a video.
#[derive(Clone, Debug)]
pub struct HlsPlan {
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Encoder of the variants. If a hardware encoder fails, libx264 is used instead.
    pub encoder: H264Encoder,
    /// The video: a complete H.264 MP4 with a constant frame rate.
    pub source: PathBuf,
    /// Output folder, which is created if it does not exist.
    pub out_dir: PathBuf,
}

/// Result of packaging a video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HlsPackage {
    /// Names of all files relative to the output folder, such as `540p/init.mp4` and `540p/0.m4s`. The last name is the
    /// master playlist.
    pub files: Vec<String>,
    /// Error of the hardware encoder. `Some` if the hardware encoder failed and libx264 encoded the variants instead.
    pub hardware_failure: Option<String>,
}

/// Packages a video as HLS. If `cancel` becomes true, packaging ends with [`MediaError::Stopped`]. The files get their
/// final names after all of them are complete.
/// Errors: if ffmpeg is missing or fails, the source is not an H.264 MP4, or a file cannot be written.
pub fn package(plan: &HlsPlan, cancel: &AtomicBool) -> Result<HlsPackage, MediaError> {
    match package_by(plan, cancel) {
        Err(failed @ MediaError::Hardware { .. }) => {
            let software = HlsPlan { encoder: H264Encoder::Libx264, ..plan.clone() };
            let package = package_by(&software, cancel)?;
            Ok(HlsPackage { hardware_failure: Some(failed.to_string()), ..package })
        }
        other => other,
    }
}

/// Packages a video with the encoder of the plan. Unlike [`package`], it does not fall back to libx264 if a hardware
/// encoder fails.
/// Errors: see [`package`]. If a hardware encoder fails, the error is [`MediaError::Hardware`].
pub(crate) fn package_by(plan: &HlsPlan, cancel: &AtomicBool) -> Result<HlsPackage, MediaError> {
    let source = |problem: String| MediaError::Source { file: plan.source.clone(), problem };
    let movie = movie(&plan.source).map_err(|error| source(error.to_string()))?;
    let movie = movie.ok_or_else(|| source("it is not a complete H.264 MP4 with a constant frame rate".to_owned()))?;
    let fault = |source| MediaError::File { file: plan.out_dir.clone(), source };
    std::fs::create_dir_all(&plan.out_dir).map_err(fault)?;
    // The temporary folder is inside the output folder, so that the files can be moved by renaming them.
    let aside = tempfile::Builder::new().prefix(".plinth-").tempdir_in(&plan.out_dir).map_err(fault)?;
    let made = make(plan, &movie, aside.path(), cancel).map_err(|error| named(error, aside.path(), &plan.out_dir));
    // The temporary folder still exists here. If the incomplete files in it have filled the disk, the disk is still full.
    made.map_err(|error| error.or_disk_full(|| lacks_room(&plan.out_dir)).of_encoder(plan.encoder))
}

/// Writes all files to the folder `aside`, and then moves them to the output folder.
fn make(plan: &HlsPlan, movie: &Movie, aside: &Path, cancel: &AtomicBool) -> Result<HlsPackage, MediaError> {
    let (rungs, cues, grid) =
        (ladder(movie.width, movie.height), Cues::new(movie), Grid::new(movie.width, movie.height));
    let tiles = aside.join("tiles");
    let encoded = encode(plan, movie, &rungs, (&cues, grid, &tiles), aside, cancel)?;
    let pictures = Pictures { all: movie.pictures, in_group: frames_per_second(movie) };
    let mut variants = Vec::new();
    for (rung, encoded) in rungs.into_iter().zip(encoded) {
        stop_if(cancel)?;
        let folder = aside.join(rung.name());
        let fault = |source| MediaError::File { file: folder.clone(), source };
        std::fs::create_dir(&folder).map_err(fault)?;
        let variant = cut::cut(&encoded.file, &folder, pictures)?;
        std::fs::remove_file(&encoded.file).map_err(fault)?;
        write(&folder.join(playlist::MEDIA), &playlist::media(&variant))?;
        write(&folder.join(playlist::I_FRAMES), &playlist::i_frames(&variant))?;
        variants.push((rung, variant));
    }
    aligned(&variants).map_err(|problem| MediaError::Incomplete { file: plan.out_dir.clone(), problem })?;
    stop_if(cancel)?;
    let sprites = sprite::write_sheets(&tiles, cues.count(), grid, aside)?;
    write(&aside.join(THUMBNAILS), &cues.webvtt(movie, grid))?;
    write(&aside.join(MASTER), &playlist::master(&variants, frame_rate(movie)))?;
    keep(aside, &plan.out_dir, &variants, sprites)
}

/// Replaces temporary paths in an error by the final paths.
fn named(error: MediaError, aside: &Path, out_dir: &Path) -> MediaError {
    let home = |file: PathBuf| file.strip_prefix(aside).map_or_else(|_| file.clone(), |name| out_dir.join(name));
    match error {
        MediaError::Incomplete { file, problem } => MediaError::Incomplete { file: home(file), problem },
        MediaError::File { file, source } => MediaError::File { file: home(file), source },
        other => other,
    }
}

/// Runs ffmpeg, which writes the variants to the folder `aside`.
fn encode(
    plan: &HlsPlan,
    movie: &Movie,
    rungs: &[Rung],
    (cues, grid, tiles): (&Cues, Grid, &Path),
    aside: &Path,
    cancel: &AtomicBool,
) -> Result<Vec<Encoded>, MediaError> {
    let encoded: Vec<Encoded> = rungs
        .iter()
        .map(|rung| Encoded {
            width: rung.width,
            height: rung.height,
            peak_kbit: rung.peak_kbit(),
            file: aside.join(rung.name()).with_extension("mp4"),
        })
        .collect();
    let tiles =
        Tiles { width: grid.tile_width, height: grid.tile_height, select: cues.select(), file: tiles.to_owned() };
    let source = Source { file: &plan.source, fps: frames_per_second(movie) };
    let command = encode_variants(&plan.ffmpeg, plan.encoder, source, &encoded, &tiles);
    let mut process = Process::start(command, aside, &plan.out_dir, plan.encoder.is_hardware())?;
    if plan.encoder.is_hardware() {
        let files: Vec<&Path> = encoded.iter().map(|variant| variant.file.as_path()).collect();
        process.wait_while_writing(&files, DEVICE_STALL, cancel)?;
    } else {
        process.wait(cancel)?;
    }
    Ok(encoded)
}

/// Returns the frame rate, rounded to an integer.
fn frames_per_second(movie: &Movie) -> u32 {
    frame_rate(movie).round().max(1.0) as u32
}

fn frame_rate(movie: &Movie) -> f64 {
    f64::from(movie.timescale) / f64::from(movie.picture_units)
}

/// Checks that the segments of all variants have the same lengths. Only then players can switch between the variants.
fn aligned(variants: &[(Rung, Variant)]) -> Result<(), String> {
    let times = |variant: &Variant| -> Vec<f64> {
        variant.segments.iter().map(|s| s.duration as f64 / f64::from(variant.timescale)).collect()
    };
    let Some((first, rest)) = variants.split_first() else { return Ok(()) };
    match rest.iter().find(|(_, variant)| times(variant) != times(&first.1)) {
        Some((rung, _)) => Err(format!("segments of {} and {} differ in length", rung.name(), first.0.name())),
        None => Ok(()),
    }
}

/// Moves the files to their final paths. The master playlist is moved last, so that it only refers to existing files.
fn keep(
    aside: &Path,
    out_dir: &Path,
    variants: &[(Rung, Variant)],
    sprites: Vec<String>,
) -> Result<HlsPackage, MediaError> {
    let mut files = Vec::new();
    for (rung, variant) in variants {
        let folder = rung.name();
        let segments = (0..variant.segments.len()).map(cut::segment_name);
        let names = [cut::INIT, playlist::MEDIA, playlist::I_FRAMES].map(str::to_owned).into_iter().chain(segments);
        files.extend(names.map(|name| format!("{folder}/{name}")));
    }
    let folders = variants.iter().map(|(rung, _)| rung.name());
    let top: Vec<String> = sprites.into_iter().chain([THUMBNAILS.to_owned(), MASTER.to_owned()]).collect();
    for name in folders.chain(top.iter().cloned()) {
        let target = out_dir.join(&name);
        std::fs::rename(aside.join(name), &target).map_err(|source| MediaError::File { file: target, source })?;
    }
    files.extend(top);
    Ok(HlsPackage { files, hardware_failure: None })
}

fn write(path: &Path, text: &str) -> Result<(), MediaError> {
    std::fs::write(path, text).map_err(|source| MediaError::File { file: path.to_owned(), source })
}

fn stop_if(cancel: &AtomicBool) -> Result<(), MediaError> {
    if cancel.load(Ordering::Relaxed) { Err(MediaError::Stopped) } else { Ok(()) }
}
