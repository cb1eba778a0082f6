//! The space that uploads leave free on the disks of received and stored files.

use std::path::{Path, PathBuf};

use plinth_spec::ErrorCode;

use crate::error::{Result, ServiceError};
use crate::service::Service;
use crate::system::free_bytes;

/// Time in seconds after which a client may send a file again that was rejected because a disk is full.
const RETRY_SECS: u64 = 60;

/// Disks on which uploads leave space for other files, such as those of renders.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskReserve {
    folders: Vec<PathBuf>,
    bytes: u64,
}

impl DiskReserve {
    /// Checks that the disks have at least the reserved space free.
    /// Errors: `rate_limited` if one of them has less.
    pub(crate) fn check(&self) -> Result<()> {
        // If a disk cannot be measured, files are accepted: writing to the disk then returns an error with the cause.
        let is_full = |folder: &&PathBuf| free_bytes(folder).is_ok_and(|free| free < self.bytes);
        let Some(full) = self.folders.iter().find(is_full) else { return Ok(()) };
        tracing::error!(folder = %full.display(), "a disk has less free space than disk_reserve_mb; files are rejected");
        let error = ServiceError::new(ErrorCode::RateLimited, "the server has no room for files; try again later");
        Err(ServiceError { retry_after_secs: Some(RETRY_SECS), ..error })
    }
}

#[cfg(test)]
impl DiskReserve {
    pub(crate) fn of(folder: &Path, bytes: u64) -> Self {
        Self { folders: vec![folder.to_owned()], bytes }
    }
}

impl Service {
    pub(crate) fn disk_reserve(&self) -> DiskReserve {
        let folders = [Some(self.options.incoming.as_path()), self.store.folder()];
        let folders = folders.into_iter().flatten().map(Path::to_owned).collect();
        DiskReserve { folders, bytes: self.options.reserve_bytes }
    }
}
