//! What time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use plinth_db::{Conn, DbError};

/// Where the time comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// From the database: one time for all machines.
    #[default]
    Database,
    /// From whoever set it, in milliseconds since 1970: for tests, which must not wait half an hour.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Milliseconds since 1970.
    pub async fn now_ms(&self, conn: &mut Conn) -> Result<i64, DbError> {
        match self {
            Self::Database => conn.now_ms().await,
            Self::Set(time) => Ok(time.load(Ordering::SeqCst)),
        }
    }
}
