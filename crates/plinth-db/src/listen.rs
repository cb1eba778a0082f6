//! Notifications of PostgreSQL, which replace polling: queued work wakes idle workers, and a drawn preview wakes the server
//! that waits for it.

use plinth_spec::{Takes, WorkClass};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::Result;
use crate::conn::Conn;
use crate::error::DbError;
use crate::pool::{Db, QUERY_TIMEOUT};
use crate::sql::params;
use crate::tx::Tx;

/// Channels of PostgreSQL: for queued work, for waiting previews, and for drawn previews.
const CHANNEL: &str = "plinth_queue";
const PREVIEW_CHANNEL: &str = "plinth_preview";
const PICTURE_CHANNEL: &str = "plinth_picture";
/// Prefix of the `application_name` of workers' connections. After it comes the work that the worker takes.
const APPLICATION: &str = "plinth-listener ";
/// The `application_name` of servers' connections.
const PICTURE_APPLICATION: &str = "plinth-pictures";

/// Work that a transaction has queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub jobs: u32,
    /// Class of the jobs; `None` for work that every worker takes.
    pub class: Option<WorkClass>,
}

impl Queued {
    fn to_payload(self) -> String {
        format!("{} {}", self.jobs, self.class.map_or("", WorkClass::as_str))
    }

    /// Parses a payload. Returns one job without a class if the payload cannot be parsed, because another version of the
    /// program may have sent it for any worker.
    fn of_payload(payload: &str) -> Self {
        let parsed = payload.split_once(' ').and_then(|(jobs, class)| {
            let class = if class.is_empty() { None } else { Some(WorkClass::from_name(class)?) };
            Some(Self { jobs: jobs.parse().ok()?, class })
        });
        parsed.unwrap_or(Self { jobs: 1, class: None })
    }
}

/// Notifies the listening workers of queued work as soon as the transaction is committed. Does nothing on SQLite.
pub(crate) async fn notify(tx: &mut Tx, queued: Queued) -> Result<()> {
    send(tx, CHANNEL, &queued.to_payload()).await
}

/// Notifies the worker with the lease token `holder` that a preview waits; without a `holder`, notifies all workers that
/// draw previews. Does nothing on SQLite.
pub(crate) async fn notify_preview(tx: &mut Tx, holder: Option<&str>) -> Result<()> {
    send(tx, PREVIEW_CHANNEL, holder.unwrap_or_default()).await
}

/// Notifies the server that waits for the picture of this request; the picture is drawn, or the request was replaced. Does
/// nothing on SQLite.
pub(crate) async fn notify_picture(tx: &mut Tx, request_id: &str) -> Result<()> {
    send(tx, PICTURE_CHANNEL, request_id).await
}

async fn send(tx: &mut Tx, channel: &str, payload: &str) -> Result<()> {
    if !tx.is_postgres() {
        return Ok(());
    }
    tx.execute("SELECT pg_notify($1, $2)", params![channel, payload]).await.map(drop)
}

/// A notification that a worker receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Work has been queued.
    Queued(Queued),
    /// A preview waits for the worker with this lease token; without a token, for any worker.
    Preview(Option<String>),
}

/// A separate connection to PostgreSQL that receives notifications of queued work.
#[derive(Debug)]
pub struct QueueListener(PgListener);

/// A separate connection to PostgreSQL that receives notifications of drawn previews.
#[derive(Debug)]
pub struct PictureListener(PgListener);

impl Db {
    /// Connects a listener for a worker that takes the work `takes`. `None` on SQLite, which has no notifications.
    pub async fn listen(&self, takes: &Takes) -> Result<Option<QueueListener>> {
        let channels = if takes.includes_previews() { &[CHANNEL, PREVIEW_CHANNEL][..] } else { &[CHANNEL] };
        Ok(self.connect_listener(&format!("{APPLICATION}{takes}"), channels).await?.map(QueueListener))
    }

    /// Connects a listener for a server that waits for previews. `None` on SQLite, which has no notifications.
    pub async fn listen_for_pictures(&self) -> Result<Option<PictureListener>> {
        Ok(self.connect_listener(PICTURE_APPLICATION, &[PICTURE_CHANNEL]).await?.map(PictureListener))
    }

    async fn connect_listener(&self, name: &str, channels: &[&str]) -> Result<Option<PgListener>> {
        let Some(options) = self.postgres_options() else { return Ok(None) };
        // The listener uses the only connection of this pool. Without these options, the pool would close the connection
        // after some time.
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let connecting = async {
            let pool = pool.connect_with(options.application_name(name)).await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            // A lost connection is reported at once, because notifications that it would have delivered may be lost.
            listener.eager_reconnect(false);
            listener.listen_all(channels.iter().copied()).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        Ok(Some(timeout(QUERY_TIMEOUT, connecting).await.map_err(|_late| DbError::QueryTimeout)??))
    }
}

/// Selects the `application_name` of each worker, on any machine, that listens to this database.
const LISTENERS: &str = "SELECT application_name FROM pg_stat_activity \
                         WHERE datname = current_database() AND starts_with(application_name, $1)";

/// Returns the work that a listening worker takes, which is part of its `application_name`.
fn taken(name: &str) -> Option<Takes> {
    name.strip_prefix(APPLICATION)?.parse().ok()
}

/// Returns whether a worker listens for previews. `None` on SQLite, which has no notifications.
pub async fn is_preview_worker_listening(conn: &mut Conn) -> Result<Option<bool>> {
    if !conn.is_postgres() {
        return Ok(None);
    }
    let rows = conn.fetch_all(LISTENERS, params![APPLICATION]).await?;
    let names = rows.iter().map(|row| row.text("application_name")).collect::<Result<Vec<_>>>()?;
    Ok(Some(names.iter().filter_map(|name| taken(name)).any(|takes| takes.includes_previews())))
}

impl QueueListener {
    /// Waits for the next notification. Dropping the future loses no notification.
    /// Errors: the connection is lost.
    pub async fn next(&mut self) -> Result<Heard> {
        let received = self.0.try_recv().await?.ok_or(sqlx::Error::PoolClosed)?;
        let payload = received.payload();
        Ok(match received.channel() {
            PREVIEW_CHANNEL => Heard::Preview((!payload.is_empty()).then(|| payload.to_owned())),
            _queue => Heard::Queued(Queued::of_payload(payload)),
        })
    }

    /// Returns the work taken by each worker that listens to this database, on any machine.
    pub async fn list_listeners(&mut self) -> Result<Vec<Takes>> {
        let asking = sqlx::query_scalar::<_, String>(LISTENERS).bind(APPLICATION).fetch_all(&mut self.0);
        let names = timeout(QUERY_TIMEOUT, asking).await.map_err(|_late| DbError::QueryTimeout)??;
        Ok(names.iter().filter_map(|name| taken(name)).collect())
    }
}

impl PictureListener {
    /// Waits for the next drawn preview, and returns the identifier of its request. Dropping the future loses no
    /// notification.
    /// Errors: the connection is lost.
    pub async fn next(&mut self) -> Result<String> {
        let received = self.0.try_recv().await?.ok_or(sqlx::Error::PoolClosed)?;
        Ok(received.payload().to_owned())
    }

    /// Tests the connection with a query.
    /// Errors: the connection is lost, or PostgreSQL does not respond.
    pub async fn check(&mut self) -> Result<()> {
        let asking = sqlx::query("SELECT 1").execute(&mut self.0);
        timeout(QUERY_TIMEOUT, asking).await.map_err(|_late| DbError::QueryTimeout)??;
        Ok(())
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
