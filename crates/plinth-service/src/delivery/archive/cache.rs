//! Finds files in stored archives, and caches the file lists of the archives that were read last.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use plinth_store::{BlobStream, Store};
use tokio::sync::OnceCell;
use zip::result::{ZipError, ZipResult};
use zip::{CompressionMethod, ZipArchive};

use super::end::check_end;
use super::inflate::inflate;
use super::reader::StoredArchive;
use crate::error::{Result, ServiceError};

/// Number of archives whose file lists are cached in memory.
const KEPT: usize = 8;
/// Maximum size of an archive's file list (its central directory) in bytes. The largest dataset has a list of about 200 kB.
const LIST_BYTES: u64 = 1 << 20;
/// Maximum number of bytes that are read to find a file in an archive: the file list and the blocks around this list.
const READ_BYTES: u64 = 2 * LIST_BYTES;

type Cell = Arc<OnceCell<ZipArchive<StoredArchive>>>;

/// File lists of the archives that were read last, by the path of the archive in the store. Archives never change.
#[derive(Default)]
pub(crate) struct ArchiveCache(Mutex<VecDeque<(String, Cell)>>);

impl fmt::Debug for ArchiveCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArchiveCache")
    }
}

/// A file in a stored archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::delivery) struct ArchiveEntry {
    /// Range of the stored bytes of the file in the archive.
    bytes: Range<u64>,
    is_deflated: bool,
    /// Size of the file in bytes, uncompressed.
    pub(in crate::delivery) size: u64,
}

impl ArchiveCache {
    /// Finds a file in the archive that is stored at `path` and has `size` bytes. Returns `None` if the archive's file list
    /// has no file with exactly this name.
    /// Errors: the archive cannot be read, or is damaged.
    pub(in crate::delivery) async fn find(
        &self,
        store: &Store,
        path: &str,
        size: u64,
        name: &str,
    ) -> Result<Option<ArchiveEntry>> {
        let cell = self.cell(path);
        let opening = cell.get_or_try_init(|| async {
            let mut file = StoredArchive::new(store.clone(), path.to_owned(), size, READ_BYTES);
            blocking(move || {
                check_end(&mut file, LIST_BYTES)?;
                ZipArchive::new(file)
            })
            .await
        });
        let (archive, name) = (opening.await?.clone(), name.to_owned());
        blocking(move || entry(archive, size, &name)).await
    }

    /// Returns the cell of an archive and moves it to the front. Drops the least recently used cell if there are too many.
    fn cell(&self, path: &str) -> Cell {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _cell)| known == path);
        let found = at.and_then(|at| kept.remove(at)).unwrap_or_else(|| (path.to_owned(), Arc::default()));
        let cell = Arc::clone(&found.1);
        kept.push_front(found);
        kept.truncate(KEPT);
        cell
    }
}

impl ArchiveEntry {
    /// Opens the content of the file, which is decompressed if necessary.
    pub(in crate::delivery) async fn open(&self, store: &Store, path: &str) -> Result<BlobStream> {
        let stored = store.read_path(path, Some(self.bytes.clone())).await?;
        Ok(if self.is_deflated { inflate(stored, self.size) } else { stored })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ZipResult<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await.map_err(ServiceError::internal)?;
    done.map_err(ServiceError::internal)
}

fn entry(mut archive: ZipArchive<StoredArchive>, archive_bytes: u64, name: &str) -> ZipResult<Option<ArchiveEntry>> {
    let Some(index) = archive.index_for_name(name) else { return Ok(None) };
    let file = archive.by_index_raw(index)?;
    let start = file.data_start().unwrap_or(u64::MAX);
    let bytes = start..start.saturating_add(file.compressed_size());
    let method = file.compression();
    let is_stored = method == CompressionMethod::Stored && file.compressed_size() == file.size();
    let is_deflated = method == CompressionMethod::Deflated;
    if file.encrypted() || !(is_stored || is_deflated) || bytes.end > archive_bytes {
        return Err(ZipError::InvalidArchive("a file of the archive is neither stored nor deflated".into()));
    }
    Ok(Some(ArchiveEntry { bytes, is_deflated, size: file.size() }))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use futures_util::TryStreamExt as _;
    use plinth_spec::id::ModelId;
    use plinth_store::{LinkSigner, ObjectKey, StoreOptions};
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const FILE_BYTES: usize = 100_000;

    fn archive() -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for i in 0..250_u8 {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            zip.start_file(format!("images/{i:04}.png"), options).unwrap();
            zip.write_all(&vec![i; FILE_BYTES]).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    async fn read(store: &Store, path: &str, found: &ArchiveEntry) -> Vec<u8> {
        let mut content = Vec::new();
        let mut pieces = found.open(store, path).await.unwrap();
        while let Some(piece) = pieces.try_next().await.unwrap() {
            content.extend_from_slice(&piece);
        }
        content
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_file_is_found_without_reading_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreOptions {
            address: format!("file://{}", folder.path().display()),
            s3: Vec::new(),
            s3_public_endpoint: None,
            signer: LinkSigner::new("http://localhost".parse().unwrap()),
        })
        .unwrap();
        let (id, archive) = (ModelId::parse("AAAAAAAAAAAA").unwrap(), archive());
        let (key, size) = (ObjectKey::Model(&id), archive.len() as u64);
        assert!(size > 10 * READ_BYTES);
        store.put(&key, archive.into()).await.unwrap();
        let (cache, path) = (ArchiveCache::default(), key.path());
        for i in [0_u8, 249, 7] {
            let name = format!("images/{i:04}.png");
            let found = cache.find(&store, &path, size, &name).await.unwrap().unwrap();
            assert!(read(&store, &path, &found).await == vec![i; FILE_BYTES], "{name}");
        }
        for name in ["", "images/", "images/0250.png", "../images/0000.png", "images/../images/0000.png"] {
            assert_eq!(cache.find(&store, &path, size, name).await.unwrap(), None, "{name}");
        }
        assert!(cache.find(&store, "models/gone.glb", size, "x").await.is_err());
        // An error is not cached: the next call tries to open the archive again.
        assert!(cache.find(&store, "models/gone.glb", size, "x").await.is_err());
    }
}
