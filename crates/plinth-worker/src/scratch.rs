//! The scratch folder of a worker. It contains cached models, and one folder per job.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use plinth_service::free_bytes;
use tempfile::TempDir;

use crate::system::{let_others_enter, let_owner_write};

/// Prefix of the folder names of workers.
const RUN: &str = "run-";
/// Number of random characters after the prefix. There are so many that no other folder has such a name by chance.
const RUN_RANDOM: usize = 16;
/// Name of the lock file in a worker's folder. The worker holds the lock until it ends.
const LOCK: &str = "lock";

/// The folder of a worker inside the shared scratch folder. It is removed on drop. Cached models and driver caches
/// remain.
#[derive(Debug)]
pub(crate) struct Scratch {
    run: TempDir,
    _lock: File,
    models: PathBuf,
    homes: PathBuf,
}

impl Scratch {
    /// Creates the worker's folder, and removes the folders of dead workers. Everything else in `folder` is kept. Blocks the
    /// thread.
    /// Errors: the folders cannot be created, or `folder` cannot be read.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let (models, homes) = (folder.join("models"), folder.join("homes"));
        for made in [&models, &homes] {
            std::fs::create_dir_all(made)?;
        }
        // Without this lock, another worker could remove the new folder before the lock file in it is locked.
        let gate = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        gate.lock()?;
        remove_abandoned(folder)?;
        let run = tempfile::Builder::new().prefix(RUN).rand_bytes(RUN_RANDOM).tempdir_in(folder)?;
        // Jobs may run as another user. With these permissions, they can enter their own folder, but cannot list the
        // folders of other jobs.
        let_others_enter(run.path())?;
        let lock = File::create(run.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { run, _lock: lock, models, homes })
    }

    /// Creates a folder for a job.
    pub(crate) fn job(&self) -> io::Result<JobFolder> {
        Ok(JobFolder(tempfile::Builder::new().prefix("job-").tempdir_in(self.run.path())?))
    }

    /// Creates a folder for a reused job process.
    pub(crate) fn process(&self) -> io::Result<JobFolder> {
        Ok(JobFolder(tempfile::Builder::new().prefix("process-").tempdir_in(self.run.path())?))
    }

    /// Returns whether the disk has at least `bytes` of free space.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        match free_bytes(self.run.path()) {
            Ok(free) => free >= bytes,
            Err(error) => {
                tracing::warn!(error = %error, "the free space of the worker's folder cannot be read");
                false
            }
        }
    }

    /// Returns the worker's folder.
    pub(crate) fn own(&self) -> &Path {
        self.run.path()
    }

    /// Returns the folder of cached models.
    pub(crate) fn models(&self) -> &Path {
        &self.models
    }

    /// Returns the folder that contains the home folders of workspaces.
    pub(crate) fn homes(&self) -> &Path {
        &self.homes
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The folder may contain evicted folders of jobs, which can be deep.
        if let Err(error) = remove_tree(self.run.path()) {
            tracing::warn!(%error, folder = %self.run.path().display(), "the folder of this worker cannot be removed");
        }
    }
}

/// The folder of a job, which is removed on drop. All processes of the job must have ended before.
#[derive(Debug)]
pub(crate) struct JobFolder(TempDir);

impl JobFolder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for JobFolder {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(self.path()) {
            tracing::warn!(%error, folder = %self.path().display(), "the folder of a job cannot be removed");
        }
    }
}

/// Removes a folder of the cache with everything in it. First moves it into `own`, the folder of this worker. Then only one of
/// several workers removes it, and if this worker dies meanwhile, the rest is removed with its folder.
/// Errors: the folder cannot be moved, or a file cannot be removed. It is no error if another worker has already moved it.
pub(crate) fn remove_cached(folder: &Path, own: &Path) -> io::Result<()> {
    let evicted = own.join(format!("evicted-{:016x}", fastrand::u64(..)));
    match std::fs::rename(folder, &evicted) {
        Ok(()) => remove_tree(&evicted),
        Err(_) if is_gone(folder) => Ok(()),
        // The operator has put the cache on another disk.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => remove_tree(folder),
        Err(error) => Err(error),
    }
}

/// Removes a folder that a job has written, with everything in it. The job may have taken permissions away from it, or nested
/// folders so deep that their paths are too long, or that a recursive removal would overflow the stack.
/// Errors: if a file cannot be removed. It is no error if the folder does not exist.
pub(crate) fn remove_tree(folder: &Path) -> io::Result<()> {
    let removed = flatten(folder).and_then(|()| std::fs::remove_dir_all(folder));
    removed.or_else(|error| if is_gone(folder) { Ok(()) } else { Err(error) })
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Moves all folders at any depth of a folder directly into this folder, and gives their owner all permissions.
fn flatten(folder: &Path) -> io::Result<()> {
    let mut found = subfolders(folder)?;
    // The job cannot have created entries with these names.
    let prefix = fastrand::u64(..);
    let mut count = 0;
    while let Some(one) = found.pop() {
        for inner in subfolders(&one)? {
            // A folder that is moved to another one must be writable itself.
            let_owner_write(&inner);
            let moved = folder.join(format!("{prefix}-{count}"));
            std::fs::rename(&inner, &moved)?;
            found.push(moved);
            count += 1;
        }
    }
    Ok(())
}

/// Returns whether [`flatten`] gives such names to folders. An interrupted [`remove_tree`] leaves some of them. Names with a short
/// first number, such as `2026-07`, are not accepted: nearly all random numbers are longer.
pub(crate) fn is_left_by_removal(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    name.split_once('-').is_some_and(|(prefix, count)| prefix.len() >= 16 && is_number(prefix) && is_number(count))
}

/// Gives the owner of a folder all permissions, and lists the folders in it.
/// Errors: `folder` is a link, or cannot be read.
fn subfolders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.symlink_metadata()?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let_owner_write(folder);
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Returns whether a folder with this name belongs to a worker. The operator may have chosen a scratch folder with other files.
fn is_run(name: &str) -> bool {
    let is_random = |rest: &str| rest.len() == RUN_RANDOM && rest.bytes().all(|c| c.is_ascii_alphanumeric());
    name.strip_prefix(RUN).is_some_and(is_random)
}

fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_run = entry.file_name().to_str().is_some_and(is_run);
        if !is_run || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let is_dead = File::open(entry.path().join(LOCK)).map_or(true, |lock| lock.try_lock().is_ok());
        if is_dead && let Err(error) = remove_tree(&entry.path()) {
            tracing::warn!(error = %error, folder = %entry.path().display(), "a dead worker's folder cannot be removed");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn a_deep_tree_is_removed_with_a_small_stack() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let mut inner = File::open(&tree).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&inner, "d", Mode::RWXU).unwrap();
            inner = rustix::fs::openat(&inner, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap().into();
        }
        let removing = std::thread::Builder::new().stack_size(256 << 10);
        removing
            .spawn({
                let tree = tree.clone();
                move || remove_tree(&tree)
            })
            .unwrap()
            .join()
            .unwrap()
            .unwrap();
        assert!(!tree.exists());
        remove_tree(&tree).unwrap();
    }

    #[test]
    fn folders_of_dead_workers_are_removed_and_those_of_running_workers_kept() {
        let folder = tempfile::tempdir().unwrap();
        let living = Scratch::open(folder.path()).unwrap();
        let job = living.job().unwrap();
        let dead = folder.path().join("run-0123456789abcdEF");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), b"").unwrap();
        std::fs::write(living.models().join("kept.glb"), b"").unwrap();
        let other = Scratch::open(folder.path()).unwrap();
        assert!(job.path().exists() && !dead.exists());
        let own = other.own().to_owned();
        drop(other);
        assert!(!own.exists() && living.models().join("kept.glb").exists());
    }

    #[test]
    fn other_files_in_the_scratch_folder_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folders = ["run-monday", "run-results-of-monday", "run-0123456789abcde-", "elsewhere"];
        let others = folders.map(|name| folder.path().join(name).join("notes.txt"));
        for file in &others {
            std::fs::create_dir(file.parent().unwrap()).unwrap();
            std::fs::write(file, "notes").unwrap();
        }
        let (file, link) = (folder.path().join("run-0123456789abcdef"), folder.path().join("run-fedcba9876543210"));
        std::fs::write(&file, "notes").unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
        std::fs::write(folder.path().join(LOCK), "notes").unwrap();
        drop(Scratch::open(folder.path()).unwrap());
        for file in others.iter().chain([&file, &link.join("notes.txt"), &folder.path().join(LOCK)]) {
            assert_eq!(std::fs::read_to_string(file).unwrap(), "notes", "{}", file.display());
        }
    }
}
