//! The space that uploads leave free on the disks of received and stored files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plinth_spec::ErrorCode;

use crate::error::{Result, ServiceError};
use crate::service::Service;
use crate::system::free_bytes;

/// Disks on which uploads leave space for other files, such as those of renders.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskReserve {
    folders: Vec<PathBuf>,
    bytes: u64,
    /// Number of bytes that are being copied to the store. The copies may still need this space.
    copying: Arc<AtomicU64>,
}

/// Space for files that are being copied to the store. Given back on drop.
#[derive(Debug)]
pub(crate) struct CopySpace {
    copying: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for CopySpace {
    fn drop(&mut self) {
        self.copying.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl DiskReserve {
    /// Checks that the disks have at least the reserved space free, and the space for the files that are being copied to the store.
    /// Errors: `rate_limited` if one of them has less.
    pub(crate) fn check(&self) -> Result<()> {
        let needed = self.bytes.saturating_add(self.copying.load(Ordering::Relaxed));
        // If a disk cannot be measured, files are accepted: writing to the disk then returns an error with the cause.
        let is_full = |folder: &&PathBuf| free_bytes(folder).is_ok_and(|free| free < needed);
        let Some(full) = self.folders.iter().find(is_full) else { return Ok(()) };
        tracing::error!(folder = %full.display(), "a disk has less free space than disk_reserve_mb; files are rejected");
        Err(ServiceError::no_room(ErrorCode::RateLimited))
    }

    /// Reserves space for files that are copied to the store, which have `bytes` bytes together. Copies that begin at the same time
    /// cannot use the same space.
    /// Errors: `rate_limited` if a disk would then have less than the reserved space free.
    pub(crate) fn space_for_copy(&self, bytes: u64) -> Result<CopySpace> {
        self.copying.fetch_add(bytes, Ordering::Relaxed);
        let space = CopySpace { copying: Arc::clone(&self.copying), bytes };
        self.check().map(|()| space)
    }
}

#[cfg(test)]
impl DiskReserve {
    pub(crate) fn of(folder: &Path, bytes: u64) -> Self {
        Self { folders: vec![folder.to_owned()], bytes, copying: Arc::default() }
    }
}

impl Service {
    pub(crate) fn disk_reserve(&self) -> DiskReserve {
        let folders = [Some(self.options.incoming.as_path()), self.store.folder()];
        let folders = folders.into_iter().flatten().map(Path::to_owned).collect();
        DiskReserve { folders, bytes: self.options.reserve_bytes, copying: Arc::clone(&self.copying) }
    }

    /// Reserves space on the disk of a local store for copies of files.
    /// Errors: `rate_limited` if a disk is almost full; internal if a file cannot be read.
    pub(crate) fn space_for_files<'f>(&self, files: impl Iterator<Item = &'f Path>) -> Result<CopySpace> {
        let mut bytes = 0;
        if self.store.folder().is_some() {
            for file in files {
                bytes += file.metadata()?.len();
            }
        }
        self.disk_reserve().space_for_copy(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_begin_at_the_same_time_cannot_use_the_same_space() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = DiskReserve::of(folder.path(), 0);
        let most = free_bytes(folder.path()).unwrap() / 4 * 3;
        let first = reserve.space_for_copy(most).unwrap();
        assert_eq!(reserve.space_for_copy(most).unwrap_err().code, ErrorCode::RateLimited);
        reserve.check().unwrap();
        drop(first);
        drop(reserve.space_for_copy(most).unwrap());
    }
}
