//! Which files a finished render has.

use plinth_db::renders;
use plinth_spec::quality::Codec;
use plinth_store::{RenderFile, Stored};
use serde::{Deserialize, Serialize};

use crate::error::{Result, ServiceError};

/// A stored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Bytes.
    pub size: u64,
    /// Checksum, for bundles.
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

/// The files of a finished render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RenderFiles {
    /// The video.
    pub video: Option<StoredFile>,
    /// Whether the video is a ProRes MOV.
    pub is_prores: bool,
    /// The web video.
    pub web: Option<StoredFile>,
    /// The thumbnail video.
    pub thumb: Option<StoredFile>,
    /// The poster in full size.
    pub full_poster: Option<StoredFile>,
    /// The small poster.
    pub poster: Option<StoredFile>,
    /// The dataset.
    pub dataset: Option<StoredFile>,
}

impl RenderFiles {
    /// Those of a render; none at all before it is done.
    pub(crate) fn of(render: &renders::Render) -> Result<Self> {
        let files = render.files.as_deref().map(serde_json::from_str).transpose();
        Ok(files.map_err(ServiceError::internal)?.unwrap_or_default())
    }

    /// How the video is encoded.
    pub const fn codec(self) -> Codec {
        if self.is_prores { Codec::ProRes4444 } else { Codec::H264 }
    }

    /// What is known of a file, where there is one.
    pub const fn get(self, file: RenderFile) -> Option<StoredFile> {
        match file {
            RenderFile::Video(_) => self.video,
            RenderFile::Web => self.web,
            RenderFile::Thumb => self.thumb,
            RenderFile::FullPoster => self.full_poster,
            RenderFile::Poster => self.poster,
            RenderFile::Dataset => self.dataset,
        }
    }
}
