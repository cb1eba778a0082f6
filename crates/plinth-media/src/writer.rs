//! One pass of frames feeds every output.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plinth_frame::{Backdrop, Frame, FrameSink, SinkError};
use plinth_spec::quality::Codec;

use crate::MediaError;
use crate::canvas::Canvas;
use crate::container;
use crate::convert::{Yuva444p10, yuv420p};
use crate::ffmpeg::{Encoder, H264Encoder, Stream, VideoCodec};
use crate::partial::{Partial, sweep};
use crate::properties;
use crate::resize::{Reducer, quarter, within};
use crate::watermark::Watermark;

/// Quality of the video itself, on the scale of x264's constant rate factor.
const MAIN_CRF: u8 = 17;
/// Quality of the web and thumbnail videos, on the same scale.
const SMALL_CRF: u8 = 22;
/// Longest side of the web video.
const WEB_SIDE: u32 = 1920;
/// Longest side of the small poster.
const POSTER_SIDE: u32 = 480;

/// What is to be written.
#[derive(Clone, Debug)]
pub struct MediaPlan {
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// What encodes H.264, the thumbnail apart: libx264 does that in no time, and hardware has a least size and a number of
    /// streams at a time.
    pub encoder: H264Encoder,
    /// Width of the frames, even.
    pub width: u32,
    /// Height of the frames, even.
    pub height: u32,
    /// Frames per second.
    pub fps: u32,
    /// Frames that will come.
    pub frames: u32,
    /// The video in full size.
    pub video: Option<(PathBuf, Codec)>,
    /// H.264, at most 1920 on the long side. Where the video is that already, it is the same file again.
    pub web: Option<PathBuf>,
    /// H.264, a quarter of each side.
    pub thumb: Option<PathBuf>,
    /// PNG in full size.
    pub poster: Option<PathBuf>,
    /// PNG, 480 on the long side.
    pub small_poster: Option<PathBuf>,
    /// The frame that posters show.
    pub poster_frame: u32,
    /// Posters get their names as soon as they are drawn, not when everything is complete; they stay if the rest fails.
    pub posters_early: bool,
    /// What is under transparent frames in everything but a ProRes video; opaque.
    pub background: Backdrop,
    /// Whether every output is marked as not paid for.
    pub watermark: bool,
}

impl MediaPlan {
    /// Every file that is to be written.
    fn targets(&self) -> impl Iterator<Item = &Path> {
        let video = self.video.as_ref().map(|(path, _)| path);
        [video, self.web.as_ref(), self.thumb.as_ref(), self.poster.as_ref(), self.small_poster.as_ref()]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }
}

/// A finished file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// `video`, `web`, `thumb`, `poster` or `smallPoster`.
    pub kind: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaReport {
    /// All files.
    pub files: Vec<WrittenFile>,
}

/// One video on its way.
struct Track {
    kind: &'static str,
    codec: H264Encoder,
    encoder: Encoder,
    partial: Partial,
    reducer: Option<Reducer>,
    width: u32,
    height: u32,
}

/// A poster, written when its frame comes.
struct Poster {
    kind: &'static str,
    partial: Partial,
    width: u32,
    height: u32,
}

/// The video with alpha on its way.
struct AlphaTrack {
    encoder: Encoder,
    partial: Partial,
    planes: Yuva444p10,
}

/// Takes frames and writes all planned files. Where a hardware encoder fails, that is [`MediaError::Hardware`]: the same plan
/// with [`H264Encoder::Libx264`] may still be carried out, from the first frame on. Dropped before [`Self::finish`], it leaves none but early posters.
pub struct MediaWriter<'a> {
    plan: MediaPlan,
    stop: &'a AtomicBool,
    canvas: Canvas,
    mark: Option<Watermark>,
    alpha: Option<AlphaTrack>,
    tracks: Vec<Track>,
    posters: Vec<Poster>,
    /// Posters that have their names already.
    kept: Vec<WrittenFile>,
    /// Where the video goes a second time, when it is a web video already.
    web_copy: Option<Partial>,
    next: u32,
}

impl<'a> MediaWriter<'a> {
    /// Starts the encoders. Setting `stop` ends every wait for them with [`MediaError::Stopped`].
    /// Errors: ffmpeg is missing, a file cannot be written where it shall be, or the plan makes no sense.
    pub fn start(plan: MediaPlan, stop: &'a AtomicBool) -> Result<Self, MediaError> {
        check(&plan)?;
        plan.targets().for_each(sweep);
        let whole = (plan.width, plan.height);
        let web_size = within(plan.width, plan.height, WEB_SIDE);
        let web_is_video = matches!(plan.video, Some((_, Codec::H264))) && web_size == whole;
        let mut tracks = Vec::new();
        let mut alpha = None;
        match &plan.video {
            Some((path, Codec::H264)) => tracks.push(track(&plan, "video", path, whole, (plan.encoder, MAIN_CRF))?),
            Some((path, Codec::ProRes4444)) => alpha = Some(alpha_track(&plan, path)?),
            None => {}
        }
        let mut web_copy = None;
        match &plan.web {
            Some(path) if web_is_video => web_copy = Some(Partial::create(path)?),
            Some(path) => tracks.push(track(&plan, "web", path, web_size, (plan.encoder, SMALL_CRF))?),
            None => {}
        }
        if let Some(path) = &plan.thumb {
            let quality = (H264Encoder::Libx264, SMALL_CRF);
            tracks.push(track(&plan, "thumb", path, quarter(plan.width, plan.height), quality)?);
        }
        let mut posters = Vec::new();
        if let Some(path) = &plan.poster {
            posters.push(poster("poster", path, whole)?);
        }
        if let Some(path) = &plan.small_poster {
            posters.push(poster("smallPoster", path, within(plan.width, plan.height, POSTER_SIDE))?);
        }
        let canvas = Canvas::new(plan.width, plan.height);
        let mark = plan.watermark.then(|| Watermark::new(plan.width, plan.height));
        Ok(Self { stop, canvas, mark, alpha, tracks, posters, kept: Vec::new(), web_copy, next: 0, plan })
    }

    fn take(&mut self, frame: &Frame) -> Result<(), MediaError> {
        if (frame.width, frame.height, frame.index) != (self.plan.width, self.plan.height, self.next) {
            let problem = format!("frame {} came where frame {} was due", frame.index, self.next);
            return Err(MediaError::Frames { problem });
        }
        if !frame.is_whole() {
            let problem = format!("frame {} does not hold the pixels that it says", frame.index);
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
            yuv420p(canvas, &mut bytes)?;
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
                for Poster { kind, partial, width, height } in self.posters.drain(..) {
                    self.kept.push(keep(kind, partial, (width, height))?);
                }
            }
        }
        Ok(())
    }

    /// Waits for the encoders and gives all files their names.
    /// Errors: frames that did not come, or an encoder or disk that failed; then none of the files is there.
    pub fn finish(self) -> Result<MediaReport, MediaError> {
        if self.next != self.plan.frames {
            let problem = format!("only {} of {} frames came", self.next, self.plan.frames);
            return Err(MediaError::Frames { problem });
        }
        let whole = (self.plan.width, self.plan.height);
        let mut done: Vec<(&'static str, Partial, (u32, u32))> = Vec::new();
        if let Some(AlphaTrack { encoder, partial, .. }) = self.alpha {
            encoder.finish(self.stop)?;
            verify(&partial, self.plan.frames)?;
            done.push(("video", partial, whole));
        }
        for Track { kind, codec, encoder, partial, width, height, .. } in self.tracks {
            let finish = || {
                encoder.finish(self.stop)?;
                verify(&partial, self.plan.frames)?;
                // Of libx264 tests know it; drivers are as they are.
                if codec.is_hardware() { verify_properties(&partial, self.plan.fps) } else { Ok(()) }
            };
            finish().map_err(|error| error.of_encoder(codec))?;
            done.push((kind, partial, (width, height)));
        }
        if let Some(partial) = self.web_copy {
            if let Some((_, video, _)) = done.iter().find(|(kind, _, _)| *kind == "video") {
                copy(video.path(), &partial)?;
            }
            done.push(("web", partial, whole));
        }
        done.extend(self.posters.into_iter().map(|p| (p.kind, p.partial, (p.width, p.height))));
        let mut files = done
            .into_iter()
            .map(|(kind, partial, size)| keep(kind, partial, size))
            .collect::<Result<Vec<_>, MediaError>>()?;
        files.extend(self.kept);
        Ok(MediaReport { files })
    }
}

impl FrameSink for MediaWriter<'_> {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        self.take(frame).map_err(|error| SinkError(Box::new(error)))
    }
}

/// Refuses what cannot be written.
fn check(plan: &MediaPlan) -> Result<(), MediaError> {
    let MediaPlan { width, height, frames, poster_frame, .. } = *plan;
    if width == 0 || height == 0 || width % 2 == 1 || height % 2 == 1 || frames == 0 || poster_frame >= frames {
        let problem = format!("{frames} frames of {width}×{height} with poster {poster_frame} cannot be written");
        return Err(MediaError::Frames { problem });
    }
    if plan.background == Backdrop::Transparent || !plan.background.fits(width, height) {
        let problem = "what is under transparent frames is not an opaque picture of their size".to_owned();
        return Err(MediaError::Frames { problem });
    }
    let targets: Vec<&Path> = plan.targets().collect();
    match targets.iter().enumerate().find(|(i, target)| targets[..*i].contains(target)) {
        Some((_, twice)) => Err(MediaError::SameFile { file: twice.to_path_buf() }),
        None => Ok(()),
    }
}

/// Refuses a video whose index does not name all frames.
fn verify(partial: &Partial, frames: u32) -> Result<(), MediaError> {
    let incomplete = |problem| MediaError::Incomplete { file: partial.target().to_owned(), problem };
    match container::pictures(partial.path()) {
        Ok(Some(count)) if count == frames => Ok(()),
        Ok(Some(count)) => Err(incomplete(format!("it has {count} of {frames} frames"))),
        Ok(None) => Err(incomplete("it is cut off".to_owned())),
        Err(error) => Err(incomplete(error.to_string())),
    }
}

/// Refuses a complete H.264 video that is not as all are.
fn verify_properties(partial: &Partial, fps: u32) -> Result<(), MediaError> {
    properties::check(partial.path(), fps)
        .map_err(|words| MediaError::Encoder { file: partial.target().to_owned(), words })
}

/// Gives a complete file its name.
fn keep(kind: &'static str, partial: Partial, (width, height): (u32, u32)) -> Result<WrittenFile, MediaError> {
    let (path, bytes) = partial.keep()?;
    Ok(WrittenFile { kind, path, bytes, width, height })
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
    kind: &'static str,
    path: &Path,
    (width, height): (u32, u32),
    (codec, crf): (H264Encoder, u8),
) -> Result<Track, MediaError> {
    let partial = Partial::create(path)?;
    let stream = Stream { width, height, fps: plan.fps, codec: VideoCodec::H264 { encoder: codec, crf } };
    let encoder = Encoder::start(&plan.ffmpeg, stream, partial.path(), path)?;
    let reducer = ((width, height) != (plan.width, plan.height)).then(|| Reducer::new(width, height));
    Ok(Track { kind, codec, encoder, partial, reducer, width, height })
}

fn poster(kind: &'static str, path: &Path, (width, height): (u32, u32)) -> Result<Poster, MediaError> {
    Ok(Poster { kind, partial: Partial::create(path)?, width, height })
}
