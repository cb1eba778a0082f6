//! The only way to write.

use std::ops::{Deref, DerefMut};

use futures_util::future::BoxFuture;

use crate::Result;
use crate::conn::{Conn, Inner};
use crate::error::DbError;
use crate::pool::Db;

/// A connection that reads and writes, within one transaction.
pub struct Tx {
    conn: Conn,
    after_commit: Vec<Box<dyn FnOnce() + Send>>,
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
    pub(crate) const fn new(conn: Conn) -> Self {
        Self { conn, after_commit: Vec::new() }
    }

    /// Does something short when the transaction has ended well, and nothing when it is rolled back.
    pub fn after_commit(&mut self, work: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(work));
    }

    async fn commit(self) -> Result<()> {
        match self.conn.0 {
            Inner::SqliteWriter(tx) => tx.commit().await?,
            Inner::PostgresWriter(tx) => tx.commit().await?,
            Inner::SqliteReader(_) | Inner::PostgresReader(_) => {}
        }
        for work in self.after_commit {
            work();
        }
        Ok(())
    }

    async fn rollback(self) -> Result<()> {
        match self.conn.0 {
            Inner::SqliteWriter(tx) => tx.rollback().await?,
            Inner::PostgresWriter(tx) => tx.rollback().await?,
            Inner::SqliteReader(_) | Inner::PostgresReader(_) => {}
        }
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
    /// Errors: what `work` returns, or what the database says.
    pub async fn write<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let db = self.clone();
        let task = tokio::spawn(async move {
            let mut tx = db.begin().await?;
            match work(&mut tx).await {
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
