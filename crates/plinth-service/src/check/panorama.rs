//! The report of a process that encodes a panorama as an environment.

use serde::{Deserialize, Serialize};

/// Result of encoding a panorama. A checker process prints it as JSON, after it has written the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PanoramaReport {
    /// The files are written.
    Encoded {
        /// Width of the images in pixels.
        width: u32,
        /// Height of the images in pixels.
        height: u32,
    },
    /// The file is not a usable panorama.
    Rejected {
        /// Reason, for the caller.
        message: String,
    },
}
