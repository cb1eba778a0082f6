//! Temporary files that get their final names after they are complete.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::MediaError;
use crate::system::ordinary_permissions;

const PREFIX: &str = ".plinth-";
/// End of the names of files that are not complete.
const SUFFIX: &str = ".partial";
/// End of the names of files that are being replaced. [`remove_abandoned`] leaves them alone, because such a file can be
/// the only copy.
const PREVIOUS: &str = ".previous";

/// A file with a temporary name in the same folder as its target. When the value is dropped, the file is deleted.
///
/// The process locks the file while it exists. Other processes can therefore recognize files whose process was killed.
pub(crate) struct Partial {
    file: NamedTempFile,
    target: PathBuf,
    listed: Listed,
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
            let (file, listed) = Listed::of_new_file(folder(target)).map_err(|error| fault(error.kind().into()))?;
            // Locking fails if the file system does not support locks. `remove_abandoned` then does not delete anything
            // either.
            drop(file.as_file().lock());
            // If another process deleted the file before it was locked, the loop creates another file.
            if file.path().exists() {
                return Ok(Self { file, target: target.to_owned(), listed });
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
        let Self { file, target, listed: _listed } = self;
        rename(file, target)
    }
}

/// Renames a file to its target, which replaces an existing file. Returns the target and the size of the file in bytes.
fn rename(file: NamedTempFile, target: PathBuf) -> Result<(PathBuf, u64), MediaError> {
    let fault = |source| MediaError::File { file: target.clone(), source };
    let size = file.as_file().metadata().map_err(fault)?.len();
    file.persist(&target).map_err(|e| fault(e.error))?;
    Ok((target, size))
}

/// Writes several files. They get their final names after all of them are complete. Existing files are replaced.
/// Errors: if a folder does not exist or is not writable, the disk is full, or an existing file cannot be replaced. In this
/// case no file was written, and existing files are unchanged; the message names those that could not be restored, with the
/// names that the previous files have now.
pub fn write_together(files: &[(PathBuf, &[u8])]) -> Result<(), MediaError> {
    let write = |(target, bytes): &(PathBuf, &[u8])| {
        remove_abandoned(target);
        let mut partial = Partial::create(target)?;
        let written = partial.file.write_all(bytes);
        written.map_err(|source| MediaError::File { file: target.clone(), source })?;
        Ok(partial)
    };
    let partials = files.iter().map(write).collect::<Result<Vec<Partial>, MediaError>>()?;
    keep_together(partials).map(drop)
}

/// Renames files to their targets, which replaces existing files. Returns each target with the size of its file in bytes.
/// Errors: if a file cannot get its name. In this case no target has a new file, and existing files are unchanged; the
/// message names those that could not be restored, with the names that the previous files have now.
pub(crate) fn keep_together(partials: Vec<Partial>) -> Result<Vec<(PathBuf, u64)>, MediaError> {
    let (files, _listed): (Vec<_>, Vec<Listed>) =
        partials.into_iter().map(|Partial { file, target, listed }| ((file, target), listed)).unzip();
    // A signal that ended the process between two files would leave one of them new and one old.
    before_removal(|| rename_together(files, hard_link))
}

/// A function that gives a file a second name.
type Link = fn(&Path, &Path) -> io::Result<()>;

fn hard_link(file: &Path, name: &Path) -> io::Result<()> {
    std::fs::hard_link(file, name)
}

fn rename_together(files: Vec<(NamedTempFile, PathBuf)>, link: Link) -> Result<Vec<(PathBuf, u64)>, MediaError> {
    let last = files.len().saturating_sub(1);
    let (mut kept, mut replaced) = (Vec::new(), Vec::<Previous>::new());
    for (at, (file, target)) in files.into_iter().enumerate() {
        // No other file can fail after the last one has its name, so what the last one replaces is not saved.
        let previous = (at < last).then(|| Previous::save(&target, link));
        match rename(file, target) {
            Ok(file) => kept.push(file),
            Err(error) => {
                let own = previous.and_then(Previous::put_back);
                let others = replaced.into_iter().filter_map(Previous::restore);
                return Err(not_restored(error, &own.into_iter().chain(others).collect::<Vec<String>>()));
            }
        }
        replaced.extend(previous);
    }
    replaced.into_iter().for_each(Previous::discard);
    Ok(kept)
}

/// Adds the files that could not be restored to an error.
fn not_restored(error: MediaError, lost: &[String]) -> MediaError {
    match error {
        MediaError::File { file, source } if !lost.is_empty() => {
            let message = format!("{source}; files that could not be restored: {}", lost.join(", "));
            MediaError::File { file, source: io::Error::new(source.kind(), message) }
        }
        other => other,
    }
}

/// What had the name of a target before [`rename_together`] replaced it.
struct Previous {
    target: PathBuf,
    saved: Saved,
}

/// The file that had the name of a target.
enum Saved {
    /// There was no file.
    Nothing,
    /// The file has this name, too.
    Linked(PathBuf),
    /// The file has this name instead. Some file systems have no hard links, and some systems allow them only to the owner
    /// of the file. A copy would take long and need space.
    Moved(PathBuf),
    /// The file could not be saved. This does not end the render, because the file is only needed if a later one cannot get
    /// its name.
    Failed,
}

impl Previous {
    fn save(target: &Path, link: Link) -> Self {
        Self { target: target.to_owned(), saved: save(target, link) }
    }

    /// Undoes [`Self::save`] after the target could not be replaced. Returns the target in words if this fails.
    fn put_back(self) -> Option<String> {
        if matches!(self.saved, Saved::Moved(_)) {
            return self.restore();
        }
        self.discard();
        None
    }

    /// Gives the target back what had its name. If this fails, returns the target in words, with the name that the previous
    /// file has now.
    fn restore(self) -> Option<String> {
        let target = self.target.display();
        match &self.saved {
            Saved::Nothing => std::fs::remove_file(&self.target).is_err().then(|| target.to_string()),
            Saved::Linked(path) | Saved::Moved(path) => {
                let restored = std::fs::rename(path, &self.target);
                restored.is_err().then(|| format!("{target} (the previous file is {})", path.display()))
            }
            Saved::Failed => Some(target.to_string()),
        }
    }

    /// Deletes the saved file, which is not needed any more.
    fn discard(self) {
        if let Saved::Linked(path) | Saved::Moved(path) = self.saved {
            drop(std::fs::remove_file(path));
        }
    }
}

/// Gives the file that has the name of a target a second name or, if that is not possible, another one.
fn save(target: &Path, link: Link) -> Saved {
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Saved::Nothing,
        // A folder must not get another name, because then a file could replace it.
        Ok(existing) if existing.is_dir() => return Saved::Failed,
        _ => {}
    }
    let set_aside = |path: &Path| match link(target, path) {
        Ok(()) => Ok(Saved::Linked(path.to_owned())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => Err(error),
        Err(_) => std::fs::rename(target, path).map(|()| Saved::Moved(path.to_owned())),
    };
    let saved = temporary_names(PREVIOUS).disable_cleanup(true).make_in(folder(target), set_aside);
    saved.map_or(Saved::Failed, |file| file.into_parts().0)
}

/// The temporary files and folders of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The entry of a file or folder in [`UNFINISHED`].
pub(crate) struct Listed(PathBuf);

/// Runs a function, which must be short. If a signal ends the process meanwhile, temporary files and folders are deleted
/// after the function has returned. The function must not create or drop a [`Listed`], which would wait for its end.
pub(crate) fn before_removal<R>(function: impl FnOnce() -> R) -> R {
    let _unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    function()
}

impl Listed {
    /// Creates a temporary file. A signal at any time deletes it, because it is listed before the list can be read.
    fn of_new_file(folder: &Path) -> io::Result<(NamedTempFile, Self)> {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let file = new_file(folder)?;
        let path = file.path().to_owned();
        unfinished.insert(path.clone());
        Ok((file, Self(path)))
    }

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

/// Creates a file with a temporary name, which is deleted when the value is dropped.
pub(crate) fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = temporary_names(SUFFIX);
    ordinary_permissions(&mut builder);
    builder.tempfile_in(folder)
}

fn temporary_names(suffix: &'static str) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(suffix).rand_bytes(10);
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

    #[test]
    fn the_error_names_files_that_could_not_be_restored() {
        let folder = tempfile::tempdir().unwrap();
        let (restored, unsaved) = (folder.path().join("restored"), folder.path().join("unsaved"));
        std::fs::write(&restored, "new").unwrap();
        let file = folder.path().join("b");
        let previous = [
            Previous { target: restored.clone(), saved: Saved::Nothing },
            Previous { target: unsaved, saved: Saved::Failed },
        ];
        let lost: Vec<String> = previous.into_iter().filter_map(Previous::restore).collect();
        assert!(!restored.exists());
        let error = not_restored(MediaError::File { file, source: io::ErrorKind::IsADirectory.into() }, &lost);
        let message = error.to_string();
        assert!(message.contains("b cannot be written: ") && message.contains("unsaved"), "{message}");
        assert!(!message.contains("/restored"), "{message}");
    }

    /// A file system without hard links.
    fn no_links(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[test]
    fn a_file_that_cannot_be_restored_remains_under_the_name_in_the_message() {
        for link in [hard_link, no_links] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("a.mp4");
            std::fs::write(&target, "old").unwrap();
            let previous = Previous::save(&target, link);
            drop(std::fs::remove_file(&target));
            std::fs::create_dir_all(target.join("in the place of the new file")).unwrap();
            let words = previous.restore().unwrap();
            // The next render in this folder keeps the file.
            remove_abandoned(&target);
            let mut paths = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let saved = paths.find(|path| *path != target).unwrap();
            assert_eq!(std::fs::read(&saved).unwrap(), b"old");
            assert!(words.contains(&saved.display().to_string()), "{words}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_are_replaced_all_or_none_without_hard_links() {
        let folder = tempfile::tempdir().unwrap();
        let targets = ["a", "b", "c"].map(|name| folder.path().join(name));
        for target in &targets {
            std::fs::write(target, "old").unwrap();
        }
        let new_files = || -> Vec<(NamedTempFile, PathBuf)> {
            targets.iter().map(|target| (new_file(folder.path()).unwrap(), target.clone())).collect()
        };
        let contents = || targets.clone().map(|target| std::fs::read_to_string(target).unwrap());
        let files = new_files();
        // A file that is missing cannot get its name, and the previous file has another one already.
        std::fs::remove_file(files[1].0.path()).unwrap();
        assert!(rename_together(files, no_links).is_err());
        assert_eq!(contents(), ["old"; 3]);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
        rename_together(new_files(), no_links).unwrap();
        assert_eq!(contents(), [""; 3]);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "no temporary file is left");
    }

    #[test]
    fn a_folder_keeps_its_name_and_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.mp4");
        std::fs::create_dir(&target).unwrap();
        let files = [&target, &folder.path().join("b")].map(|to| (new_file(folder.path()).unwrap(), to.clone()));
        assert!(rename_together(files.into(), no_links).is_err());
        assert!(target.is_dir());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "only the folder is left");
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
