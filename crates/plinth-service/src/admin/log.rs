//! The log of what administrators did.

use plinth_db::admin_log::{self, LogEntry};

use crate::error::Result;
use crate::service::Service;

/// A page of the log.
#[derive(Clone, Debug)]
pub struct LogPage {
    /// The entries, newest first.
    pub entries: Vec<LogEntry>,
    /// Number of entries on all pages together.
    pub total: u64,
}

impl Service {
    /// Returns a page of the log of what administrators did, newest first.
    pub async fn admin_log(&self, limit: u32, offset: u64) -> Result<LogPage> {
        let mut conn = self.db.read().await?;
        let entries = admin_log::list(&mut conn, None, limit, offset).await?;
        Ok(LogPage { entries, total: admin_log::count(&mut conn).await? })
    }
}
