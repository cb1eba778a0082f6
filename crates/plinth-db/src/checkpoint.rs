//! Checkpoints of SQLite: copies the write-ahead log into the database file while transactions continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::SqlitePool;

/// Length of the log, in pages of 4 KiB, from which on SQLite makes a checkpoint within each commit. No other transaction writes
/// during such a checkpoint, so it copies the whole log, and SQLite can then reuse the log. The checkpoints of [`Checkpoints`]
/// never reach the end of the log if transactions do not pause.
pub(crate) const LOG_PAGES: u32 = 10_000;
/// Number of commits between two checkpoints. A commit during a checkpoint waits for the disk, so checkpoints should be rare. But a
/// checkpoint must begin before the log has [`LOG_PAGES`], and a commit adds about 15 pages.
const COMMITS: u32 = 512;

/// Counts commits, and makes a checkpoint on a separate connection after every [`COMMITS`] commits. By default, SQLite makes a
/// checkpoint within each commit that finds more than 1000 pages in the log, and such a commit takes ten times as long.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    /// Pool with a single connection, so that at most one checkpoint runs at a time.
    pool: SqlitePool,
    commits: Arc<AtomicU32>,
}

impl Checkpoints {
    pub(crate) fn new(pool: SqlitePool) -> Self {
        Self { pool, commits: Arc::default() }
    }

    /// Counts a commit. Starts a checkpoint in the background if it is due.
    pub(crate) fn count_commit(&self) {
        let commits = self.commits.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        // If the connection is in use, a checkpoint is running already.
        if commits.is_multiple_of(COMMITS) && self.pool.num_idle() == self.pool.size() as usize {
            let pool = self.pool.clone();
            tokio::spawn(async move {
                // A passive checkpoint does not block writers and readers.
                if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&pool).await {
                    tracing::warn!(%error, "copying SQLite's log into the database file failed; it is tried again");
                }
            });
        }
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbError, DbOptions};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_log_is_copied_after_some_commits_and_no_commit_waits_for_it() {
        let database = TestDatabase::sqlite();
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let file = database.address().strip_prefix("sqlite://").unwrap();
        let size = || fs::metadata(file).unwrap().len();
        // The tables that the migrations have created are still in the log, not in the database file.
        let before = size();
        for n in 0..COMMITS {
            assert_eq!(size(), before, "after {n} commits");
            db.write(|_tx| Box::pin(async { Ok::<_, DbError>(()) })).await.unwrap();
        }
        for _time in 0..500 {
            if size() > before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(size() > before, "{before} bytes");
        let log = fs::metadata(format!("{file}-wal")).unwrap().len();
        assert!(log < u64::from(LOG_PAGES) * 4096, "{log} bytes");
        db.close().await;
    }
}
