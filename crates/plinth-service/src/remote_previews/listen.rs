//! Receives PostgreSQL's notifications of drawn previews.

use std::time::Duration;

use plinth_db::DbError;
use tokio::time::{sleep, timeout};

use crate::service::Service;

/// Pauses before the listener connects again are spread over this time.
const RECONNECT: Duration = Duration::from_secs(1);
/// Time without a notification after which the connection is tested. A connection that was cut without notice delivers
/// nothing and reports no error.
const CHECK_AFTER: Duration = Duration::from_mins(1);

impl Service {
    /// Notifies the request handlers of this process when a worker of another process has drawn their previews. If this task
    /// does not run, the handlers poll the database. Never returns. Does nothing on SQLite.
    pub async fn listen_for_pictures(&self) {
        loop {
            let Err(error) = self.hear_pictures().await;
            self.arrivals.set_listening(false);
            tracing::warn!(error = %error, "the connection that listens for drawn previews is lost; it is opened again");
            sleep(RECONNECT.mul_f64(fastrand::f64())).await;
        }
    }

    async fn hear_pictures(&self) -> Result<std::convert::Infallible, DbError> {
        let Some(mut listener) = self.db.listen_for_pictures().await? else { return std::future::pending().await };
        self.arrivals.set_listening(true);
        loop {
            match timeout(CHECK_AFTER, listener.next()).await {
                Ok(request_id) => self.arrivals.arrived(&request_id?),
                Err(_quiet) => listener.check().await?,
            }
        }
    }

    /// Waits until a preview may be waiting for the worker of this process.
    pub async fn preview_requested(&self) {
        self.arrivals.requested.notified().await;
    }

    /// Returns whether PostgreSQL notifies workers of previews. On SQLite, workers have to poll.
    pub const fn notifies_workers(&self) -> bool {
        self.db.is_shared()
    }
}
