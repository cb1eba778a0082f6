//! Removes partial uploads that killed processes left in the local store.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::Result;
use crate::open::Store;

impl Store {
    /// Removes partial uploads that were last written before `since` from the local store. Returns the number of
    /// removed files. For S3, a lifecycle rule of the bucket must remove partial uploads instead.
    pub async fn remove_unfinished(&self, since: SystemTime) -> Result<u64> {
        let Some(folder) = self.folder.clone() else { return Ok(0) };
        let removed = tokio::task::spawn_blocking(move || remove_from(&folder, since));
        Ok(removed.await.map_err(io::Error::from)??)
    }
}

/// Removes partial uploads in one folder and its subfolders. Other processes may remove files at the same time.
fn remove_from(folder: &Path, since: SystemTime) -> io::Result<u64> {
    let mut removed = 0;
    for entry in there(std::fs::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        let Some(about) = there(entry.metadata())? else { continue };
        if about.is_dir() {
            removed += remove_from(&entry.path(), since)?;
        } else if is_unfinished(&entry.file_name().to_string_lossy())
            && about.modified()? < since
            && there(std::fs::remove_file(entry.path()))?.is_some()
        {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Converts the error `NotFound` to `None`.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a file with this name is a temporary file of `object_store`, which appends `#` and a number to the
/// object's name.
fn is_unfinished(name: &str) -> bool {
    let number = name.rsplit_once('#').map(|(_object, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
