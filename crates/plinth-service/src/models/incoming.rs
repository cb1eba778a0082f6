//! Files that are being received. Each chunk is written to disk and hashed at once, so that no file is kept in memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plinth_spec::ErrorCode;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::disk_reserve::DiskReserve;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::hash::file_sha256;

/// Prefix of the names of files that are being received.
const PREFIX: &str = "plinth-incoming-";
/// Minimum age at which a file without a lock is deleted. A new file has no lock for a moment between its creation and
/// its locking.
const LOCK_TIME: Duration = Duration::from_secs(10);
/// Number of bytes of a file after which the free space of the disks is measured again. Otherwise files that are received at the same
/// time could together use up the space that was free when each of them began.
const MEASURED_EVERY_BYTES: u64 = 16 << 20;

/// A temporary file that is being received. Deleted on drop.
#[derive(Debug)]
pub struct Incoming {
    file: NamedTempFile,
    writer: tokio::fs::File,
    hash: Sha256,
    size: u64,
    limit: u64,
    /// Permits that limit how many files an account sends at once, and their size; `None` for small texts.
    permits: Option<Permits>,
    reserve: DiskReserve,
}

/// Permits for the number and the size of files. Several files of one form share them.
pub(crate) type Permits = Arc<[FairPermit; 2]>;

/// A temporary file that was received completely. Deleted on drop.
#[derive(Debug)]
pub(crate) struct ReceivedFile {
    file: NamedTempFile,
    #[expect(dead_code, reason = "the permits are released on drop")]
    permits: Option<Permits>,
    pub size: u64,
    pub sha256: String,
}

impl Incoming {
    /// Creates an empty file in a folder.
    pub(crate) fn new(folder: &Path, limit: u64, permits: Option<Permits>, reserve: DiskReserve) -> Result<Self> {
        let file = new_file(folder)?;
        let writer = tokio::fs::File::from_std(file.reopen()?);
        Ok(Self { file, writer, hash: Sha256::new(), size: 0, limit, permits, reserve })
    }

    /// Appends a chunk.
    /// Errors: `file_too_large` as soon as the size exceeds the limit; `rate_limited` if a disk has become almost full.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.size;
        self.size += bytes.len() as u64;
        if self.size > self.limit {
            let message = format!("the file is larger than {} bytes", self.limit);
            return Err(ServiceError::new(ErrorCode::FileTooLarge, message));
        }
        if before / MEASURED_EVERY_BYTES < self.size / MEASURED_EVERY_BYTES {
            self.reserve.check()?;
        }
        self.hash.update(bytes);
        Ok(self.writer.write_all(bytes).await?)
    }

    /// Limits the file to `bytes` bytes, which is its size, and releases the space that was reserved for a larger file.
    pub(crate) fn limit_to(&mut self, bytes: u64) {
        self.limit = self.limit.min(bytes);
        // The files of a form share their reservation, so the space of one of them cannot be released.
        if let Some([_number, room]) = self.permits.as_mut().and_then(Arc::get_mut) {
            room.shrink_to(bytes);
        }
    }

    /// Returns the number of bytes received so far.
    pub const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) async fn finish(mut self) -> Result<ReceivedFile> {
        self.writer.flush().await?;
        Ok(ReceivedFile {
            file: self.file,
            permits: self.permits,
            size: self.size,
            sha256: hex::encode(self.hash.finalize()),
        })
    }
}

impl ReceivedFile {
    /// Returns the path of the temporary file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Hashes a file that this process has created, for example by converting a ZIP.
    pub(crate) fn from_file(file: NamedTempFile) -> Result<Self> {
        let (sha256, size) = file_sha256(file.path())?;
        Ok(Self { file, permits: None, size, sha256 })
    }
}

/// Creates a temporary file in the folder for received files. The file is deleted on drop. Until then it is locked, so
/// that [`remove_orphans`] does not delete it.
pub(crate) fn new_file(folder: &Path) -> Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
    file.as_file().lock()?;
    Ok(file)
}

/// Deletes the temporary files of processes that were killed. Returns the number of deleted files.
pub(crate) fn remove_orphans(folder: &Path) -> std::io::Result<usize> {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Opening may fail, because another process may delete the file at any time.
        let (true, Ok(file)) = (is_ours, File::open(entry.path())) else { continue };
        let age = file.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > LOCK_TIME)
            && file.try_lock().is_ok()
            && std::fs::remove_file(entry.path()).is_ok()
        {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use futures_util::FutureExt as _;
    use plinth_spec::id::{AccountId, LENGTH};

    use super::*;
    use crate::fair_semaphore::FairSemaphore;

    #[tokio::test]
    async fn a_file_occupies_only_the_space_of_its_size_once_the_size_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (numbers, rooms) = (FairSemaphore::new(16, 16), FairSemaphore::new(10, 10));
        let account = AccountId::parse(&"a".repeat(LENGTH)).unwrap();
        let permits = [numbers.acquire(&account, 1).await.unwrap(), rooms.acquire(&account, 10).await.unwrap()];
        let reserve = DiskReserve::of(folder.path(), 0);
        let mut file = Incoming::new(folder.path(), 10, Some(Arc::new(permits)), reserve).unwrap();
        assert!(rooms.acquire(&account, 1).now_or_never().is_none());
        file.limit_to(3);
        let rest = rooms.acquire(&account, 7).now_or_never();
        assert!(rest.is_some_and(|permit| permit.is_ok()));
        file.write(b"abc").await.unwrap();
        assert_eq!(file.write(b"d").await.unwrap_err().code, ErrorCode::FileTooLarge);
    }

    #[tokio::test]
    async fn a_file_is_rejected_when_the_disk_becomes_full_while_it_is_received() {
        let folder = tempfile::tempdir().unwrap();
        let begin =
            |bytes| Incoming::new(folder.path(), u64::MAX, None, DiskReserve::of(folder.path(), bytes)).unwrap();
        let piece = vec![0; 1 << 20];
        for (reserved, written) in [(0, 17), (u64::MAX, 15)] {
            let mut file = begin(reserved);
            for _piece in 0..written {
                file.write(&piece).await.unwrap();
            }
            let last = file.write(&piece).await.map_err(|error| error.code);
            assert_eq!(last.is_err(), reserved > 0, "{last:?}");
        }
    }

    #[test]
    fn orphaned_files_are_deleted_and_locked_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at_work = new_file(folder.path()).unwrap();
        let orphan = folder.path().join(format!("{PREFIX}orphan"));
        let fresh = folder.path().join(format!("{PREFIX}fresh"));
        let other = folder.path().join("other");
        for path in [&orphan, &fresh, &other] {
            std::fs::write(path, "x").unwrap();
        }
        for path in [at_work.path(), &orphan, &other] {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - 2 * LOCK_TIME).unwrap();
        }
        assert_eq!(remove_orphans(folder.path()).unwrap(), 1);
        assert!(!orphan.exists() && at_work.path().exists() && fresh.exists() && other.exists());
    }
}
