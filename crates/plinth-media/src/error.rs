//! Errors that occur when videos are encoded or files are written.

use std::path::{Path, PathBuf};

use ::png::EncodingError;

use crate::ffmpeg::H264Encoder;
use crate::full_disk::is_full_disk;

/// Error that occurs when a video is encoded or a file is written.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// ffmpeg could not be started.
    #[error(
        "'{program}' cannot be started; install ffmpeg (Debian and Ubuntu: `apt-get install ffmpeg`) or set its path with --ffmpeg"
    )]
    FfmpegMissing {
        /// Path or name of the program.
        program: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// ffmpeg lacks a required software encoder, or this encoder does not work.
    #[error("'{program}' cannot encode with {encoder}, which videos need: {problem}")]
    SoftwareEncoder {
        /// Path or name of the program.
        program: String,
        /// Name of the encoder.
        encoder: &'static str,
        /// Result of testing the encoder.
        problem: String,
    },
    #[error("encoding {} failed: {message}", file.display())]
    Encoder {
        /// Output file of the encoder.
        file: PathBuf,
        /// Last lines of ffmpeg's error output.
        message: String,
    },
    /// A hardware encoder failed. libx264 may still be able to encode the same file.
    #[error("{encoder} failed: {source}")]
    Hardware {
        encoder: H264Encoder,
        /// Error of the encoder.
        source: Box<Self>,
    },
    /// The requested hardware encoder does not work on this machine.
    #[error("{encoder} cannot be used on this machine: {problem}; choose another encoder, or auto")]
    EncoderUnusable {
        encoder: H264Encoder,
        /// Result of testing the encoder.
        problem: String,
    },
    /// The encoder reported no error, but its output file is incomplete or lacks a required property.
    #[error("{} is not complete: {problem}; is the disk full?", file.display())]
    Incomplete {
        file: PathBuf,
        /// Description of the problem, as a clause for the message.
        problem: String,
    },
    /// ffmpeg failed or left an incomplete file, because the disk is full or the disk quota of the user is exhausted.
    #[error("{} cannot be written: {message}", file.display())]
    DiskFull {
        /// Output file of ffmpeg, or its output folder.
        file: PathBuf,
        /// Last lines of ffmpeg's error output, or a description of what the file lacks.
        message: String,
    },
    /// A video could not be packaged as HLS.
    #[error("{} cannot be packaged: {problem}", file.display())]
    Source {
        file: PathBuf,
        /// Description of the problem, as a clause for the message.
        problem: String,
    },
    /// A file could not be written.
    #[error("{} cannot be written: {source}", file.display())]
    File {
        file: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// A PNG could not be written.
    #[error("{} cannot be written: {source}", file.display())]
    Png {
        file: PathBuf,
        /// Error of the PNG encoder.
        source: EncodingError,
    },
    /// Two output files have the same path.
    #[error("{} is the name of two outputs; give each its own name", file.display())]
    SameFile { file: PathBuf },
    /// The output folder of the dataset is not empty.
    #[error("the folder {} is not empty; choose a new one, or empty it", folder.display())]
    FolderNotEmpty { folder: PathBuf },
    /// Another process is writing the same dataset.
    #[error("{} is being written by another process", file.display())]
    Busy {
        /// Path of the dataset.
        file: PathBuf,
    },
    /// The work was cancelled.
    #[error("cancelled")]
    Stopped,
    /// Frames are missing, or their size or number differs from what was announced.
    #[error("{problem}")]
    Frames {
        /// Description of the problem, as a clause for the message.
        problem: String,
    },
}

impl MediaError {
    /// Wraps the error in [`MediaError::Hardware`] if `encoder` is a hardware encoder that may have caused the error.
    pub(crate) fn of_encoder(self, encoder: H264Encoder) -> Self {
        match self {
            Self::Encoder { .. } | Self::Incomplete { .. } if encoder.is_hardware() => {
                Self::Hardware { encoder, source: Box::new(self) }
            }
            other => other,
        }
    }

    /// Converts a failure of ffmpeg to [`MediaError::DiskFull`] if `is_full` returns that this is the cause.
    pub(crate) fn or_disk_full(self, is_full: impl FnOnce() -> bool) -> Self {
        let is_full = matches!(self, Self::Encoder { .. } | Self::Incomplete { .. }) && is_full();
        match self {
            Self::Encoder { file, message } | Self::Incomplete { file, problem: message } if is_full => {
                Self::DiskFull { file, message }
            }
            other => other,
        }
    }

    /// Returns the file or folder that could not be written because the disk is full, or because the disk quota of the user is
    /// exhausted. Returns `None` if the error has another cause.
    pub fn file_on_full_disk(&self) -> Option<&Path> {
        match self {
            Self::DiskFull { file, .. } => Some(file),
            Self::File { file, source } | Self::Png { file, source: EncodingError::IoError(source) } => {
                is_full_disk(source).then_some(file.as_path())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn failures_of_ffmpeg() -> [MediaError; 2] {
        let file = PathBuf::from("out/video.mp4");
        [
            MediaError::Encoder { file: file.clone(), message: "it failed".to_owned() },
            MediaError::Incomplete { file, problem: "it is truncated".to_owned() },
        ]
    }

    #[test]
    fn a_failure_of_ffmpeg_on_a_full_disk_is_not_blamed_on_the_encoder() {
        for error in failures_of_ffmpeg() {
            let error = error.or_disk_full(|| true).of_encoder(H264Encoder::Nvenc);
            assert_eq!(error.file_on_full_disk(), Some(Path::new("out/video.mp4")), "{error:?}");
        }
        for error in failures_of_ffmpeg() {
            let error = error.or_disk_full(|| false);
            assert_eq!(error.file_on_full_disk(), None, "{error:?}");
            assert!(matches!(error.of_encoder(H264Encoder::Nvenc), MediaError::Hardware { .. }));
        }
        assert!(matches!(MediaError::Stopped.or_disk_full(|| true), MediaError::Stopped));
    }

    #[test]
    fn files_that_the_system_cannot_write_to_a_full_disk_are_named() {
        let of_file = |kind: ErrorKind| MediaError::File { file: "a.zip".into(), source: kind.into() };
        let of_png =
            |kind: ErrorKind| MediaError::Png { file: "a.png".into(), source: EncodingError::IoError(kind.into()) };
        for (kind, is_full) in [(ErrorKind::StorageFull, true), (ErrorKind::PermissionDenied, false)] {
            assert_eq!(of_file(kind).file_on_full_disk(), is_full.then_some(Path::new("a.zip")));
            assert_eq!(of_png(kind).file_on_full_disk(), is_full.then_some(Path::new("a.png")));
        }
    }
}
