//! Whether database and store answer, within a bounded time whatever hangs.

use std::future::Future;
use std::time::Duration;

use plinth_spec::wire::Health;
use plinth_store::Store;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::service::Service;

/// How long database and store may take to answer. Together with what is around it, `/health` answers within 2 s.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long an answer of the store counts for all callers together.
const STORE_FRESH_FOR: Duration = Duration::from_secs(5);

/// When the store was last asked, and whether it answered.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth(Mutex<Option<(Instant, bool)>>);

impl StoreHealth {
    /// Whether the store answers. Callers at the same time share one request to it.
    async fn is_up(&self, store: &Store) -> bool {
        let mut last = self.0.lock().await;
        if let Some((asked, is_up)) = *last
            && asked.elapsed() < STORE_FRESH_FOR
        {
            return is_up;
        }
        let is_up = answers("store", store.ping()).await;
        *last = Some((Instant::now(), is_up));
        is_up
    }
}

impl Service {
    /// Whether database and store answer.
    pub async fn health(&self) -> Health {
        let (database, store) = tokio::join!(answers("database", self.db.ping()), self.store_health.is_up(&self.store));
        let word = |is_up: bool| if is_up { "ok" } else { "unreachable" };
        Health {
            status: if database && store { "ok" } else { "degraded" },
            database: word(database),
            store: word(store),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Whether a part of the service answers in time; the log says why not.
async fn answers<E: std::fmt::Display>(part: &str, ping: impl Future<Output = Result<(), E>>) -> bool {
    match timeout(PATIENCE, ping).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::error!(error = %error, part, "a part of the service does not answer");
            false
        }
        Err(_elapsed) => {
            tracing::error!(part, waited_ms = PATIENCE.as_millis(), "a part of the service does not answer in time");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn what_hangs_is_down_after_a_bounded_time() {
        let begin = Instant::now();
        assert!(!answers("store", pending::<Result<(), std::fmt::Error>>()).await);
        assert!(begin.elapsed() < Duration::from_secs(2));
        assert!(answers("store", async { Ok::<_, std::fmt::Error>(()) }).await);
        assert!(!answers("store", async { Err(std::fmt::Error) }).await);
    }
}
