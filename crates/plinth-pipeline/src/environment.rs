//! Environment files.

use std::path::{Path, PathBuf};

use plinth_scene::{EnvironmentMap, SceneError, gain_map, radiance_hdr};
use serde::{Deserialize, Serialize};

/// Files of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EnvironmentFiles {
    /// Equirectangular panorama in Radiance HDR format.
    Radiance(PathBuf),
    /// SDR image with a gain map.
    #[serde(rename_all = "camelCase")]
    GainMap {
        /// SDR image, WebP.
        sdr: PathBuf,
        /// Gain map, WebP.
        gain_map: PathBuf,
        /// Gain map metadata, JSON.
        metadata: PathBuf,
    },
}

/// Error while reading an environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A file cannot be read.
    #[error("{} cannot be read", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The content of the files is not valid.
    #[error("{files}")]
    Content {
        /// File names.
        files: String,
        /// Cause.
        source: SceneError,
    },
}

impl EnvironmentFiles {
    /// Reads and decodes the files.
    /// Errors: [`EnvironmentError`].
    pub fn read(&self) -> Result<EnvironmentMap, EnvironmentError> {
        let bytes = |file: &Path| {
            std::fs::read(file).map_err(|source| EnvironmentError::File { file: file.to_owned(), source })
        };
        let content = |source| EnvironmentError::Content { files: self.names(), source };
        match self {
            Self::Radiance(file) => radiance_hdr(&bytes(file)?).map_err(content),
            Self::GainMap { sdr, gain_map: gain, metadata } => {
                gain_map(&bytes(sdr)?, &bytes(gain)?, &bytes(metadata)?).map_err(content)
            }
        }
    }

    fn names(&self) -> String {
        let files = match self {
            Self::Radiance(file) => vec![file],
            Self::GainMap { sdr, gain_map, metadata } => vec![sdr, gain_map, metadata],
        };
        files.into_iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}
