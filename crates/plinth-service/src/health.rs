//! Health check of database and store, with a time limit.

use std::future::Future;
use std::time::Duration;

use plinth_spec::wire::{Health, PartHealth, ServiceHealth};
use plinth_store::Store;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::service::Service;

/// Timeout of the check of database and store. It is short enough for `/health` to respond within 2 s in total.
const PING_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time for which the result of a store check is cached.
const STORE_FRESH_FOR: Duration = Duration::from_secs(5);

/// Cached result of the last store check: its time, and whether the store responded.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth(Mutex<Option<(Instant, bool)>>);

impl StoreHealth {
    /// Returns whether the store responds. Concurrent callers share one check.
    async fn is_up(&self, store: &Store) -> bool {
        let mut last = self.0.lock().await;
        if let Some((asked, is_up)) = *last
            && asked.elapsed() < STORE_FRESH_FOR
        {
            return is_up;
        }
        let is_up = responds("store", store.ping()).await;
        *last = Some((Instant::now(), is_up));
        is_up
    }
}

impl Service {
    /// Returns whether the database responds in time.
    pub async fn database_responds(&self) -> bool {
        responds("database", self.db.ping()).await
    }

    /// Checks whether database and store respond.
    pub async fn health(&self) -> Health {
        let (database, store) = tokio::join!(self.database_responds(), self.store_health.is_up(&self.store));
        let part = |is_up: bool| if is_up { PartHealth::Ok } else { PartHealth::Unreachable };
        Health {
            status: if database && store { ServiceHealth::Ok } else { ServiceHealth::Degraded },
            database: part(database),
            store: part(store),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Returns whether a ping succeeds in time. Logs the reason if the ping fails.
async fn responds<E: std::fmt::Display>(part: &str, ping: impl Future<Output = Result<(), E>>) -> bool {
    match timeout(PING_TIMEOUT, ping).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::error!(error = %error, part, "health check failed");
            false
        }
        Err(_elapsed) => {
            tracing::error!(part, waited_ms = PING_TIMEOUT.as_millis(), "health check timed out");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use plinth_store::{LinkSigner, StoreOptions};

    use super::*;

    #[tokio::test]
    async fn the_store_is_asked_once_in_five_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let signer = LinkSigner::new("http://localhost".parse().unwrap());
        let address = format!("file://{}", folder.path().join("objects").display());
        let store = Store::open(StoreOptions { address, s3: Vec::new(), s3_public_endpoint: None, signer }).unwrap();
        let health = StoreHealth::default();
        assert!(health.is_up(&store).await);
        std::fs::remove_dir_all(folder.path().join("objects")).unwrap();
        std::fs::write(folder.path().join("objects"), "not a folder").unwrap();
        assert!(health.is_up(&store).await, "the result of the first check is used");
        *health.0.lock().await = Instant::now().checked_sub(STORE_FRESH_FOR).map(|asked| (asked, true));
        assert!(!health.is_up(&store).await);
    }

    #[tokio::test]
    async fn a_hanging_ping_fails_after_the_timeout() {
        let begin = Instant::now();
        assert!(!responds("store", pending::<Result<(), std::fmt::Error>>()).await);
        assert!(begin.elapsed() < Duration::from_secs(2));
        assert!(responds("store", async { Ok::<_, std::fmt::Error>(()) }).await);
        assert!(!responds("store", async { Err(std::fmt::Error) }).await);
    }
}
