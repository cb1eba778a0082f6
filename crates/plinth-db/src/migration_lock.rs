//! A lock that lets one process at a time create and migrate a SQLite database. SQLite's own locks do not suffice: the first
//! connection switches the file to a write-ahead log, which fails at once if another process does the same, and two processes that
//! both miss a migration would both run it. PostgreSQL needs no file, because sqlx acquires an advisory lock.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Result;
use crate::error::DbError;
use crate::real_path::real_path;
use crate::system::open_lock_file;

/// Maximum time that a process waits for the migrations of another one.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_mins(1);
/// Time between two attempts to acquire the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Acquires the lock of a database, which is released when the returned file is dropped or the process ends. The lock file remains:
/// if it were deleted, two processes could lock different files of the same name.
/// Errors: the lock file cannot be opened or locked, or another process holds the lock for longer than `limit`.
pub(crate) async fn acquire(database: &Path, limit: Duration) -> Result<File> {
    let path = lock_path(database).map_err(|source| DbError::MigrationLock { file: database.to_owned(), source })?;
    let file = open(&path).map_err(|source| DbError::MigrationLock { file: path.clone(), source })?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begin.elapsed() < limit => {}
            Err(TryLockError::WouldBlock) => return Err(DbError::MigrationRuns { file: path }),
            Err(TryLockError::Error(source)) => return Err(DbError::MigrationLock { file: path, source }),
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// Returns the path of the lock file, which is the same for all paths that lead to a database.
fn lock_path(database: &Path) -> io::Result<PathBuf> {
    let mut path = real_path(database)?.into_os_string();
    path.push(".migration.lock");
    Ok(path.into())
}

/// Opens a lock file, and creates it if it does not exist. A user who may only read the file can lock it, too.
fn open(path: &Path) -> io::Result<File> {
    open_lock_file(path).or_else(|error| File::open(path).map_err(|_also| error))
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbOptions, newest_version};

    fn file_of(database: &TestDatabase) -> &Path {
        Path::new(database.address().strip_prefix("sqlite://").unwrap())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_sqlite_database_can_be_opened_several_times_at_once() {
        let database = TestDatabase::sqlite();
        let opening = (0..8).map(|_process| Db::open(database.address(), DbOptions::default()));
        for opened in join_all(opening).await {
            let db = opened.unwrap();
            assert_eq!(db.table_version().await.unwrap(), Some(newest_version()));
            db.close().await;
        }
    }

    /// `plinth migrate` reads the version of the tables without the lock, while another process may create them.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_version_of_the_tables_can_be_read_while_they_are_created() {
        let database = TestDatabase::sqlite();
        std::fs::write(file_of(&database), "").unwrap();
        let address = database.address();
        let opening = [true, false, true, false, true, false].map(|may_change| async move {
            let db = Db::open(address, DbOptions { may_change, ..DbOptions::default() }).await?;
            let version = db.table_version().await;
            db.close().await;
            version
        });
        for version in join_all(opening).await {
            version.unwrap();
        }
    }

    #[tokio::test]
    async fn waiting_for_the_migrations_of_another_process_has_a_limit() {
        let database = TestDatabase::sqlite();
        let file = file_of(&database);
        let held = acquire(file, Duration::ZERO).await.unwrap();
        let error = acquire(file, Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, DbError::MigrationRuns { .. }), "{error}");
        let waiting = acquire(file, WAIT_LIMIT);
        let releasing = async { drop(held) };
        let (waited, ()) = tokio::join!(waiting, releasing);
        drop(waited.unwrap());
        let error = acquire(&file.with_file_name("missing/plinth.db"), WAIT_LIMIT).await.unwrap_err();
        assert!(matches!(error, DbError::MigrationLock { .. }), "{error}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_symbolic_link_to_a_database_has_the_lock_of_the_database() {
        let database = TestDatabase::sqlite();
        let file = file_of(&database);
        let link = file.with_file_name("link.db");
        std::os::unix::fs::symlink(file, &link).unwrap();
        for exists in [false, true] {
            if exists {
                std::fs::write(file, "").unwrap();
            }
            let _held = acquire(file, Duration::ZERO).await.unwrap();
            let error = acquire(&link, Duration::ZERO).await.unwrap_err();
            assert!(matches!(error, DbError::MigrationRuns { .. }), "{error}, exists: {exists}");
        }
    }
}
