//! The list of output files of a finished render.

use std::collections::BTreeMap;

use plinth_db::renders;
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;
use plinth_store::Stored;
use serde::{Deserialize, Serialize};

use crate::error::{Result, ServiceError};

/// A stored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Size in bytes.
    pub size: u64,
    /// CRC-32 of the content, for ZIP bundles.
    pub crc32: u32,
}

impl From<Stored> for StoredFile {
    fn from(stored: Stored) -> Self {
        Self { size: stored.size, crc32: stored.crc32 }
    }
}

impl From<StoredFile> for Stored {
    fn from(file: StoredFile) -> Self {
        Self { size: file.size, crc32: file.crc32 }
    }
}

/// The output files of a finished render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderFiles {
    /// Codec of the video.
    pub codec: Codec,
    /// Size and checksum of each existing file.
    pub stored: BTreeMap<OutputFile, StoredFile>,
}

/// JSON form of [`RenderFiles`] in the column `files`.
#[derive(Serialize, Deserialize)]
struct Column {
    #[serde(default)]
    is_prores: bool,
    /// The keys are the results of [`OutputFile::as_str`]. Earlier versions wrote null for missing files. Later versions
    /// may add other keys.
    #[serde(flatten)]
    stored: BTreeMap<String, Option<StoredFile>>,
}

impl RenderFiles {
    /// Creates an empty list for a render with this codec.
    pub const fn none(codec: Codec) -> Self {
        Self { codec, stored: BTreeMap::new() }
    }

    /// Reads the list of files from a render's row. The list is empty until the render is done.
    pub(crate) fn of(render: &renders::Render) -> Result<Self> {
        match &render.files {
            None => Ok(Self::none(Codec::H264)),
            Some(column) => Self::from_column(column).map_err(ServiceError::internal),
        }
    }

    fn from_column(column: &str) -> serde_json::Result<Self> {
        let Column { is_prores, stored } = serde_json::from_str(column)?;
        let known = stored.into_iter().filter_map(|(name, file)| Some((OutputFile::from_name(&name)?, file?)));
        let codec = if is_prores { Codec::ProRes4444 } else { Codec::H264 };
        Ok(Self { codec, stored: known.collect() })
    }

    /// Serializes the list for the column `files`.
    pub(super) fn to_column(&self) -> serde_json::Result<String> {
        let stored = self.stored.iter().map(|(file, stored)| (file.as_str().to_owned(), Some(*stored))).collect();
        serde_json::to_string(&Column { is_prores: self.codec == Codec::ProRes4444, stored })
    }

    /// Returns the size of all files, in bytes.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.values().map(|file| file.size).sum()
    }

    /// Returns size and checksum of a file; `None` if the render does not have the file.
    pub fn get(&self, file: OutputFile) -> Option<StoredFile> {
        self.stored.get(&file).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: StoredFile = StoredFile { size: 7, crc32: 9 };

    #[test]
    fn columns_of_earlier_versions_can_be_read() {
        let video = r#"{"video":{"size":7,"crc32":9},"is_prores":true,"web":{"size":7,"crc32":9},"thumb":null,
            "full_poster":{"size":7,"crc32":9},"poster":null,"dataset":null}"#;
        let files = RenderFiles::from_column(video).unwrap();
        assert_eq!(files.codec, Codec::ProRes4444);
        let there: Vec<_> = files.stored.into_iter().collect();
        assert_eq!(there, [OutputFile::Video, OutputFile::Web, OutputFile::FullPoster].map(|file| (file, FILE)));
    }

    #[test]
    fn earlier_versions_can_read_the_column() {
        let files = RenderFiles { codec: Codec::H264, stored: [(OutputFile::FullPoster, FILE)].into() };
        let column = files.to_column().unwrap();
        assert_eq!(column, r#"{"is_prores":false,"full_poster":{"size":7,"crc32":9}}"#);
        assert_eq!(RenderFiles::from_column(&column).unwrap(), files);
    }

    #[test]
    fn unknown_files_of_a_later_version_are_ignored() {
        let column = r#"{"is_prores":false,"hologram":{"size":1,"crc32":1},"web":{"size":7,"crc32":9}}"#;
        let files = RenderFiles::from_column(column).unwrap();
        assert_eq!(files.stored.into_iter().collect::<Vec<_>>(), [(OutputFile::Web, FILE)]);
    }
}
