//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Creates an empty file for a SQLite database. Only its owner can read it, because a database contains secrets. SQLite
/// gives its log the same permissions. On Windows, who can read the file is inherited from its folder.
/// Errors: the file exists, or cannot be created.
pub fn create_sqlite_file(path: &Path) -> io::Result<File> {
    for_owner(File::options().write(true).create_new(true)).open(path)
}

/// Opens a lock file, and creates it if it does not exist. Only its owner can open it, because whoever can open it can hold
/// the lock.
/// Errors: the file cannot be opened.
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    for_owner(File::options().read(true).append(true).create(true)).open(path)
}

/// Returns what distinguishes a file from all other files that exist at the same time: its device, and its number on this device.
#[cfg(unix)]
pub(crate) fn file_id(file: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (file.dev(), file.ino())
}

/// Returns the same for all files, because Windows does not let the file of an open database be replaced.
#[cfg(not(unix))]
pub(crate) fn file_id(_file: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Makes the options create files that only their owner can open.
fn for_owner(options: &mut OpenOptions) -> &OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
