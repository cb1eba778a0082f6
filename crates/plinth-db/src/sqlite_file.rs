//! The file of an open SQLite database. If it is moved, deleted or replaced, SQLite does not notice this and continues to use the old
//! file, whose later changes are then lost.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::error::DbError;
use crate::system::file_id;

/// The file of an open SQLite database.
#[derive(Debug)]
pub(crate) struct SqliteFile {
    /// Absolute path.
    path: PathBuf,
    /// Identity of the file that was opened.
    id: (u64, u64),
}

impl SqliteFile {
    /// Remembers which file is at this path. The database must be open.
    /// Errors: there is no file.
    pub(crate) fn opened_at(path: &Path) -> Result<Self> {
        let missing = |_error| DbError::FileReplaced { file: path.to_owned() };
        let file = std::fs::metadata(path).map_err(missing)?;
        Ok(Self { path: std::path::absolute(path).map_err(missing)?, id: file_id(&file) })
    }

    /// Checks that the file is still at its path. Does not open it: closing it would release the locks that SQLite holds on it in this
    /// process.
    /// Errors: the file was moved, deleted or replaced.
    pub(crate) async fn check(&self) -> Result<()> {
        let found = tokio::fs::metadata(&self.path).await;
        if found.is_ok_and(|file| file_id(&file) == self.id) {
            return Ok(());
        }
        Err(DbError::FileReplaced { file: self.path.clone() })
    }
}
