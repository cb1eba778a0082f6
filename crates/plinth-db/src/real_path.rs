//! The path of a SQLite database without symbolic links.

use std::io;
use std::path::{Path, PathBuf};

/// Resolves the symbolic links in the path of a SQLite database that may not exist yet, so that all paths to it have one lock.
/// Errors: the folder of the database does not exist, or is not accessible.
pub fn real_path(file: &Path) -> io::Result<PathBuf> {
    match file.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match file.read_link() {
        // SQLite will create the file to which this link leads.
        Ok(target) => real_path(&folder.join(target)),
        Err(_no_link) => Ok(folder.canonicalize()?.join(file.file_name().unwrap_or_default())),
    }
}
