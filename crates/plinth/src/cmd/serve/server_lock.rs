//! A lock that allows only one server per SQLite file, because a server on SQLite keeps the counters of the rate limits
//! in its memory.

use std::fs::{File, TryLockError};

use anyhow::{Context as _, Result, bail};

use crate::config::Config;

/// Acquires the lock. The lock is released when the returned file is dropped or the process ends. Returns `None` with
/// PostgreSQL, which needs no lock.
/// Errors: another process holds the lock.
pub(crate) fn acquire(config: &Config) -> Result<Option<File>> {
    let Some(database) = config.database_url.strip_prefix("sqlite://") else { return Ok(None) };
    let path = format!("{database}.serve.lock");
    let folder = std::path::Path::new(&path).parent().context("the database has no folder")?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be created; choose another with --data", folder.display()))?;
    let file = File::create(&path).with_context(|| {
        format!(
            "{path} cannot be written; start the server as the user who owns it, or choose another folder with --data"
        )
    })?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            bail!("another plinth serve uses {database}; stop it, or choose another folder with --data")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("{path} cannot be locked")),
    }
}
