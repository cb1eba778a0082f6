//! Writes all output files of a video while it receives the frames once.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plinth_frame::{Backdrop, Frame, FrameSink, SinkError};
use plinth_spec::output_file::{Content, Size};
use plinth_spec::quality::Codec;
use plinth_spec::{OutputFile, OutputPaths};

use crate::MediaError;
use crate::canvas::Canvas;
use crate::container;
use crate::convert::Yuva444p10;
use crate::ffmpeg::{Encoder, H264Encoder, Stream, VideoCodec};
use crate::partial::{Partial, remove_abandoned};
use crate::properties;
use crate::resize::{Reducer, quarter, within};
use crate::watermark::Watermark;
use crate::yuv420::yuv420p;

/// Quality of the main video, as a constant rate factor (CRF) of x264.
const MAIN_CRF: u8 = 17;
/// Quality of the web video and the thumbnail video, as a constant rate factor (CRF) of x264.
const SMALL_CRF: u8 = 22;

/// The output files of a video, and their properties.
#[derive(Clone, Debug)]
pub struct MediaPlan {
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// H.264 encoder of all videos except the thumbnail video. libx264 always encodes the thumbnail video: it takes
    /// almost no time, and hardware encoders have a minimum frame size and a limited number of streams.
    pub encoder: H264Encoder,
    /// Width of the frames in pixels; must be even.
    pub width: u32,
    /// Height of the frames in pixels; must be even.
    pub height: u32,
    pub fps: u32,
    pub frames: u32,
    /// Codec of the main video.
    pub codec: Codec,
    /// Output files with their paths; must not contain a dataset. If the main video meets the requirements of the web
    /// video, the web video is a copy of the main video.
    pub files: OutputPaths,
    /// Index of the frame that the poster shows.
    pub poster_frame: u32,
    /// Whether each poster gets its final name as soon as it is drawn, before the other files are complete. Such a
    /// poster remains even if the render fails later.
    pub posters_early: bool,
    /// Opaque background of transparent frames, for all outputs except ProRes videos, which have alpha.
    pub background: Backdrop,
    /// Whether the preview watermark is drawn on all outputs.
    pub watermark: bool,
}

impl MediaPlan {
    /// Returns the width and the height of an output in pixels.
    fn size(&self, size: Size) -> (u32, u32) {
        match size {
            Size::Full => (self.width, self.height),
            Size::Within(side) => within(self.width, self.height, side),
            Size::Quarter => quarter(self.width, self.height),
        }
    }
}

/// An output file that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Kind of the output file.
    pub file: OutputFile,
    /// Path of the file.
    pub path: PathBuf,
    pub bytes: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Result of writing all output files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaReport {
    /// All files that were written.
    pub files: Vec<WrittenFile>,
}

/// Encoder and state of one H.264 video.
struct Track {
    file: OutputFile,
    codec: H264Encoder,
    encoder: Encoder,
    partial: Partial,
    reducer: Option<Reducer>,
    width: u32,
    height: u32,
}

/// A poster, which is written when the writer receives its frame.
struct Poster {
    file: OutputFile,
    partial: Partial,
    width: u32,
    height: u32,
}

/// Encoder and state of the ProRes video, which has alpha.
struct AlphaTrack {
    encoder: Encoder,
    partial: Partial,
    planes: Yuva444p10,
}

/// Receives frames, and writes all planned output files. If a hardware encoder fails, the error is
/// [`MediaError::Hardware`]; the caller may then start again at the first frame with [`H264Encoder::Libx264`]. If the
/// writer is dropped before [`Self::finish`], it deletes all files except posters that already have their final names.
pub struct MediaWriter<'a> {
    plan: MediaPlan,
    stop: &'a AtomicBool,
    canvas: Canvas,
    mark: Option<Watermark>,
    alpha: Option<AlphaTrack>,
    tracks: Vec<Track>,
    posters: Vec<Poster>,
    /// Posters that already have their final names.
    kept: Vec<WrittenFile>,
    /// Output files that are copies of the main video.
    copies: Vec<(OutputFile, Partial)>,
    next: u32,
}

impl<'a> MediaWriter<'a> {
    /// Starts the encoders. If `stop` becomes true, waiting for an encoder ends with [`MediaError::Stopped`].
    /// Errors: if ffmpeg is missing, a path is not writable, or the plan is not valid.
    pub fn start(plan: MediaPlan, stop: &'a AtomicBool) -> Result<Self, MediaError> {
        check(&plan)?;
        plan.files.values().for_each(|path| remove_abandoned(path));
        let whole = plan.size(Size::Full);
        let is_h264 = plan.codec == Codec::H264 && plan.files.contains_key(&OutputFile::Video);
        let (mut alpha, mut tracks, mut copies, mut posters) = (None, Vec::new(), Vec::new(), Vec::new());
        for (&file, path) in &plan.files {
            let encoder = if file.may_use_hardware(plan.codec) { plan.encoder } else { H264Encoder::Libx264 };
            match file.declaration().content {
                Content::Video if plan.codec == Codec::ProRes4444 => alpha = Some(alpha_track(&plan, path)?),
                Content::Video => tracks.push(track(&plan, (file, path), whole, (encoder, MAIN_CRF))?),
                Content::SmallVideo(size) if is_h264 && plan.size(size) == whole => {
                    copies.push((file, Partial::create(path)?));
                }
                Content::SmallVideo(size) => {
                    tracks.push(track(&plan, (file, path), plan.size(size), (encoder, SMALL_CRF))?);
                }
                Content::Still(size) => {
                    let (width, height) = plan.size(size);
                    posters.push(Poster { file, partial: Partial::create(path)?, width, height });
                }
                Content::Dataset => {
                    let problem = "a dataset cannot be written together with videos and stills".to_owned();
                    return Err(MediaError::Frames { problem });
                }
            }
        }
        let canvas = Canvas::new(plan.width, plan.height);
        let mark = plan.watermark.then(|| Watermark::new(plan.width, plan.height));
        Ok(Self { stop, canvas, mark, alpha, tracks, posters, kept: Vec::new(), copies, next: 0, plan })
    }

    fn take(&mut self, frame: &Frame) -> Result<(), MediaError> {
        if (frame.width, frame.height, frame.index) != (self.plan.width, self.plan.height, self.next) {
            let problem = format!("received frame {} instead of frame {}", frame.index, self.next);
            return Err(MediaError::Frames { problem });
        }
        if !frame.is_whole() {
            let problem = format!("frame {} has the wrong number of pixels", frame.index);
            return Err(MediaError::Frames { problem });
        }
        self.next += 1;
        self.canvas.put(frame, &self.plan.background, self.mark.as_ref());
        if let Some(AlphaTrack { encoder, planes, .. }) = &mut self.alpha {
            planes.put(frame, self.mark.as_ref());
            let mut bytes = encoder.spare();
            bytes.clear();
            bytes.extend_from_slice(planes.bytes());
            encoder.picture(bytes, self.stop)?;
        }
        for track in &mut self.tracks {
            let reduced;
            let canvas = match &mut track.reducer {
                None => &self.canvas,
                Some(reducer) => {
                    reduced = reducer.reduce(&self.canvas)?;
                    &reduced
                }
            };
            let mut bytes = track.encoder.spare();
            yuv420p(canvas, &mut bytes);
            track.encoder.picture(bytes, self.stop).map_err(|error| error.of_encoder(track.codec))?;
        }
        if frame.index == self.plan.poster_frame {
            for poster in &self.posters {
                let (path, target) = (poster.partial.path(), poster.partial.target());
                if (poster.width, poster.height) == (self.plan.width, self.plan.height) {
                    crate::png::write(path, target, &self.canvas)?;
                } else {
                    let small = Reducer::new(poster.width, poster.height).reduce(&self.canvas)?;
                    crate::png::write(path, target, &small)?;
                }
            }
            if self.plan.posters_early {
                for Poster { file, partial, width, height } in self.posters.drain(..) {
                    self.kept.push(keep(file, partial, (width, height))?);
                }
            }
        }
        Ok(())
    }

    /// Waits for the encoders, and renames all files to their final names.
    /// Errors: if frames are missing, an encoder failed, or a file cannot be written. In this case no output file
    /// remains, except early posters.
    pub fn finish(self) -> Result<MediaReport, MediaError> {
        if self.next != self.plan.frames {
            let problem = format!("received only {} of {} frames", self.next, self.plan.frames);
            return Err(MediaError::Frames { problem });
        }
        let whole = (self.plan.width, self.plan.height);
        let mut done: Vec<(OutputFile, Partial, (u32, u32))> = Vec::new();
        if let Some(AlphaTrack { encoder, partial, .. }) = self.alpha {
            encoder.finish(self.stop)?;
            verify(&partial, self.plan.frames)?;
            done.push((OutputFile::Video, partial, whole));
        }
        for Track { file, codec, encoder, partial, width, height, .. } in self.tracks {
            let finish = || {
                encoder.finish(self.stop)?;
                verify(&partial, self.plan.frames)?;
                // The properties of libx264's files are covered by tests. Hardware drivers differ too much to rely on,
                // so their files are checked.
                if codec.is_hardware() { verify_properties(&partial, self.plan.fps) } else { Ok(()) }
            };
            finish().map_err(|error| error.of_encoder(codec))?;
            done.push((file, partial, (width, height)));
        }
        for (file, partial) in self.copies {
            if let Some((_, video, _)) = done.iter().find(|(file, _, _)| *file == OutputFile::Video) {
                copy(video.path(), &partial)?;
            }
            done.push((file, partial, whole));
        }
        done.extend(self.posters.into_iter().map(|p| (p.file, p.partial, (p.width, p.height))));
        let mut files = done
            .into_iter()
            .map(|(file, partial, size)| keep(file, partial, size))
            .collect::<Result<Vec<_>, MediaError>>()?;
        files.extend(self.kept);
        files.sort_by_key(|written| written.file);
        Ok(MediaReport { files })
    }
}

impl FrameSink for MediaWriter<'_> {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        self.take(frame).map_err(|error| SinkError(Box::new(error)))
    }
}

/// Checks that the plan is consistent.
fn check(plan: &MediaPlan) -> Result<(), MediaError> {
    let MediaPlan { width, height, frames, poster_frame, .. } = *plan;
    if width == 0 || height == 0 || width % 2 == 1 || height % 2 == 1 || frames == 0 || poster_frame >= frames {
        let problem = format!("{frames} frames of {width}×{height} with poster {poster_frame} cannot be written");
        return Err(MediaError::Frames { problem });
    }
    if plan.background == Backdrop::Transparent || !plan.background.fits(width, height) {
        let problem = "the background of transparent frames is not an opaque image of their size".to_owned();
        return Err(MediaError::Frames { problem });
    }
    let targets: Vec<&PathBuf> = plan.files.values().collect();
    match targets.iter().enumerate().find(|(i, target)| targets[..*i].contains(target)) {
        Some((_, twice)) => Err(MediaError::SameFile { file: (*twice).clone() }),
        None => Ok(()),
    }
}

/// Checks that the index of a video lists all frames.
fn verify(partial: &Partial, frames: u32) -> Result<(), MediaError> {
    let incomplete = |problem| MediaError::Incomplete { file: partial.target().to_owned(), problem };
    match container::pictures(partial.path()) {
        Ok(Some(count)) if count == frames => Ok(()),
        Ok(Some(count)) => Err(incomplete(format!("it has {count} of {frames} frames"))),
        Ok(None) => Err(incomplete("it is truncated".to_owned())),
        Err(error) => Err(incomplete(error.to_string())),
    }
}

/// Checks the properties that all H.264 videos must have.
fn verify_properties(partial: &Partial, fps: u32) -> Result<(), MediaError> {
    properties::check(partial.path(), fps)
        .map_err(|message| MediaError::Encoder { file: partial.target().to_owned(), message })
}

/// Renames a complete file to its final name.
fn keep(file: OutputFile, partial: Partial, (width, height): (u32, u32)) -> Result<WrittenFile, MediaError> {
    let (path, bytes) = partial.keep()?;
    Ok(WrittenFile { file, path, bytes, width, height })
}

fn copy(from: &Path, to: &Partial) -> Result<(), MediaError> {
    let fault = |source| MediaError::File { file: to.target().to_owned(), source };
    std::fs::copy(from, to.path()).map(drop).map_err(fault)
}

fn alpha_track(plan: &MediaPlan, path: &Path) -> Result<AlphaTrack, MediaError> {
    let partial = Partial::create(path)?;
    let stream = Stream { width: plan.width, height: plan.height, fps: plan.fps, codec: VideoCodec::ProRes4444 };
    let encoder = Encoder::start(&plan.ffmpeg, stream, partial.path(), path)?;
    Ok(AlphaTrack { encoder, partial, planes: Yuva444p10::new(plan.width, plan.height) })
}

fn track(
    plan: &MediaPlan,
    (file, path): (OutputFile, &Path),
    (width, height): (u32, u32),
    (codec, crf): (H264Encoder, u8),
) -> Result<Track, MediaError> {
    let partial = Partial::create(path)?;
    let stream = Stream { width, height, fps: plan.fps, codec: VideoCodec::H264 { encoder: codec, crf } };
    let encoder = Encoder::start(&plan.ffmpeg, stream, partial.path(), path)?;
    let reducer = ((width, height) != (plan.width, plan.height)).then(|| Reducer::new(width, height));
    Ok(Track { file, codec, encoder, partial, reducer, width, height })
}
