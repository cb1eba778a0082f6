//! One pass of frames feeds every output.

use std::path::{Path, PathBuf};

use plinth_frame::{Frame, FrameSink, SinkError};
use plinth_spec::quality::Codec;

use crate::MediaError;
use crate::canvas::Canvas;
use crate::convert::{Yuva444p10, yuv420p};
use crate::ffmpeg::{Encoder, Stream, VideoCodec};
use crate::partial::Partial;
use crate::resize::{Reducer, quarter, within};

/// Rate factor of the video itself.
const MAIN_CRF: u8 = 18;
/// Rate factor of the web and thumbnail videos.
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
    /// sRGB colour under transparent frames in everything but a ProRes video.
    pub background: [u8; 3],
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

/// Takes frames and writes all planned files.
pub struct MediaWriter {
    plan: MediaPlan,
    canvas: Canvas,
    alpha: Option<(Encoder, Partial, Yuva444p10)>,
    tracks: Vec<Track>,
    posters: Vec<Poster>,
    web_is_video: bool,
    next: u32,
}

impl MediaWriter {
    /// Starts the encoders.
    /// Errors: ffmpeg is missing, or the plan makes no sense.
    pub fn start(plan: MediaPlan) -> Result<Self, MediaError> {
        if plan.width % 2 == 1 || plan.height % 2 == 1 || plan.width == 0 || plan.height == 0 || plan.frames == 0 {
            let problem = format!("a video of {} frames of {}×{} is impossible", plan.frames, plan.width, plan.height);
            return Err(MediaError::Frames { problem });
        }
        let whole = (plan.width, plan.height);
        let web_size = within(plan.width, plan.height, WEB_SIDE);
        let is_h264 = matches!(plan.video, Some((_, Codec::H264)));
        let web_is_video = is_h264 && web_size == whole;
        let mut tracks = Vec::new();
        let mut alpha = None;
        match &plan.video {
            Some((path, Codec::H264)) => tracks.push(track(&plan, "video", path, whole, MAIN_CRF)?),
            Some((path, Codec::ProRes4444)) => {
                let partial = Partial::new(path);
                let stream =
                    Stream { width: plan.width, height: plan.height, fps: plan.fps, codec: VideoCodec::ProRes4444 };
                let encoder = Encoder::start(&plan.ffmpeg, stream, partial.path())?;
                alpha = Some((encoder, partial, Yuva444p10::new(plan.width, plan.height)));
            }
            None => {}
        }
        if let Some(path) = plan.web.as_ref().filter(|_| !web_is_video) {
            tracks.push(track(&plan, "web", path, web_size, SMALL_CRF)?);
        }
        if let Some(path) = &plan.thumb {
            tracks.push(track(&plan, "thumb", path, quarter(plan.width, plan.height), SMALL_CRF)?);
        }
        let poster =
            |kind, path: &PathBuf, (width, height)| Poster { kind, partial: Partial::new(path), width, height };
        let posters = [
            plan.poster.as_ref().map(|path| poster("poster", path, whole)),
            plan.small_poster
                .as_ref()
                .map(|path| poster("smallPoster", path, within(plan.width, plan.height, POSTER_SIDE))),
        ];
        let canvas = Canvas::new(plan.width, plan.height, plan.background);
        Ok(Self {
            canvas,
            alpha,
            tracks,
            posters: posters.into_iter().flatten().collect(),
            web_is_video,
            next: 0,
            plan,
        })
    }

    fn take(&mut self, frame: &Frame) -> Result<(), MediaError> {
        if (frame.width, frame.height, frame.index) != (self.plan.width, self.plan.height, self.next) {
            let problem = format!("frame {} came where frame {} was due", frame.index, self.next);
            return Err(MediaError::Frames { problem });
        }
        self.next += 1;
        self.canvas.put(frame, self.plan.background);
        if let Some((encoder, _, planes)) = &mut self.alpha {
            planes.put(frame);
            let mut bytes = encoder.spare();
            bytes.clear();
            bytes.extend_from_slice(planes.bytes());
            encoder.picture(bytes)?;
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
            track.encoder.picture(bytes)?;
        }
        if frame.index == self.plan.poster_frame {
            for poster in &self.posters {
                if (poster.width, poster.height) == (self.plan.width, self.plan.height) {
                    crate::png::write(poster.partial.path(), &self.canvas)?;
                } else {
                    let small = Reducer::new(poster.width, poster.height).reduce(&self.canvas)?;
                    crate::png::write(poster.partial.path(), &small)?;
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
        if let Some((encoder, partial, _)) = self.alpha {
            encoder.finish()?;
            done.push(("video", partial, whole));
        }
        for track in self.tracks {
            track.encoder.finish()?;
            done.push((track.kind, track.partial, (track.width, track.height)));
        }
        done.extend(self.posters.into_iter().map(|p| (p.kind, p.partial, (p.width, p.height))));
        if let Some(web) = self.plan.web.as_ref().filter(|_| self.web_is_video) {
            let partial = Partial::new(web);
            if let Some((_, video, _)) = done.iter().find(|(kind, _, _)| *kind == "video") {
                copy(video.path(), partial.path())?;
            }
            done.push(("web", partial, whole));
        }
        let files = done
            .into_iter()
            .map(|(kind, partial, (width, height))| {
                let (path, bytes) = partial.keep()?;
                Ok(WrittenFile { kind, path, bytes, width, height })
            })
            .collect::<Result<_, MediaError>>()?;
        Ok(MediaReport { files })
    }
}

impl FrameSink for MediaWriter {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        self.take(frame).map_err(|error| SinkError(Box::new(error)))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), MediaError> {
    std::fs::copy(from, to).map(drop).map_err(|source| MediaError::File { file: to.to_owned(), source })
}

fn track(
    plan: &MediaPlan,
    kind: &'static str,
    path: &Path,
    (width, height): (u32, u32),
    crf: u8,
) -> Result<Track, MediaError> {
    let partial = Partial::new(path);
    let stream = Stream { width, height, fps: plan.fps, codec: VideoCodec::H264 { crf } };
    let encoder = Encoder::start(&plan.ffmpeg, stream, partial.path())?;
    let reducer = ((width, height) != (plan.width, plan.height)).then(|| Reducer::new(width, height));
    Ok(Track { kind, encoder, partial, reducer, width, height })
}
