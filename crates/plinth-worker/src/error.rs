//! Why a worker cannot work.

use std::path::PathBuf;

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The folder for jobs cannot be used.
    #[error("the worker's folder {} cannot be used", folder.display())]
    Scratch {
        /// Which one.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Nothing here can draw.
    #[error("this machine cannot render; `plinth doctor` says more: {message}")]
    CannotRender {
        /// What was tried and failed.
        message: String,
    },
}
