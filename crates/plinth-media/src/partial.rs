//! Temporary files that are renamed when they are complete.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::MediaError;

const PREFIX: &str = ".plinth-";
const SUFFIX: &str = ".partial";

/// File under a temporary name in the folder of its target. Dropping it removes the file.
///
/// This process keeps the file locked, so that later runs can recognize the files of killed processes.
pub(crate) struct Partial {
    file: NamedTempFile,
    target: PathBuf,
}

impl Partial {
    /// Creates the temporary file.
    /// Errors: the folder is missing or not writable, or the target is a folder.
    pub(crate) fn create(target: &Path) -> Result<Self, MediaError> {
        let fault = |source| MediaError::File { file: target.to_owned(), source };
        if target.is_dir() {
            return Err(fault(std::io::ErrorKind::IsADirectory.into()));
        }
        loop {
            // Keeps only the kind of the error, because its message contains the temporary name.
            let file = new_file(folder(target)).map_err(|error| fault(error.kind().into()))?;
            // If the file system has no locks, `sweep` does not remove anything either.
            drop(file.as_file().lock());
            // Another process may have removed the file before it was locked.
            if file.path().exists() {
                return Ok(Self { file, target: target.to_owned() });
            }
        }
    }

    /// Returns the path of the temporary file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the final path.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Renames the file to its target, replacing an existing file. Returns the path and the size in bytes.
    pub(crate) fn keep(self) -> Result<(PathBuf, u64), MediaError> {
        let fault = |source| MediaError::File { file: self.target.clone(), source };
        let size = self.file.as_file().metadata().map_err(fault)?.len();
        self.file.persist(&self.target).map_err(|e| fault(e.error))?;
        Ok((self.target, size))
    }
}

/// Removes temporary files beside `target` whose process is dead.
pub(crate) fn sweep(target: &Path) {
    let Ok(entries) = std::fs::read_dir(folder(target)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !(name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            // Without permission, the file remains for its owner to remove.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// Returns the folder of a file.
pub(crate) fn folder(target: &Path) -> &Path {
    target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn new_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(10);
    // Permissions of an ordinary new file instead of the restrictive ones of a temporary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweep_removes_only_files_of_dead_processes() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.mp4");
        let living = Partial::create(&target).unwrap();
        let dead = folder.path().join(".plinth-0123456789.partial");
        let foreign = folder.path().join(".plinth-notes");
        std::fs::write(&dead, b"half a video").unwrap();
        std::fs::write(&foreign, b"somebody's own").unwrap();
        sweep(&target);
        assert!(living.path().exists());
        assert!(!dead.exists());
        assert!(foreign.exists());
        std::fs::write(living.path(), b"a video").unwrap();
        assert_eq!(living.keep().unwrap(), (target.clone(), 7));
        assert_eq!(std::fs::read(&target).unwrap(), b"a video");
    }

    #[cfg(unix)]
    #[test]
    fn a_kept_file_has_the_mode_of_an_ordinary_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (plain, target) = (folder.path().join("plain"), folder.path().join("a.mp4"));
        std::fs::write(&plain, b"").unwrap();
        Partial::create(&target).unwrap().keep().unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&plain));
    }
}
