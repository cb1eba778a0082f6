//! Why files could not be written.

use std::path::PathBuf;

use crate::ffmpeg::H264Encoder;

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// ffmpeg is not there.
    #[error(
        "'{program}' cannot be started; install ffmpeg (Debian and Ubuntu: `apt-get install ffmpeg`) or name it with --ffmpeg"
    )]
    FfmpegMissing {
        /// What was called.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// An encoder stopped.
    #[error("encoding {} failed: {words}", file.display())]
    Encoder {
        /// The file it was writing.
        file: PathBuf,
        /// The end of what ffmpeg said.
        words: String,
    },
    /// A hardware encoder failed over a file that libx264 may still write.
    #[error("{encoder} failed: {source}")]
    Hardware {
        /// Which one.
        encoder: H264Encoder,
        /// How.
        source: Box<Self>,
    },
    /// A hardware encoder that was asked for does not work on this machine.
    #[error("{encoder} cannot be used on this machine: {problem}; choose another encoder, or auto")]
    EncoderUnusable {
        /// Which one.
        encoder: H264Encoder,
        /// What it did when it was tried.
        problem: String,
    },
    /// An encoder ended well, but its file is not what it should be.
    #[error("{} is not complete: {problem}; is the disk full?", file.display())]
    Incomplete {
        /// Which one.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A video cannot be packaged.
    #[error("{} cannot be packaged: {problem}", file.display())]
    Source {
        /// Which one.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A file could not be written.
    #[error("{} cannot be written: {source}", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A picture could not be written as PNG.
    #[error("{} cannot be written: {source}", file.display())]
    Png {
        /// Which one.
        file: PathBuf,
        /// Why.
        source: ::png::EncodingError,
    },
    /// One file is to be two.
    #[error("{} is named for two outputs; give each its own name", file.display())]
    SameFile {
        /// Which one.
        file: PathBuf,
    },
    /// A dataset's folder has files already.
    #[error("the folder {} is not empty; name a new one, or remove it", folder.display())]
    FolderNotEmpty {
        /// Which one.
        folder: PathBuf,
    },
    /// Another process is writing the same dataset.
    #[error("{} is being written by another process", file.display())]
    Busy {
        /// The dataset.
        file: PathBuf,
    },
    /// Somebody asked to stop.
    #[error("cancelled")]
    Stopped,
    /// Frames are missing or do not fit.
    #[error("{problem}")]
    Frames {
        /// What is wrong.
        problem: String,
    },
}

impl MediaError {
    /// The same error, and that a device may be at fault where one encoded and the encoder or its file is what failed.
    pub(crate) fn of_encoder(self, encoder: H264Encoder) -> Self {
        match self {
            Self::Encoder { .. } | Self::Incomplete { .. } if encoder.is_hardware() => {
                Self::Hardware { encoder, source: Box::new(self) }
            }
            other => other,
        }
    }
}
