//! The files of an environment.

use std::path::{Path, PathBuf};

use plinth_scene::{EnvironmentMap, SceneError, gain_map, radiance_hdr};
use serde::{Deserialize, Serialize};

/// The files of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EnvironmentFiles {
    /// One Radiance panorama.
    Radiance(PathBuf),
    /// A gain map.
    #[serde(rename_all = "camelCase")]
    GainMap {
        /// The picture for ordinary screens, WebP.
        sdr: PathBuf,
        /// What turns it into light, WebP.
        gain_map: PathBuf,
        /// How the two go together, JSON.
        metadata: PathBuf,
    },
}

/// Why an environment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A file cannot be read.
    #[error("{} cannot be read", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The files hold no environment.
    #[error("{files}")]
    Content {
        /// Their names.
        files: String,
        /// What is wrong.
        source: SceneError,
    },
}

impl EnvironmentFiles {
    /// Reads them.
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
