//! Errors that stop a worker.

use std::path::PathBuf;

/// Error that stops a worker.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// This system is not Linux.
    #[error("workers run only on Linux, which sandboxes, limits and ends their jobs")]
    NotLinux,
    /// The scratch folder cannot be used.
    #[error("the worker's folder {} cannot be used", folder.display())]
    Scratch { folder: PathBuf, source: std::io::Error },
    /// This machine has no working graphics adapter, or no working encoder.
    #[error("this machine cannot render; `plinth doctor` says more: {message}")]
    CannotRender {
        /// Failures of the adapters and encoders.
        message: String,
    },
}
