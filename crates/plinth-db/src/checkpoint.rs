//! Checkpoints of SQLite: copies its write-ahead log into the database file while transactions go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::SqlitePool;

/// Number of pages in the log, of 4 KiB each, from which on a commit copies the log itself. It copies what was written since the last
/// checkpoint, so that the log does not grow while transactions never pause.
pub(crate) const LOG_PAGES: u32 = 10_000;
/// Number of commits between checkpoints. A commit writes some 15 pages. A commit during a checkpoint waits for the disk, so
/// checkpoints should be rare, but must begin before the log has [`LOG_PAGES`].
const COMMITS: u32 = 512;

/// Counts commits, and copies the log from time to time on a connection of its own. SQLite would do so in each commit after which the
/// log has 1000 pages, and that commit would take ten times as long.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    /// One connection, so that there is one checkpoint at a time.
    pool: SqlitePool,
    commits: Arc<AtomicU32>,
}

impl Checkpoints {
    pub(crate) fn new(pool: SqlitePool) -> Self {
        Self { pool, commits: Arc::default() }
    }

    /// Counts a commit. Starts a checkpoint if it is time for one, and does not wait for it.
    pub(crate) fn count_commit(&self) {
        let commits = self.commits.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        // A connection that is in use is that of a checkpoint.
        if commits.is_multiple_of(COMMITS) && self.pool.num_idle() == self.pool.size() as usize {
            let pool = self.pool.clone();
            tokio::spawn(async move {
                // Writers and readers do not wait for a passive checkpoint.
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
        // The tables of the migrations are in the log only.
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
