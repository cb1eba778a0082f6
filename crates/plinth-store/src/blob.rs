//! Writes, reads and deletes objects.

use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, WriteMultipart};
use tokio::io::{AsyncReadExt as _, Take};

use crate::Result;
use crate::error::StoreError;
use crate::key::ObjectKey;
use crate::open::Store;
use crate::resume::{PAUSE, Pieces, Reopen, resuming};
use crate::stored::Stored;

/// Size of a part of a multipart upload, in bytes. S3 allows 10 000 parts, so the maximum size of an object is 78 GiB.
pub(crate) const PART_BYTES: usize = 8 << 20;
/// Maximum number of parts of a file that are uploaded concurrently.
pub(crate) const PARTS_AT_ONCE: usize = 3;
/// Maximum number of files that are uploaded concurrently. For each file, up to four parts are in memory: three that
/// are uploaded, and one that is read from the file.
pub(crate) const PUTS_AT_ONCE: usize = 6;
/// Size of the read buffer in bytes.
const READ_BYTES: usize = 256 << 10;

/// The content of an object as a stream of chunks.
pub type BlobStream = BoxStream<'static, Result<Bytes>>;

/// Metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Size in bytes.
    pub size: u64,
    /// Entity tag (ETag). It changes whenever the content changes.
    pub etag: Option<String>,
    /// Time of the last write, in milliseconds since 1970.
    pub modified_at_ms: i64,
}

impl Store {
    /// Stores bytes atomically: readers see either the old or the new content.
    pub async fn put(&self, key: &ObjectKey<'_>, bytes: Bytes) -> Result<Stored> {
        self.put_at(&self.path(key)?, bytes).await
    }

    async fn put_at(&self, path: &Path, bytes: Bytes) -> Result<Stored> {
        let stored = Stored { size: bytes.len() as u64, crc32: crc32fast::hash(&bytes) };
        self.uploads.put(path, PutPayload::from(bytes)).await?;
        Ok(stored)
    }

    /// Stores bytes as [`Self::put`] does, unless the object exists already. Where the S3 server supports no conditional writes, or the
    /// file system no hard links, this may replace an object that another process stores at the same time.
    pub async fn put_new(&self, key: &ObjectKey<'_>, bytes: Bytes) -> Result<()> {
        if self.find(key).await?.is_some() {
            return Ok(());
        }
        let (path, payload) = (self.path(key)?, PutPayload::from(bytes.clone()));
        // This client does not retry. An S3 server without conditional writes may respond to each of them with status 501.
        match self.pings.put_opts(&path, payload, PutMode::Create.into()).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => return Ok(()),
            Err(error) => tracing::debug!(%error, "an object could not be stored by a conditional write"),
        }
        // The object exists if another process has stored it, or if only the response was lost.
        if self.find(key).await?.is_some() {
            return Ok(());
        }
        self.put(key, bytes).await.map(drop)
    }

    /// Stores a file atomically by a multipart upload. Stores at most as many bytes as the file has at the beginning.
    pub async fn put_file(&self, key: &ObjectKey<'_>, file: &FilePath) -> Result<Stored> {
        self.put_file_at(&self.path(key)?, file, None).await
    }

    /// Like [`Self::put_file`], for a file whose size was checked before. An upload may begin much later, because the number of
    /// concurrent uploads is limited and failed ones are repeated; meanwhile, an untrusted process may change the file.
    /// Errors: the file does not have `size` bytes any more, and the errors of [`Self::put_file`].
    pub async fn put_file_of_size(&self, key: &ObjectKey<'_>, file: &FilePath, size: u64) -> Result<Stored> {
        self.put_file_at(&self.path(key)?, file, Some(size)).await
    }

    async fn put_file_at(&self, path: &Path, file: &FilePath, expected: Option<u64>) -> Result<Stored> {
        let _place = self.puts.acquire().await.map_err(std::io::Error::other)?;
        let reader = tokio::fs::File::open(file).await?;
        let size = reader.metadata().await?.len();
        if expected.is_some_and(|expected| size != expected) {
            let problem = "the size of the file has changed since it was checked";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, problem).into());
        }
        // The file may grow meanwhile, because the process that writes it is not trusted.
        let mut reader = reader.take(size);
        if size <= PART_BYTES as u64 {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).await?;
            return self.put_at(path, bytes.into()).await;
        }
        self.put_parts(path, reader).await
    }

    async fn put_parts(&self, path: &Path, mut reader: Take<tokio::fs::File>) -> Result<Stored> {
        let upload = self.uploads.put_multipart(path).await?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let stored = match write_parts(&mut reader, &mut writer).await {
            Ok(stored) => stored,
            Err(error) => {
                // An error of `abort` is ignored, because a lifecycle rule of the bucket removes the uploaded parts
                // later.
                let _aborted = writer.abort().await;
                let is_lost = error.is_not_found() && self.folder.is_none();
                return Err(if is_lost { StoreError::UploadLost { key: path.to_string() } } else { error });
            }
        };
        match writer.finish().await {
            Ok(_completed) => Ok(stored),
            Err(object_store::Error::NotFound { .. }) if self.folder.is_none() => {
                self.confirm_completed(path, stored).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `stored` if S3 has an object of this size at `path`. `object_store` repeats the completion of a multipart upload
    /// whose response was lost, and S3 does not know the upload any more if it has completed it the first time. The size suffices,
    /// because no two different files are stored at the same path in S3.
    async fn confirm_completed(&self, path: &Path, stored: Stored) -> Result<Stored> {
        match self.objects.head(path).await {
            Ok(meta) if meta.size == stored.size => Ok(stored),
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Err(StoreError::UploadLost { key: path.to_string() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the metadata of an object, or `None` if the object does not exist.
    pub async fn find(&self, key: &ObjectKey<'_>) -> Result<Option<Blob>> {
        self.find_path(&key.path()).await
    }

    /// Like [`Self::find`], for the path of an object in a signed link.
    pub async fn find_path(&self, path: &str) -> Result<Option<Blob>> {
        match self.objects.head(&self.path_of(path)?).await {
            Ok(meta) => {
                let modified_at_ms = meta.last_modified.timestamp_millis();
                Ok(Some(Blob { size: meta.size, etag: meta.e_tag, modified_at_ms }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads an object, or only the bytes in `range`.
    pub async fn read(&self, key: &ObjectKey<'_>, range: Option<Range<u64>>) -> Result<BlobStream> {
        self.read_path(&key.path(), range).await
    }

    /// Like [`Self::read`], for the path of an object in a signed link.
    pub async fn read_path(&self, path: &str, range: Option<Range<u64>>) -> Result<BlobStream> {
        if range.as_ref().is_some_and(Range::is_empty) {
            return Ok(stream::empty().boxed());
        }
        let path = self.path_of(path)?;
        let options = GetOptions { range: range.map(Into::into), ..GetOptions::default() };
        let found = self.objects.get_opts(&path, options).await?;
        let (range, etag) = (found.range.clone(), found.meta.e_tag.clone());
        let mut pieces = found.into_stream();
        // Only reads from S3 are resumed. A local read has no connection that could break.
        if self.folder.is_none() && etag.is_some() {
            pieces = resuming(pieces, range, Object { objects: Arc::clone(&self.objects), path, etag }, PAUSE);
        }
        Ok(pieces.map(|piece| piece.map_err(StoreError::from)).boxed())
    }

    /// Stores a file under the path of a signed link.
    pub async fn put_path(&self, path: &str, file: &FilePath) -> Result<Stored> {
        self.put_file_at(&self.path_of(path)?, file, None).await
    }

    /// Reads a small object into memory.
    pub async fn read_all(&self, key: &ObjectKey<'_>) -> Result<Bytes> {
        Ok(self.objects.get(&self.path(key)?).await?.bytes().await?)
    }

    /// Reads a small object into memory. With S3, this is a single request of at most 10 s, without retries.
    pub async fn read_once(&self, key: &ObjectKey<'_>) -> Result<Bytes> {
        Ok(self.pings.get(&self.path(key)?).await?.bytes().await?)
    }

    /// Deletes an object. It is no error if the object does not exist.
    pub async fn delete(&self, key: &ObjectKey<'_>) -> Result<()> {
        match self.objects.delete(&self.path(key)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the object at the path `prefix` and all objects below this path. Returns the number of deleted objects.
    pub async fn delete_prefix(&self, prefix: &str) -> Result<u64> {
        let path = self.path_of(prefix.trim_end_matches('/'))?;
        let mut removed = 0;
        if !prefix.ends_with('/') {
            match self.objects.delete(&path).await {
                Ok(()) => removed += 1,
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let listed = self.objects.list(Some(&path)).map(|meta| meta.map(|m| m.location)).boxed();
        let mut deletions = self.objects.delete_stream(listed);
        while let Some(deleted) = deletions.next().await {
            match deleted {
                Ok(_path) => removed += 1,
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(removed)
    }

    /// Checks that the store is reachable, and that its folder or bucket exists. With S3, this is a single request of at most
    /// 10 s, without retries.
    pub async fn ping(&self) -> Result<()> {
        if let Some(folder) = &self.folder {
            let is_folder = tokio::fs::metadata(folder).await?.is_dir();
            let problem = std::io::ErrorKind::NotADirectory;
            return if is_folder { Ok(()) } else { Err(std::io::Error::from(problem).into()) };
        }
        // A listing fails if the bucket does not exist. A response to HEAD would not say whether the bucket or only the object
        // is missing. The store has no objects below this path, so the response is short.
        self.pings.list(Some(&self.path_of("ping")?)).next().await.transpose()?;
        Ok(())
    }
}

/// The source of a read that can be resumed.
struct Object {
    objects: Arc<dyn ObjectStore>,
    path: Path,
    /// Entity tag of the object when the read began. A read is resumed only if the tag is the same, so that all bytes
    /// are from the same content.
    etag: Option<String>,
}

impl Reopen for Object {
    async fn reopen(&self, rest: Range<u64>) -> object_store::Result<Pieces> {
        let options = GetOptions { range: Some(rest.into()), if_match: self.etag.clone(), ..GetOptions::default() };
        Ok(self.objects.get_opts(&self.path, options).await?.into_stream())
    }
}

async fn write_parts(reader: &mut Take<tokio::fs::File>, writer: &mut WriteMultipart) -> Result<Stored> {
    let (mut size, mut crc) = (0, crc32fast::Hasher::new());
    let mut piece = vec![0; READ_BYTES];
    loop {
        let read = reader.read(&mut piece).await?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(Stored { size, crc32: crc.finalize() });
        };
        size += bytes.len() as u64;
        crc.update(bytes);
        writer.wait_for_capacity(PARTS_AT_ONCE).await?;
        writer.write(bytes);
    }
}
