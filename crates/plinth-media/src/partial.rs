//! Temporary files that get their final names after they are complete.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::MediaError;
use crate::system::ordinary_permissions;

const PREFIX: &str = ".plinth-";
const SUFFIX: &str = ".partial";

/// A file with a temporary name in the same folder as its target. When the value is dropped, the file is deleted.
///
/// The process locks the file while it exists. Other processes can therefore recognize files whose process was killed.
pub(crate) struct Partial {
    file: NamedTempFile,
    target: PathBuf,
    _listed: Listed,
}

impl Partial {
    /// Creates the temporary file.
    /// Errors: if the folder does not exist or is not writable, the target is a folder, or its name is not allowed.
    pub(crate) fn create(target: &Path) -> Result<Self, MediaError> {
        let fault = |source| MediaError::File { file: target.to_owned(), source };
        check_name(target)?;
        if target.is_dir() {
            return Err(fault(io::ErrorKind::IsADirectory.into()));
        }
        loop {
            // The returned error contains only the kind of the cause, because the message of the cause contains the
            // temporary name.
            let file = new_file(folder(target)).map_err(|error| fault(error.kind().into()))?;
            // Locking fails if the file system does not support locks. `remove_abandoned` then does not delete anything
            // either.
            drop(file.as_file().lock());
            // If another process deleted the file before it was locked, the loop creates another file.
            if file.path().exists() {
                let listed = Listed::new(file.path());
                return Ok(Self { file, target: target.to_owned(), _listed: listed });
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

    /// Renames the file to its target, which replaces an existing file. Returns the target path and the size in bytes.
    pub(crate) fn keep(self) -> Result<(PathBuf, u64), MediaError> {
        let fault = |source| MediaError::File { file: self.target.clone(), source };
        let size = self.file.as_file().metadata().map_err(fault)?.len();
        self.file.persist(&self.target).map_err(|e| fault(e.error))?;
        Ok((self.target, size))
    }
}

/// Writes several files. They get their final names after all of them are complete. Existing files are replaced.
/// Errors: if a folder does not exist or is not writable, the disk is full, or an existing file cannot be replaced. In this
/// case no file was written, and existing files are unchanged.
pub fn write_together(files: &[(PathBuf, &[u8])]) -> Result<(), MediaError> {
    let write = |(target, bytes): &(PathBuf, &[u8])| {
        remove_abandoned(target);
        let mut partial = Partial::create(target)?;
        let written = partial.file.write_all(bytes);
        written.map_err(|source| MediaError::File { file: target.clone(), source })?;
        Ok(partial)
    };
    let partials = files.iter().map(write).collect::<Result<Vec<Partial>, MediaError>>()?;
    let previous = partials.iter().map(|partial| Previous::save(&partial.target));
    let previous = previous.collect::<Result<Vec<Previous>, MediaError>>()?;
    for (count, partial) in partials.into_iter().enumerate() {
        if let Err(error) = partial.keep() {
            previous.into_iter().take(count).for_each(Previous::restore);
            return Err(error);
        }
    }
    Ok(())
}

/// What had the name of a target before [`write_together`] replaced it. When the value is dropped, the saved file is deleted.
struct Previous {
    target: PathBuf,
    /// A second name of the file, or a copy; `None` if there was no file.
    saved: Option<TempPath>,
}

impl Previous {
    fn save(target: &Path) -> Result<Self, MediaError> {
        let save = |path: &Path| {
            std::fs::hard_link(target, path).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists => Err(error),
                // Some file systems have no hard links, and some systems allow them only to the owner of the file.
                _ => std::fs::copy(target, path).map(drop).inspect_err(|_| drop(std::fs::remove_file(path))),
            })
        };
        let saved = match temporary_names().make_in(folder(target), save) {
            Ok(file) => Some(file.into_temp_path()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // The message of the cause contains the temporary name.
            Err(error) => return Err(MediaError::File { file: target.to_owned(), source: error.kind().into() }),
        };
        Ok(Self { target: target.to_owned(), saved })
    }

    fn restore(self) {
        // An error is ignored, because the error that made this necessary is the one to report.
        drop(match self.saved {
            Some(saved) => saved.persist(&self.target).map_err(|failed| failed.error),
            None => std::fs::remove_file(&self.target),
        });
    }
}

/// The temporary files and folders of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The entry of a file or folder in [`UNFINISHED`].
pub(crate) struct Listed(PathBuf);

/// Runs a function, which must be short. If a signal ends the process meanwhile, temporary files and folders are deleted
/// after the function has returned. The function must not create or delete any.
pub(crate) fn before_removal<R>(function: impl FnOnce() -> R) -> R {
    let _unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    function()
}

impl Listed {
    pub(crate) fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Deletes all output files and folders of this process that are not complete. Must be called only directly before the process
/// ends without waiting for its jobs. Jobs fail if their files are missing, and then wait for the end of the process.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in &*unfinished {
        // What cannot be deleted remains until another process deletes it (`remove_abandoned`).
        drop(if path.is_dir() { remove_folder(path) } else { std::fs::remove_file(path) });
    }
    // While the list is locked, a job that fails does not end, so that it cannot report its missing files and set the exit code.
    std::mem::forget(unfinished);
}

/// Deletes a folder to which threads of this process may still write.
fn remove_folder(folder: &Path) -> io::Result<()> {
    // Under another name, the folder receives no more files, which would prevent its deletion.
    let renamed = folder.with_extension(format!("removed.{}", folder.extension().unwrap_or_default().display()));
    std::fs::rename(folder, &renamed)?;
    std::fs::remove_dir_all(renamed)
}

/// Deletes the temporary files in the folder of `target` whose processes have ended.
pub(crate) fn remove_abandoned(target: &Path) {
    let Ok(entries) = std::fs::read_dir(folder(target)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !(name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            // If this process is not allowed to delete the file, the file remains until a process of its owner deletes
            // it.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// Checks that the system accepts a path as a name, which may be too long, for example. Otherwise a finished render would
/// be lost when its file gets this name.
pub(crate) fn check_name(target: &Path) -> Result<(), MediaError> {
    match target.symlink_metadata() {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(MediaError::File { file: target.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Returns the folder that contains a file.
pub(crate) fn folder(target: &Path) -> &Path {
    target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = temporary_names();
    ordinary_permissions(&mut builder);
    builder.tempfile_in(folder)
}

fn temporary_names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(10);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.mp4");
        let living = Partial::create(&target).unwrap();
        let dead = folder.path().join(".plinth-0123456789.partial");
        let foreign = folder.path().join(".plinth-notes");
        std::fs::write(&dead, b"half a video").unwrap();
        std::fs::write(&foreign, b"somebody's own").unwrap();
        remove_abandoned(&target);
        assert!(living.path().exists());
        assert!(!dead.exists());
        assert!(foreign.exists());
        std::fs::write(living.path(), b"a video").unwrap();
        assert_eq!(living.keep().unwrap(), (target.clone(), 7));
        assert_eq!(std::fs::read(&target).unwrap(), b"a video");
    }

    #[test]
    fn files_that_belong_together_are_written_all_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::create_dir(&second).unwrap();
        assert!(write_together(&[(first.clone(), b"1"), (second.clone(), b"2")]).is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "only the folder b is left");
        std::fs::remove_dir(&second).unwrap();
        std::fs::write(&first, "old").unwrap();
        write_together(&[(first.clone(), b"1"), (second.clone(), b"2")]).unwrap();
        assert_eq!((std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap()), (b"1".to_vec(), b"2".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_as_before_if_one_of_them_cannot_get_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (replaced, new) = (folder.path().join("replaced"), folder.path().join("new"));
        std::fs::write(&replaced, "old").unwrap();
        // A file cannot get a name that ends with a slash.
        let impossible = folder.path().join("impossible/");
        let files: [(PathBuf, &[u8]); 3] = [(replaced.clone(), b"1"), (new, b"2"), (impossible.clone(), b"3")];
        let error = write_together(&files).unwrap_err();
        assert!(matches!(error, MediaError::File { file, .. } if file == impossible));
        assert_eq!(std::fs::read(&replaced).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "only the file that existed is left");
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
