//! Source of the current time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use plinth_db::{Conn, Db, DbError, Tx};

/// Source of the current time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The clock of the database server. All machines use it, so their times agree.
    #[default]
    Database,
    /// A Unix time in milliseconds. Tests set it instead of waiting.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the Unix time in milliseconds.
    pub async fn now_ms(&self, conn: &mut Conn) -> Result<i64, DbError> {
        match self {
            Self::Database => conn.now_ms().await,
            Self::Set(time) => Ok(time.load(Ordering::SeqCst)),
        }
    }

    /// Returns the Unix time in milliseconds. Takes a connection to the database only if necessary.
    pub async fn read_ms(&self, db: &Db) -> Result<i64, DbError> {
        match self {
            Self::Database => db.now_ms().await,
            Self::Set(time) => Ok(time.load(Ordering::SeqCst)),
        }
    }

    /// Returns the Unix time in milliseconds without a query to the database. `then` is the time that this clock returned at
    /// the instant `at`.
    pub(crate) fn since_ms(&self, then: i64, at: Instant) -> i64 {
        match self {
            Self::Database => then.saturating_add(i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX)),
            Self::Set(time) => time.load(Ordering::SeqCst),
        }
    }

    /// Returns the time that a test has set.
    pub(crate) fn set_ms(&self) -> Option<i64> {
        match self {
            Self::Database => None,
            Self::Set(time) => Some(time.load(Ordering::SeqCst)),
        }
    }

    /// Returns the Unix time in milliseconds for the rows that a transaction writes ([`Tx::next_ms`]).
    pub async fn next_ms(&self, tx: &mut Tx) -> Result<i64, DbError> {
        match self {
            Self::Database => tx.next_ms().await,
            Self::Set(time) => Ok(time.load(Ordering::SeqCst)),
        }
    }
}
