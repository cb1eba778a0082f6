//! Writes all output files of a video while it receives the frames once.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plinth_frame::{Backdrop, Frame, FrameSink, SinkError};
use plinth_spec::OutputFile;

use crate::MediaError;
use crate::canvas::Canvas;
use crate::container;
use crate::full_disk::lacks_room;
use crate::outputs::{AlphaTrack, MediaOutputs, Poster, Track};
use crate::partial::{Partial, folder, keep_together};
use crate::properties;
use crate::resize::Reducer;
use crate::watermark::Watermark;
use crate::yuv420::yuv420p;

/// The frames from which the output files are made.
#[derive(Clone, Debug)]
pub struct FramePlan {
    pub count: u32,
    /// Index of the frame that the poster shows.
    pub poster_frame: u32,
    /// Opaque background of transparent frames, for all outputs except ProRes videos, which have alpha.
    pub background: Backdrop,
}

impl FramePlan {
    /// Checks that the plan is consistent, for frames of this size in pixels.
    fn check(&self, width: u32, height: u32) -> Result<(), MediaError> {
        let Self { count, poster_frame, ref background } = *self;
        if poster_frame >= count {
            let problem = format!("{count} frames do not contain frame {poster_frame}, which the poster shows");
            return Err(MediaError::Frames { problem });
        }
        if *background == Backdrop::Transparent || !background.fits(width, height) {
            let problem = "the background of transparent frames is not an opaque image of their size".to_owned();
            return Err(MediaError::Frames { problem });
        }
        Ok(())
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

/// Receives frames, and writes all planned output files. If a hardware encoder fails, the error is
/// [`MediaError::Hardware`]; the caller may then start again at the first frame with [`H264Encoder::Libx264`]. If the
/// writer is dropped before [`Self::finish`], it deletes all files except posters that already have their final names.
pub struct MediaWriter<'a> {
    outputs: MediaOutputs,
    frames: FramePlan,
    stop: &'a AtomicBool,
    canvas: Canvas,
    mark: Option<Watermark>,
    /// Posters that already have their final names.
    kept: Vec<WrittenFile>,
    next: u32,
}

impl<'a> MediaWriter<'a> {
    /// Creates a writer that waits for the first frame. If `stop` becomes true, waiting for an encoder ends with
    /// [`MediaError::Stopped`].
    /// Errors: if the plan is not valid, or an encoder has already ended.
    pub fn new(mut outputs: MediaOutputs, frames: FramePlan, stop: &'a AtomicBool) -> Result<Self, MediaError> {
        let (width, height) = (outputs.plan.width, outputs.plan.height);
        frames.check(width, height)?;
        outputs.check_encoders()?;
        let mark = outputs.plan.watermark.then(|| Watermark::new(width, height));
        Ok(Self { outputs, frames, stop, canvas: Canvas::new(width, height), mark, kept: Vec::new(), next: 0 })
    }

    fn take(&mut self, frame: &Frame) -> Result<(), MediaError> {
        let whole = (self.outputs.plan.width, self.outputs.plan.height);
        if ((frame.width, frame.height), frame.index) != (whole, self.next) {
            let problem = format!("received frame {} instead of frame {}", frame.index, self.next);
            return Err(MediaError::Frames { problem });
        }
        if !frame.is_whole() {
            let problem = format!("frame {} has the wrong number of pixels", frame.index);
            return Err(MediaError::Frames { problem });
        }
        self.next += 1;
        self.canvas.put(frame, &self.frames.background, self.mark.as_ref());
        if let Some(AlphaTrack { encoder, planes, .. }) = &mut self.outputs.alpha {
            planes.put(frame, self.mark.as_ref());
            let mut bytes = encoder.spare();
            bytes.clear();
            bytes.extend_from_slice(planes.bytes());
            encoder.picture(bytes, self.stop)?;
        }
        for track in &mut self.outputs.tracks {
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
        if frame.index == self.frames.poster_frame {
            for poster in &self.outputs.posters {
                let (path, target) = (poster.partial.path(), poster.partial.target());
                if (poster.width, poster.height) == whole {
                    crate::png::write(path, target, &self.canvas)?;
                } else {
                    let small = Reducer::new(poster.width, poster.height).reduce(&self.canvas)?;
                    crate::png::write(path, target, &small)?;
                }
            }
            if self.outputs.plan.posters_early {
                for Poster { file, partial, width, height } in self.outputs.posters.drain(..) {
                    self.kept.push(keep(file, partial, (width, height))?);
                }
            }
        }
        Ok(())
    }

    /// Waits for the encoders, and renames all files to their final names.
    /// Errors: if frames are missing, an encoder failed, or a file cannot be written. In this case no output file
    /// remains, except early posters, and files that were to be replaced are unchanged; the message names those that
    /// could not be restored.
    pub fn finish(self) -> Result<MediaReport, MediaError> {
        if self.next != self.frames.count {
            let problem = format!("received only {} of {} frames", self.next, self.frames.count);
            return Err(MediaError::Frames { problem });
        }
        let whole = (self.outputs.plan.width, self.outputs.plan.height);
        let mut done: Vec<(OutputFile, Partial, (u32, u32))> = Vec::new();
        if let Some(AlphaTrack { encoder, partial, .. }) = self.outputs.alpha {
            encoder.finish(self.stop)?;
            verify(&partial, self.frames.count)?;
            done.push((OutputFile::Video, partial, whole));
        }
        for Track { file, codec, encoder, partial, width, height, .. } in self.outputs.tracks {
            let finish = || {
                encoder.finish(self.stop)?;
                verify(&partial, self.frames.count)?;
                // The properties of libx264's files are covered by tests. Hardware drivers differ too much to rely on,
                // so their files are checked.
                if codec.is_hardware() { verify_properties(&partial, self.outputs.plan.fps) } else { Ok(()) }
            };
            finish().map_err(|error| error.of_encoder(codec))?;
            done.push((file, partial, (width, height)));
        }
        for (file, partial) in self.outputs.copies {
            if let Some((_, video, _)) = done.iter().find(|(file, _, _)| *file == OutputFile::Video) {
                copy(video.path(), &partial)?;
            }
            done.push((file, partial, whole));
        }
        done.extend(self.outputs.posters.into_iter().map(|p| (p.file, p.partial, (p.width, p.height))));
        let mut files = keep_all(done)?;
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

/// Checks that the index of a video lists all frames.
fn verify(partial: &Partial, frames: u32) -> Result<(), MediaError> {
    let incomplete = |problem| {
        let error = MediaError::Incomplete { file: partial.target().to_owned(), problem };
        error.or_disk_full(|| lacks_room(folder(partial.path())))
    };
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

/// Renames complete files to their final names: all or none.
fn keep_all(done: Vec<(OutputFile, Partial, (u32, u32))>) -> Result<Vec<WrittenFile>, MediaError> {
    let (facts, partials): (Vec<_>, Vec<_>) =
        done.into_iter().map(|(file, partial, size)| ((file, size), partial)).unzip();
    let written = facts.into_iter().zip(keep_together(partials)?);
    Ok(written
        .map(|((file, (width, height)), (path, bytes))| WrittenFile { file, path, bytes, width, height })
        .collect())
}

fn copy(from: &Path, to: &Partial) -> Result<(), MediaError> {
    let fault = |source| MediaError::File { file: to.target().to_owned(), source };
    std::fs::copy(from, to.path()).map(drop).map_err(fault)
}
