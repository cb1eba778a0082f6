//! The output files of a video, and the encoders that write them. The encoders start before there is a first frame.

use std::path::{Path, PathBuf};

use plinth_spec::output_file::{Content, Size};
use plinth_spec::quality::Codec;
use plinth_spec::{OutputFile, OutputPaths};

use crate::MediaError;
use crate::convert::Yuva444p10;
use crate::ffmpeg::{Encoder, H264Encoder, Stream, VideoCodec};
use crate::partial::{Partial, remove_abandoned};
use crate::resize::{Reducer, quarter, within};

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
    /// Codec of the main video.
    pub codec: Codec,
    /// Output files with their paths; must not contain a dataset. If the main video meets the requirements of the web
    /// video, the web video is a copy of the main video.
    pub files: OutputPaths,
    /// Whether each poster gets its final name as soon as it is drawn, before the other files are complete. Such a
    /// poster remains even if the render fails later.
    pub posters_early: bool,
    /// Whether the preview watermark is drawn on all outputs.
    pub watermark: bool,
}

impl MediaPlan {
    /// Returns the width and the height of an output in pixels.
    pub(crate) fn size(&self, size: Size) -> (u32, u32) {
        match size {
            Size::Full => (self.width, self.height),
            Size::Within(side) => within(self.width, self.height, side),
            Size::Quarter => quarter(self.width, self.height),
        }
    }
}

/// Encoder and state of one H.264 video.
pub(crate) struct Track {
    pub(crate) file: OutputFile,
    pub(crate) codec: H264Encoder,
    pub(crate) encoder: Encoder,
    pub(crate) partial: Partial,
    pub(crate) reducer: Option<Reducer>,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// A poster, which is written when the writer receives its frame.
pub(crate) struct Poster {
    pub(crate) file: OutputFile,
    pub(crate) partial: Partial,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Encoder and state of the ProRes video, which has alpha.
pub(crate) struct AlphaTrack {
    pub(crate) encoder: Encoder,
    pub(crate) partial: Partial,
    pub(crate) planes: Yuva444p10,
}

/// The unfinished output files of a video, and the running encoders that write them. If this value is dropped, the files are
/// deleted.
pub struct MediaOutputs {
    pub(crate) plan: MediaPlan,
    pub(crate) alpha: Option<AlphaTrack>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) posters: Vec<Poster>,
    /// Output files that are copies of the main video.
    pub(crate) copies: Vec<(OutputFile, Partial)>,
}

impl MediaOutputs {
    /// Creates the files and starts the encoders. They wait for frames for any length of time.
    /// Errors: if ffmpeg is missing, a path is not writable, or the plan is not valid.
    pub fn start(plan: MediaPlan) -> Result<Self, MediaError> {
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
        Ok(Self { plan, alpha, tracks, posters, copies })
    }

    /// Checks that no encoder has already ended.
    /// Errors: with the message of the encoder.
    pub(crate) fn check_encoders(&mut self) -> Result<(), MediaError> {
        if let Some(AlphaTrack { encoder, .. }) = &mut self.alpha {
            encoder.check_running()?;
        }
        for Track { encoder, codec, .. } in &mut self.tracks {
            encoder.check_running().map_err(|error| error.of_encoder(*codec))?;
        }
        Ok(())
    }
}

/// Checks that the plan is consistent.
fn check(plan: &MediaPlan) -> Result<(), MediaError> {
    let MediaPlan { width, height, .. } = *plan;
    let is_still = |file: &OutputFile| matches!(file.declaration().content, Content::Still(_));
    // The codecs of videos store colour for two by two pixels.
    let is_even = width % 2 == 0 && height % 2 == 0;
    if width == 0 || height == 0 || !(is_even || plan.files.keys().all(is_still)) {
        let problem = format!("frames of {width}×{height} cannot be written");
        return Err(MediaError::Frames { problem });
    }
    let targets: Vec<&PathBuf> = plan.files.values().collect();
    match targets.iter().enumerate().find(|(i, target)| targets[..*i].contains(target)) {
        Some((_, twice)) => Err(MediaError::SameFile { file: (*twice).clone() }),
        None => Ok(()),
    }
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
