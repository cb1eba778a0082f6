//! One server for one SQLite file: its rate limits are counted in memory.

use std::fs::{File, TryLockError};

use anyhow::{Context as _, Result, bail};

use crate::config::Config;

/// Takes the place of the server; it is free again when this is dropped, however the process ends. With PostgreSQL there
/// may be several.
/// Errors: another process has it.
pub(crate) fn take(config: &Config) -> Result<Option<File>> {
    let Some(database) = config.database_url.strip_prefix("sqlite://") else { return Ok(None) };
    let path = format!("{database}.serve.lock");
    let folder = std::path::Path::new(&path).parent().context("the database has no folder")?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made; give another with --data", folder.display()))?;
    let file =
        File::create(&path).with_context(|| format!("{path} cannot be written; give another folder with --data"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            bail!("another plinth serve uses {database}; stop it, or give another folder with --data")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("{path} cannot be locked")),
    }
}
