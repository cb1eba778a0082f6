//! A lock that allows only one server per SQLite file, because a server on SQLite keeps the counters of the rate limits
//! in its memory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plinth_db::real_path;

use crate::config::{self, Config};

/// Acquires the lock. The lock is released when the returned file is dropped or the process ends. Returns `None` with
/// PostgreSQL, which needs no lock.
/// Errors: another process holds the lock, or the lock file cannot be created.
pub(crate) fn acquire(config: &Config) -> Result<Option<File>> {
    let Some(database) = config::sqlite_file(config) else { return Ok(None) };
    config::make_database_folder(config)?;
    let path = lock_path(database)
        .with_context(|| format!("the folder of the database {} is not accessible", database.display()))?;
    let file = File::create(&path).with_context(|| {
        format!(
            "{} cannot be written; start the server as the user who owns it, or choose another folder with --data",
            path.display()
        )
    })?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            bail!("another plinth serve uses {}; stop it, or choose another folder with --data", database.display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("{} cannot be locked", path.display())),
    }
}

/// Returns the path of the lock file, which is the same for all paths that lead to a database.
fn lock_path(database: &Path) -> io::Result<PathBuf> {
    let mut path = real_path(database)?.into_os_string();
    path.push(".serve.lock");
    Ok(path.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn all_paths_to_a_database_have_one_lock_before_and_after_its_creation() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        symlink("data", at("linked")).unwrap();
        symlink("data/plinth.db", at("link.db")).unwrap();
        symlink("link.db", at("second.db")).unwrap();
        let expected = at("data").canonicalize().unwrap().join("plinth.db.serve.lock");
        for exists in [false, true] {
            if exists {
                std::fs::write(at("data/plinth.db"), "").unwrap();
            }
            for path in ["data/plinth.db", "linked/plinth.db", "link.db", "second.db"] {
                assert_eq!(lock_path(&at(path)).unwrap(), expected, "{path}, exists: {exists}");
            }
        }
    }
}
