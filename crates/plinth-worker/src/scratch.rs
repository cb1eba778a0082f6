//! The worker's folder: models that are kept, and a folder for each job.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Begin of the names of workers' own folders.
const RUN: &str = "run-";
/// File in a worker's own folder, locked as long as it lives.
const LOCK: &str = "lock";

/// A worker's place in the folder. What it made there goes with it, apart from models and drivers' caches.
#[derive(Debug)]
pub(crate) struct Scratch {
    run: TempDir,
    _lock: File,
    models: PathBuf,
    homes: PathBuf,
}

impl Scratch {
    /// Takes a place, and clears away what dead workers left. Blocks.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let (models, homes) = (folder.join("models"), folder.join("homes"));
        for made in [&models, &homes] {
            std::fs::create_dir_all(made)?;
        }
        // A folder whose lock is not taken yet must not look like a dead worker's.
        let gate = File::create(folder.join(LOCK))?;
        gate.lock()?;
        sweep(folder)?;
        let run = tempfile::Builder::new().prefix(RUN).tempdir_in(folder)?;
        // A job of another user finds its folder, and lists nothing.
        std::fs::set_permissions(run.path(), Permissions::from_mode(0o711))?;
        let lock = File::create(run.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { run, _lock: lock, models, homes })
    }

    /// A new folder for a job, which goes when it is dropped.
    pub(crate) fn job(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix("job-").tempdir_in(self.run.path())
    }

    /// The worker's own folder.
    pub(crate) fn own(&self) -> &Path {
        self.run.path()
    }

    /// Where models are kept.
    pub(crate) fn models(&self) -> &Path {
        &self.models
    }

    /// Where each workspace's jobs have a home folder.
    pub(crate) fn homes(&self) -> &Path {
        &self.homes
    }
}

fn sweep(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(RUN) {
            continue;
        }
        let is_dead = File::open(entry.path().join(LOCK)).map_or(true, |lock| lock.try_lock().is_ok());
        if is_dead && let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::warn!(error = %error, folder = %entry.path().display(), "a dead worker's folder cannot be removed");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_worker_keeps_its_folder_and_a_dead_one_loses_it() {
        let folder = tempfile::tempdir().unwrap();
        let living = Scratch::open(folder.path()).unwrap();
        let job = living.job().unwrap();
        let dead = folder.path().join("run-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), b"").unwrap();
        std::fs::write(living.models().join("kept.glb"), b"").unwrap();
        let other = Scratch::open(folder.path()).unwrap();
        assert!(job.path().exists() && !dead.exists());
        let own = other.own().to_owned();
        drop(other);
        assert!(!own.exists() && living.models().join("kept.glb").exists());
    }
}
