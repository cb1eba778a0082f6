//! Errors of encoding and writing.

use std::path::PathBuf;

use crate::ffmpeg::H264Encoder;

/// Error of encoding or writing files.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// ffmpeg could not be started.
    #[error(
        "'{program}' cannot be started; install ffmpeg (Debian and Ubuntu: `apt-get install ffmpeg`) or set its path with --ffmpeg"
    )]
    FfmpegMissing {
        /// Program path or name.
        program: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// An encoder failed.
    #[error("encoding {} failed: {message}", file.display())]
    Encoder {
        /// Output file of the encoder.
        file: PathBuf,
        /// Last lines of ffmpeg's error output.
        message: String,
    },
    /// A hardware encoder failed. libx264 may still be able to encode the file.
    #[error("{encoder} failed: {source}")]
    Hardware {
        /// Encoder.
        encoder: H264Encoder,
        /// Cause.
        source: Box<Self>,
    },
    /// The requested hardware encoder does not work on this machine.
    #[error("{encoder} cannot be used on this machine: {problem}; choose another encoder, or auto")]
    EncoderUnusable {
        /// Encoder.
        encoder: H264Encoder,
        /// Result of the trial.
        problem: String,
    },
    /// An encoder exited without an error, but its file is not complete or not as requested.
    #[error("{} is not complete: {problem}; is the disk full?", file.display())]
    Incomplete {
        /// Path of the file.
        file: PathBuf,
        /// Problem, as a clause.
        problem: String,
    },
    /// A video could not be packaged.
    #[error("{} cannot be packaged: {problem}", file.display())]
    Source {
        /// Path of the file.
        file: PathBuf,
        /// Problem, as a clause.
        problem: String,
    },
    /// A file could not be written.
    #[error("{} cannot be written: {source}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A PNG could not be written.
    #[error("{} cannot be written: {source}", file.display())]
    Png {
        /// Path of the file.
        file: PathBuf,
        /// Cause.
        source: ::png::EncodingError,
    },
    /// Two outputs have the same path.
    #[error("{} is the name of two outputs; give each its own name", file.display())]
    SameFile {
        /// Path of the file.
        file: PathBuf,
    },
    /// The folder for a dataset is not empty.
    #[error("the folder {} is not empty; choose a new one, or empty it", folder.display())]
    FolderNotEmpty {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Another process is writing the same dataset.
    #[error("{} is being written by another process", file.display())]
    Busy {
        /// Path of the dataset.
        file: PathBuf,
    },
    /// The work was cancelled.
    #[error("cancelled")]
    Stopped,
    /// Frames are missing, or do not match the plan.
    #[error("{problem}")]
    Frames {
        /// Problem, as a clause.
        problem: String,
    },
}

impl MediaError {
    /// Wraps the error in [`MediaError::Hardware`] if `encoder` is a hardware encoder that may have caused it.
    pub(crate) fn of_encoder(self, encoder: H264Encoder) -> Self {
        match self {
            Self::Encoder { .. } | Self::Incomplete { .. } if encoder.is_hardware() => {
                Self::Hardware { encoder, source: Box::new(self) }
            }
            other => other,
        }
    }
}
