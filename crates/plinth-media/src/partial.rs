//! Files that appear only when they are complete.

use std::path::{Path, PathBuf};

use crate::MediaError;

/// A file under a temporary name beside its own; removed unless it is kept.
pub(crate) struct Partial {
    temporary: PathBuf,
    target: PathBuf,
    kept: bool,
}

impl Partial {
    /// Picks a temporary name in the target's folder, with the same extension.
    pub(crate) fn new(target: &Path) -> Self {
        let name = target.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let temporary = target.with_file_name(format!(".partial-{}-{name}", std::process::id()));
        Self { temporary, target: target.to_owned(), kept: false }
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name, replacing what was there, and returns its size in bytes.
    pub(crate) fn keep(mut self) -> Result<(PathBuf, u64), MediaError> {
        let fault = |source| MediaError::File { file: self.target.clone(), source };
        let size = std::fs::metadata(&self.temporary).map_err(fault)?.len();
        std::fs::rename(&self.temporary, &self.target).map_err(fault)?;
        self.kept = true;
        Ok((self.target.clone(), size))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing may have been written yet.
            drop(std::fs::remove_file(&self.temporary));
        }
    }
}
