//! Transactions. All writes go through [`Db::write`].

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::BoxFuture;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::Result;
use crate::conn::Conn;
use crate::error::DbError;
use crate::pool::Db;

/// Maximum difference by which the result of [`Tx::next_ms`] may be ahead of the clock. A larger difference means that the clock was set
/// back.
const MAX_AHEAD_MS: i64 = 1000;

/// An open transaction, for reads and writes.
pub struct Tx {
    conn: Conn,
    /// The latest timestamp that [`Tx::next_ms`] has returned in this process.
    last_time: Arc<AtomicI64>,
    /// True until the transaction is committed or rolled back.
    is_open: bool,
    after_commit: Vec<Box<dyn FnOnce() + Send>>,
}

impl Drop for Tx {
    fn drop(&mut self) {
        // The transaction is still open only after a panic or a timeout. A connection with an open transaction must not
        // return to the pool.
        if self.is_open {
            self.conn.discard();
        }
    }
}

impl Deref for Tx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

impl Tx {
    pub(crate) async fn begin(conn: Conn, last_time: Arc<AtomicI64>) -> Result<Self> {
        let mut tx = Self { conn, last_time, is_open: true, after_commit: Vec::new() };
        // After a plain `BEGIN`, SQLite would reject the first write if another writer is active, instead of waiting.
        tx.control("BEGIN IMMEDIATE", "BEGIN").await?;
        Ok(tx)
    }

    /// Returns the time of the database's clock like [`Conn::now_ms`]. On SQLite, which can commit several transactions within one
    /// millisecond, the time is always later than the time that an earlier call in this process returned, so that rows have an order.
    pub async fn next_ms(&mut self) -> Result<i64> {
        let now = self.conn.now_ms().await?;
        if self.conn.is_postgres() {
            // Several processes write to PostgreSQL, so none of them may use times that are ahead of the common clock.
            return Ok(now);
        }
        let next = |last| if (now..now + MAX_AHEAD_MS).contains(&last) { last + 1 } else { now };
        let last = self.last_time.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(next(last)));
        Ok(last.map_or(now, next))
    }

    /// Registers a callback that runs after a successful commit. A rollback drops the callback. The callback must not block.
    pub fn after_commit(&mut self, work: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(work));
    }

    async fn commit(mut self) -> Result<()> {
        self.control("COMMIT", "COMMIT").await?;
        self.is_open = false;
        for work in std::mem::take(&mut self.after_commit) {
            work();
        }
        Ok(())
    }

    async fn rollback(mut self) -> Result<()> {
        self.control("ROLLBACK", "ROLLBACK").await?;
        self.is_open = false;
        Ok(())
    }
}

impl Db {
    /// Runs `work` in a transaction. Commits if `work` returns `Ok` and rolls back if it returns an error.
    ///
    /// The transaction runs in a separate task, so it completes even if the caller's future is dropped, for example
    /// because a client disconnects. Without the task, such a drop would also return a connection with an open
    /// transaction to the pool: transact-rs/sqlx#4385.
    ///
    /// After [`TimeLimits::transaction`](crate::TimeLimits) the transaction is rolled back, because its locks may block other transactions.
    ///
    /// Errors: the errors of `work`, and database errors, which are converted from [`DbError`].
    pub async fn write<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let db = self.clone();
        let transaction = async move {
            let mut tx = Tx::begin(db.connection_to_write().await?, Arc::clone(&db.last_time)).await?;
            let worked = match timeout(db.transaction_limit, work(&mut tx)).await {
                Ok(worked) => worked,
                // Dropping `tx` closes the connection, which rolls the transaction back.
                Err(_late) => return Err(DbError::TransactionTimeout.into()),
            };
            match worked {
                Ok(value) => {
                    tx.commit().await?;
                    db.count_commit();
                    Ok(value)
                }
                Err(error) => {
                    // A failed rollback is harmless, because closing the connection rolls back, too. The caller gets
                    // the error that caused the rollback.
                    if let Err(also) = tx.rollback().await {
                        tracing::warn!(error = %also, "rolling back a failed transaction failed; its connection is closed instead");
                    }
                    Err(error)
                }
            }
        };
        // With the current span, log lines of this task name the request that writes.
        match tokio::spawn(transaction.in_current_span()).await {
            Ok(result) => result,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err(DbError::ShuttingDown.into()),
            },
        }
    }
}
