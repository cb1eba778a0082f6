//! Files of environments. An environment is a panorama that lights a scene.

use std::path::{Path, PathBuf};

use plinth_scene::{EnvironmentMap, SceneError, gain_map, radiance_hdr};
use serde::{Deserialize, Serialize};

/// Files of an environment: a panorama that lights the scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EnvironmentFiles {
    /// Equirectangular panorama in the Radiance HDR format (`.hdr`).
    Radiance(PathBuf),
    /// Panorama that consists of an image with standard dynamic range (SDR) and a gain map. HDR values are computed
    /// from both.
    #[serde(rename_all = "camelCase")]
    GainMap {
        /// SDR image in WebP format.
        sdr: PathBuf,
        /// Gain map in WebP format.
        gain_map: PathBuf,
        /// Gain map metadata in JSON format.
        metadata: PathBuf,
    },
}

/// Error that occurs when an environment is read.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A file cannot be read.
    #[error("{} cannot be read", file.display())]
    File {
        file: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// The files do not contain a valid environment.
    #[error("{files}")]
    Content {
        files: String,
        /// Error of the decoder.
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

    /// Returns the paths of all files.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Radiance(file) => vec![file.as_path()],
            Self::GainMap { sdr, gain_map, metadata } => vec![sdr.as_path(), gain_map.as_path(), metadata.as_path()],
        }
    }

    fn names(&self) -> String {
        self.paths().into_iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}
