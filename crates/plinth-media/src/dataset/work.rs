//! The temporary folder in which a dataset is written until it is complete. It is next to the path of the finished
//! dataset, or in it if that is an existing folder: the existing folder may be on another file system than its parent,
//! and several paths may lead to it.
//!
//! The name of the temporary folder contains a hash of everything that affects the dataset. If the process is killed, a
//! later run with the same settings resumes its work. The process locks the folder while it runs. It deletes the folder
//! after a failure or cancellation.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use plinth_spec::DatasetLayer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::FileEntry;
use super::layout::{COLMAP, MANIFEST};
use super::points::{POINT_BYTES, Point};
use super::view::EncodedView;
use crate::MediaError;
use crate::partial::{Listed, before_removal, folder};

const PREFIX: &str = ".plinth-";
const SUFFIX: &str = ".work";
const LOCK: &str = "lock";
/// Folder with one record for each finished view. The folder is not part of the dataset.
const VIEWS: &str = "views";
const TILES: &str = "tiles";
const POINTS: &str = "points";
const SET: &str = "set";
/// An unfinished dataset is deleted if no run has continued it for this long.
const ABANDONED_AFTER: Duration = Duration::from_hours(24);
/// Maximum wait for the lock of a temporary folder. A process in [`remove_abandoned`] locks the folders of other processes
/// for a moment.
const LOCK_WAIT: Duration = Duration::from_millis(200);
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// Record of a finished view: its files with their hashes.
#[derive(Serialize, Deserialize)]
struct Finished {
    files: Vec<FileEntry>,
    tiles: FileEntry,
    points: FileEntry,
}

/// The temporary folder of an unfinished dataset.
pub(crate) struct WorkFolder {
    root: PathBuf,
    target: PathBuf,
    lock: File,
    _listed: Listed,
}

impl WorkFolder {
    /// Opens the temporary folder for this target and key. Views that an earlier run finished are reused. Abandoned
    /// folders of processes that have ended are deleted.
    /// Errors: if the folder cannot be created, or another process uses it.
    pub(crate) fn open(target: &Path, key: &str) -> Result<Self, MediaError> {
        let fault = |source: io::Error| MediaError::File { file: target.to_owned(), source };
        let (place, owner) = place_of(target);
        let digest = Sha256::digest(format!("{owner}\n{key}"));
        let name = hex::encode(&digest[..8]);
        let root = place.join(format!("{PREFIX}{name}{SUFFIX}"));
        remove_abandoned(place, &owner, &root);
        loop {
            // The returned error contains only the kind of the cause, because the message of the cause contains the
            // temporary name.
            fs::create_dir_all(&root).map_err(|error| fault(error.kind().into()))?;
            let lock_path = root.join(LOCK);
            let mut lock = match File::options().create(true).append(true).open(&lock_path) {
                // Another process deleted the folder between its creation and this call.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| fault(error.kind().into()))?,
            };
            // If the file system does not support locks, this process continues without a lock. [`remove_abandoned`]
            // does not delete folders on such a file system.
            if is_in_use(&lock, LOCK_WAIT) {
                return Err(MediaError::Busy { file: target.to_owned() });
            }
            if !lock_path.exists() {
                continue;
            }
            lock.set_len(0).and_then(|()| lock.write_all(owner.as_bytes())).map_err(fault)?;
            let listed = Listed::new(&root);
            let work = Self { root, target: target.to_owned(), lock, _listed: listed };
            let folders = DatasetLayer::NAMES.iter().copied().chain([COLMAP]);
            let inside = [VIEWS, TILES, POINTS].map(PathBuf::from).into_iter();
            for inner in inside.chain(folders.map(|folder| Path::new(SET).join(folder))) {
                fs::create_dir_all(work.root.join(inner)).map_err(fault)?;
            }
            return Ok(work);
        }
    }

    /// Returns the folder that contains the dataset's files.
    pub(crate) fn set(&self) -> PathBuf {
        self.root.join(SET)
    }

    /// Returns the indices of the unfinished views. If the files of a view differ from its record, the view counts as
    /// unfinished.
    pub(crate) fn missing(&self, views: usize) -> Vec<u32> {
        use rayon::prelude::*;
        (0..views).into_par_iter().filter(|view| !self.is_whole(*view)).map(|view| view as u32).collect()
    }

    fn is_whole(&self, view: usize) -> bool {
        self.finished(view).is_some_and(|noted| {
            noted.files.iter().all(|file| file.is_stored_in(&self.set()))
                && noted.tiles.is_stored_in(&self.root)
                && noted.points.is_stored_in(&self.root)
        })
    }

    fn finished(&self, view: usize) -> Option<Finished> {
        serde_json::from_slice(&fs::read(self.root.join(note_path(view))).ok()?).ok()
    }

    /// Writes the files of a view, then the record that marks the view as finished.
    pub(crate) fn finish_view(&self, view: usize, encoded: EncodedView) -> Result<(), MediaError> {
        let mut files = Vec::new();
        for (path, content) in encoded.files {
            files.push(self.write_set(path, &content)?);
        }
        let points: Vec<u8> = encoded.points.iter().flat_map(Point::row).collect();
        let noted = Finished {
            files,
            tiles: self.write(tiles_path(view), &encoded.tiles)?,
            points: self.write(points_path(view), &points)?,
        };
        let note = serde_json::to_vec(&noted).map_err(|error| self.fault(error.into()))?;
        let fresh = self.root.join(format!("{VIEWS}/{view:04}.new"));
        fs::write(&fresh, note).map_err(|error| self.fault(error))?;
        fs::rename(&fresh, self.root.join(note_path(view))).map_err(|error| self.fault(error))
    }

    /// Writes a file that describes the whole dataset.
    pub(crate) fn write_set(&self, path: String, content: &[u8]) -> Result<FileEntry, MediaError> {
        fs::write(self.set().join(&path), content).map_err(|error| self.fault(error))?;
        Ok(FileEntry::of(path, content))
    }

    fn write(&self, path: String, content: &[u8]) -> Result<FileEntry, MediaError> {
        fs::write(self.root.join(&path), content).map_err(|error| self.fault(error))?;
        Ok(FileEntry::of(path, content))
    }

    /// Returns the files of all views.
    /// Errors: if a view is unfinished.
    pub(crate) fn view_files(&self, views: usize) -> Result<Vec<FileEntry>, MediaError> {
        let mut files = Vec::new();
        for view in 0..views {
            let problem = || MediaError::Frames { problem: format!("view {view} of {views} is missing") };
            files.extend(self.finished(view).ok_or_else(problem)?.files);
        }
        Ok(files)
    }

    /// Returns the tiles that show a view in the overview image.
    pub(crate) fn tiles(&self, view: usize) -> Result<Vec<u8>, MediaError> {
        fs::read(self.root.join(tiles_path(view))).map_err(|error| self.fault(error))
    }

    /// Returns the surface points of all views, as vertex rows of a PLY file.
    pub(crate) fn points(&self, views: usize) -> Result<Vec<u8>, MediaError> {
        let mut rows = Vec::new();
        for view in 0..views {
            let of_view = fs::read(self.root.join(points_path(view))).map_err(|error| self.fault(error))?;
            rows.extend_from_slice(of_view.as_chunks::<POINT_BYTES>().0.as_flattened());
        }
        Ok(rows)
    }

    /// Moves the complete dataset to its destination. If this is an existing folder, it receives the files and folders
    /// of the dataset one after another, `manifest.json` last.
    /// Errors: if the folder contains something of the same name, or a file cannot be moved. In this case the
    /// destination is left unchanged.
    pub(crate) fn deliver(&self) -> Result<(), MediaError> {
        let (set, target) = (self.set(), self.target.as_path());
        if !target.is_dir() {
            // Systems do not rename a folder to a path that ends with `/.`, which this conversion removes.
            let target: PathBuf = target.components().collect();
            return fs::rename(set, target).map_err(|error| self.fault(error));
        }
        let mut made = names(&set).map_err(|error| self.fault(error))?;
        if made.iter().any(|name| target.join(name).symlink_metadata().is_ok()) {
            return Err(MediaError::FolderNotEmpty { folder: target.to_owned() });
        }
        made.sort_by_key(|name| *name == MANIFEST);
        before_removal(|| move_all(&made, &set, target)).map_err(|error| self.fault(error))
    }

    fn fault(&self, source: io::Error) -> MediaError {
        MediaError::File { file: self.target.clone(), source }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // If the folder cannot be deleted now, a later run deletes it.
        drop(fs::remove_dir_all(&self.root));
        drop(self.lock.unlock());
    }
}

/// Tries to lock a file for up to `wait`. Returns whether another process still has it locked.
fn is_in_use(lock: &File, wait: Duration) -> bool {
    let begin = Instant::now();
    while matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        if begin.elapsed() >= wait {
            return true;
        }
        thread::sleep(LOCK_RETRY);
    }
    false
}

/// Returns the folder that contains the temporary folder of a dataset, and the name of the dataset in it.
fn place_of(target: &Path) -> (&Path, String) {
    if target.is_dir() {
        return (target, ".".to_owned());
    }
    (folder(target), target.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Returns whether a folder contains anything but temporary folders of datasets.
pub(crate) fn is_occupied(folder: &Path) -> bool {
    names(folder).is_ok_and(|names| names.iter().any(|name| !is_work_folder(name)))
}

/// Returns whether this is the name of a temporary folder.
fn is_work_folder(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Returns the names of all files and folders in a folder.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Moves these files and folders from one folder to another, in this order.
/// Errors: if one cannot be moved. In this case those before it are moved back.
fn move_all(names: &[OsString], from: &Path, to: &Path) -> io::Result<()> {
    for (count, name) in names.iter().enumerate() {
        if let Err(error) = fs::rename(from.join(name), to.join(name)) {
            for moved in names.iter().take(count) {
                // What cannot be moved back remains, because the first error is the one to report.
                drop(fs::rename(to.join(moved), from.join(moved)));
            }
            return Err(error);
        }
    }
    Ok(())
}

fn note_path(view: usize) -> String {
    format!("{VIEWS}/{view:04}.json")
}

fn tiles_path(view: usize) -> String {
    format!("{TILES}/{view:04}.rgb")
}

fn points_path(view: usize) -> String {
    format!("{POINTS}/{view:04}.rows")
}

/// Deletes temporary folders whose processes have ended. A folder is deleted if it belongs to the same target with
/// another key, or if it is older than [`ABANDONED_AFTER`].
fn remove_abandoned(beside: &Path, owner: &str, own: &Path) {
    let Ok(entries) = fs::read_dir(beside) else { return };
    for entry in entries.flatten() {
        let root = entry.path();
        if root == own || !is_work_folder(&entry.file_name()) {
            continue;
        }
        let Ok(lock) = File::open(root.join(LOCK)) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let same_target = fs::read(root.join(LOCK)).is_ok_and(|known| known == owner.as_bytes());
        let idle = fs::metadata(root.join(VIEWS)).and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if same_target || idle.is_some_and(|idle| idle > ABANDONED_AFTER) {
            drop(fs::remove_dir_all(root));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> EncodedView {
        let files = vec![("images/0000.png".to_owned(), b"picture".to_vec())];
        EncodedView { files, tiles: vec![1, 2, 3], points: Vec::new() }
    }

    /// Simulates a killed process: its lock is released, but its folder remains. Returns the folder.
    fn abandon(work: WorkFolder) -> PathBuf {
        work.lock.unlock().unwrap();
        let root = work.root.clone();
        std::mem::forget(work);
        root
    }

    #[test]
    fn a_killed_run_is_resumed_and_a_damaged_view_is_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set.zip");
        let work = WorkFolder::open(&target, "key").unwrap();
        work.finish_view(0, view()).unwrap();
        assert!(matches!(WorkFolder::open(&target, "key"), Err(MediaError::Busy { .. })));
        let root = abandon(work);
        let work = WorkFolder::open(&target, "key").unwrap();
        assert_eq!(work.missing(2), [1]);
        assert_eq!(work.tiles(0).unwrap(), [1, 2, 3]);
        fs::write(work.set().join("images/0000.png"), b"half").unwrap();
        assert_eq!(work.missing(2), [0, 1]);
        drop(work);
        assert!(!root.exists());
    }

    #[test]
    fn other_content_for_the_same_target_replaces_the_folder_of_a_killed_run() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, key: &str| WorkFolder::open(&folder.path().join(name), key).unwrap();
        let (stale, other) = (abandon(open("set.zip", "a")), abandon(open("other.zip", "a")));
        let living = open("third.zip", "a");
        let work = open("set.zip", "b");
        assert!(!stale.exists() && other.exists() && living.root.exists() && work.root.exists());
    }

    #[test]
    fn a_folder_is_in_use_only_if_another_process_locks_it_for_longer_than_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let (other, own) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        other.try_lock().unwrap();
        assert!(is_in_use(&own, Duration::ZERO));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(4 * LOCK_RETRY);
                other.unlock().unwrap();
            });
            // A busy computer may start the thread late, so the wait is much longer than the lock.
            assert!(!is_in_use(&own, Duration::from_mins(1)));
        });
        assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)), "the lock is not held");
    }

    #[cfg(unix)]
    #[test]
    fn a_killed_run_is_resumed_and_delivered_to_a_new_or_an_existing_folder_by_each_of_its_paths() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["existing", "here", "linked"] {
            fs::create_dir(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("linked"), at("link")).unwrap();
        let cases =
            [("new", "new"), ("made/.", "made"), ("existing", "existing"), ("here/.", "here"), ("link", "linked")];
        for (target, made) in cases {
            let (target, made) = (at(target), at(made));
            let killed = WorkFolder::open(&target, "key").unwrap();
            killed.finish_view(0, view()).unwrap();
            abandon(killed);
            assert!(!is_occupied(&target), "{}", target.display());
            let work = WorkFolder::open(&target, "key").unwrap();
            assert!(work.missing(1).is_empty(), "{}", target.display());
            work.write_set(MANIFEST.to_owned(), b"{}").unwrap();
            work.deliver().unwrap();
            drop(work);
            assert_eq!(fs::read(made.join("images/0000.png")).unwrap(), b"picture");
            assert_eq!(fs::read(made.join(MANIFEST)).unwrap(), b"{}");
            assert!(is_occupied(&target) && !names(&made).unwrap().iter().any(|name| is_work_folder(name)));
        }
        let mut left = names(folder.path()).unwrap();
        left.sort();
        assert_eq!(left, ["existing", "here", "link", "linked", "made", "new"]);
        assert!(at("link").is_symlink());
    }

    #[test]
    fn a_file_that_came_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path();
        let work = WorkFolder::open(target, "key").unwrap();
        work.finish_view(0, view()).unwrap();
        fs::write(target.join("images"), "somebody's own").unwrap();
        assert!(is_occupied(target));
        assert!(matches!(work.deliver(), Err(MediaError::FolderNotEmpty { .. })));
        drop(work);
        assert_eq!(names(target).unwrap(), ["images"]);
        assert_eq!(fs::read(target.join("images")).unwrap(), b"somebody's own");
    }

    #[test]
    fn files_are_moved_back_if_another_cannot_be_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for made in [&from, &to] {
            fs::create_dir(made).unwrap();
        }
        fs::write(from.join("first"), "1").unwrap();
        assert!(move_all(&["first", "missing"].map(OsString::from), &from, &to).is_err());
        assert_eq!(names(&from).unwrap(), ["first"]);
        assert!(names(&to).unwrap().is_empty());
    }
}
