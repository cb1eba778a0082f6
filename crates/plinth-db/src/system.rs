//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::fs::File;
use std::io;
use std::path::Path;

/// Creates an empty file for a SQLite database. Only its owner can read it, because a database contains secrets. SQLite
/// gives its log the same permissions. On Windows, who can read the file is inherited from its folder.
/// Errors: the file exists, or cannot be created.
pub fn create_sqlite_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
