//! Whether the service can work. Anybody may ask, so an answer is cheap and never late.

use std::sync::Arc;
use std::time::Duration;

use plinth_spec::wire::Health;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::service::Service;

/// Database and store answer within this time.
const ANSWER: Duration = Duration::from_millis(1500);
/// The store is asked at most once in this time, for all callers together.
const STORE_EVERY: Duration = Duration::from_secs(5);

/// When the store was asked, and whether it answered. Held while it is asked: others wait for that answer.
pub(crate) type StoreHealth = Arc<Mutex<Option<(Instant, bool)>>>;

impl Service {
    /// Whether database and store answer. Takes less than two seconds, whatever hangs.
    pub async fn health(&self) -> Health {
        let (database, store) = tokio::join!(self.is_database_well(), timeout(ANSWER, self.is_store_well()));
        let store = store.unwrap_or(false);
        let word = |ok: bool| if ok { "ok" } else { "unreachable" };
        Health {
            status: if database && store { "ok" } else { "degraded" },
            database: word(database),
            store: word(store),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    async fn is_database_well(&self) -> bool {
        match timeout(ANSWER, self.db.ping()).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => tracing::error!(error = %error, "the database does not answer"),
            Err(_late) => tracing::error!("the database does not answer in time"),
        }
        false
    }

    async fn is_store_well(&self) -> bool {
        let mut known = self.store_health.lock().await;
        if let Some((at, is_well)) = *known
            && at.elapsed() < STORE_EVERY
        {
            return is_well;
        }
        let begin = Instant::now();
        // A caller who goes away in the middle leaves what it found: no answer yet.
        *known = Some((begin, false));
        let is_well = match self.store.ping().await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(error = %error, "the store does not answer");
                false
            }
        };
        *known = Some((begin, is_well));
        is_well
    }
}
