//! Single files of datasets, for pages that show them.

use futures_util::TryStreamExt as _;
use plinth_db::renders::Render;
use plinth_spec::{ErrorCode, OutputFile};
use plinth_store::BlobStream;

use super::file::locate;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;
use crate::service::Service;

/// Media types of the files of datasets, by extension.
const TYPES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("webp", "image/webp"),
    ("json", "application/json"),
    ("ply", "application/octet-stream"),
    ("txt", "text/plain; charset=utf-8"),
];

/// A file of a dataset.
pub struct DatasetFile {
    pub content_type: &'static str,
    /// Length of the content in bytes.
    pub length: u64,
    pub content: BlobStream,
}

impl Service {
    /// Opens a file of a finished dataset, such as `images/0000.png`. Reads only this file of the stored archive.
    /// Errors: the render is no finished dataset, the dataset has no such file, or its archive is damaged.
    pub async fn dataset_file(&self, caller: &Caller, id: &str, name: &str) -> Result<DatasetFile> {
        let render = self.render_row(caller, id).await?;
        self.open_dataset_file(&render, name).await
    }

    pub(super) async fn open_dataset_file(&self, render: &Render, name: &str) -> Result<DatasetFile> {
        let missing = || ServiceError::new(ErrorCode::DatasetNotFound, "the render has no dataset with this file");
        let (_, extension) = name.rsplit_once('.').ok_or_else(missing)?;
        let known = TYPES.iter().find(|(known, _type)| *known == extension);
        let (_, content_type) = *known.ok_or_else(missing)?;
        let key = locate(render, OutputFile::Dataset)?.ok_or_else(missing)?;
        let stored = RenderFiles::of(render)?.get(OutputFile::Dataset).ok_or_else(missing)?;
        let path = key.path();
        let entry = self.archives.find(&self.store, &path, stored.size, name).await?.ok_or_else(missing)?;
        let content = entry.open(&self.store, &path).await?;
        Ok(DatasetFile { content_type, length: entry.size, content })
    }
}

impl DatasetFile {
    /// Reads a file of at most `most` bytes into memory.
    /// Errors: the file is larger, or is damaged.
    pub(super) async fn read_all(mut self, most: u64) -> Result<Vec<u8>> {
        let too_large = || ServiceError::internal("a file that describes the dataset is too large");
        let mut bytes = Vec::new();
        if self.length > most {
            return Err(too_large());
        }
        while let Some(piece) = self.content.try_next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}
