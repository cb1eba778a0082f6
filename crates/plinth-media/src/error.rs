//! Errors that occur when videos are encoded or files are written.

use std::path::PathBuf;

use crate::ffmpeg::H264Encoder;

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
        source: ::png::EncodingError,
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
}
