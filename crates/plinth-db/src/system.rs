//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::fs::{File, OpenOptions};
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

/// Makes the options create files that only their owner can open.
fn for_owner(options: &mut OpenOptions) -> &OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
