//! Notifications of queued work, by which PostgreSQL wakes idle workers, so that they need not poll.

use plinth_spec::{Takes, WorkClass};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::Result;
use crate::error::DbError;
use crate::pool::{Db, QUERY_TIMEOUT};
use crate::sql::params;
use crate::tx::Tx;

/// Name of the notifications' channel.
const CHANNEL: &str = "plinth_queue";
/// First part of the `application_name` of listening connections; the classes that the worker takes follow.
const APPLICATION: &str = "plinth-listener ";

/// Work that a transaction has queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Number of jobs.
    pub jobs: u32,
    /// Their class; `None` for work that every worker takes.
    pub class: Option<WorkClass>,
}

impl Queued {
    fn to_payload(self) -> String {
        format!("{} {}", self.jobs, self.class.map_or("", WorkClass::as_str))
    }

    /// Parses a payload. One of another version that cannot be parsed may concern every worker.
    fn of_payload(payload: &str) -> Self {
        let parsed = payload.split_once(' ').and_then(|(jobs, class)| {
            let class = if class.is_empty() { None } else { Some(WorkClass::from_name(class)?) };
            Some(Self { jobs: jobs.parse().ok()?, class })
        });
        parsed.unwrap_or(Self { jobs: 1, class: None })
    }
}

/// Notifies listening workers once the transaction is committed. Does nothing on SQLite.
pub(crate) async fn notify(tx: &mut Tx, queued: Queued) -> Result<()> {
    if !tx.is_postgres() {
        return Ok(());
    }
    tx.execute("SELECT pg_notify($1, $2)", params![CHANNEL, queued.to_payload().as_str()]).await.map(drop)
}

/// A connection of its own to PostgreSQL that receives notifications of queued work.
#[derive(Debug)]
pub struct QueueListener(PgListener);

impl Db {
    /// Connects a listener for a worker that takes these classes. `None` on SQLite, which has no notifications.
    pub async fn listen(&self, takes: &Takes) -> Result<Option<QueueListener>> {
        let Some(options) = self.postgres_options() else { return Ok(None) };
        let name = format!("{APPLICATION}{takes}");
        // The listener keeps the only connection of this pool, which would be closed after a time otherwise.
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let connecting = async {
            let pool = pool.connect_with(options.application_name(&name)).await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            // A lost connection is reported at once, because notifications may be lost with it.
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok::<_, sqlx::Error>(QueueListener(listener))
        };
        Ok(Some(timeout(QUERY_TIMEOUT, connecting).await.map_err(|_late| DbError::QueryTimeout)??))
    }
}

impl QueueListener {
    /// Waits for the next notification. The future can be dropped without losing one.
    /// Errors: the connection is lost.
    pub async fn next(&mut self) -> Result<Queued> {
        let received = self.0.try_recv().await?.ok_or(sqlx::Error::PoolClosed)?;
        Ok(Queued::of_payload(received.payload()))
    }

    /// Returns the classes taken by each worker that listens to this database, on any machine.
    pub async fn list_listeners(&mut self) -> Result<Vec<Takes>> {
        let sql = "SELECT application_name FROM pg_stat_activity \
                   WHERE datname = current_database() AND starts_with(application_name, $1)";
        let asking = sqlx::query_scalar::<_, String>(sql).bind(APPLICATION).fetch_all(&mut self.0);
        let names = timeout(QUERY_TIMEOUT, asking).await.map_err(|_late| DbError::QueryTimeout)??;
        Ok(names.iter().filter_map(|name| name.strip_prefix(APPLICATION)?.parse().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_parsed_and_unknown_ones_concern_every_worker() {
        for class in WorkClass::ALL.iter().copied().map(Some).chain([None]) {
            let queued = Queued { jobs: 100, class };
            assert_eq!(Queued::of_payload(&queued.to_payload()), queued);
        }
        for unknown in ["", "x", "3 8k", "many share"] {
            assert_eq!(Queued::of_payload(unknown), Queued { jobs: 1, class: None }, "{unknown}");
        }
    }
}
