//! The only way to write.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::Result;
use crate::conn::Conn;
use crate::error::DbError;
use crate::pool::Db;

/// Longest time of a transaction. Longer than any statement may take, and than a lock is waited for.
const LONGEST: Duration = Duration::from_secs(45);

/// A connection that reads and writes, within one transaction.
pub struct Tx {
    conn: Conn,
    /// Whether it has neither been committed nor rolled back.
    is_open: bool,
    after_commit: Vec<Box<dyn FnOnce() + Send>>,
}

impl Drop for Tx {
    fn drop(&mut self) {
        // It panicked or took too long. A connection with an open transaction must not go back to the pool.
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
    pub(crate) async fn begin(conn: Conn) -> Result<Self> {
        let mut tx = Self { conn, is_open: true, after_commit: Vec::new() };
        // A deferred transaction that turns into a writing one is refused at once when another writes.
        tx.control("BEGIN IMMEDIATE", "BEGIN").await?;
        Ok(tx)
    }

    /// Does something short when the transaction has ended well, and nothing when it is rolled back.
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
    /// Runs `work` in one transaction: all of it, or nothing when it returns an error.
    ///
    /// The transaction has a task of its own. Whoever waits for it may go away (a client that disconnects drops its
    /// request); the transaction is carried to its end all the same. A transaction that could be dropped halfway would
    /// also hand an open one back to the pool: transact-rs/sqlx#4385.
    ///
    /// It may take so long, then it is rolled back: what it locks is needed by others.
    ///
    /// Errors: what `work` returns, or what the database says.
    pub async fn write<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let db = self.clone();
        let task = tokio::spawn(async move {
            let mut tx = Tx::begin(db.connection_to_write().await?).await?;
            let worked = match timeout(LONGEST, work(&mut tx)).await {
                Ok(worked) => worked,
                // The connection is closed, and with it the transaction.
                Err(_late) => return Err(DbError::TooLong.into()),
            };
            match worked {
                Ok(value) => {
                    tx.commit().await?;
                    Ok(value)
                }
                Err(error) => {
                    // The database rolls back by itself when the connection is gone; the first error is the cause.
                    if let Err(also) = tx.rollback().await {
                        tracing::warn!(error = %also, "a failed transaction could not be rolled back at once");
                    }
                    Err(error)
                }
            }
        });
        match task.await {
            Ok(result) => result,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err(DbError::Ending.into()),
            },
        }
    }
}
