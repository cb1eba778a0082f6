//! Health check of database and store, with a time limit.

use std::fmt::Display;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plinth_spec::wire::{Health, PartHealth, ServiceHealth};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use crate::service::Service;

/// Timeout of the check of database and store. It is short enough for `/health` to respond within 2 s in total.
const PING_TIMEOUT: Duration = Duration::from_millis(1500);
/// Minimum time from the beginning of one store check to the next. In between, the result of the check is used.
const STORE_FRESH_FOR: Duration = Duration::from_secs(5);

/// The checks of database and store.
#[derive(Debug)]
pub(crate) struct HealthChecks {
    database: SharedCheck,
    store: SharedCheck,
}

impl Default for HealthChecks {
    fn default() -> Self {
        Self {
            database: SharedCheck::new("database", Duration::ZERO),
            store: SharedCheck::new("store", STORE_FRESH_FOR),
        }
    }
}

/// A check whose result is shared by all callers that arrive while it runs or while its result is fresh.
#[derive(Debug)]
struct SharedCheck {
    /// Name of the part of the service that is checked.
    part: &'static str,
    /// Time from the beginning of a check for which its result is fresh.
    fresh_for: Duration,
    last: Mutex<Option<Check>>,
}

#[derive(Debug)]
struct Check {
    begun_at: Instant,
    /// Whether the part responds; `None` until this is known.
    is_up: watch::Receiver<Option<bool>>,
    task: AbortHandle,
}

impl SharedCheck {
    const fn new(part: &'static str, fresh_for: Duration) -> Self {
        Self { part, fresh_for, last: Mutex::new(None) }
    }

    /// Returns whether the part responds in time. Calls `ping` unless an earlier check runs or is fresh; then waits at most for the rest
    /// of its time. A caller that leaves does not end the check.
    async fn is_up<P, E>(&self, ping: impl FnOnce() -> P) -> bool
    where
        P: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let mut is_up = self.current(ping);
        // There is an error only if the check has panicked, or if the runtime is being shut down.
        is_up.wait_for(Option::is_some).await.is_ok_and(|is_up| *is_up == Some(true))
    }

    fn current<P, E>(&self, ping: impl FnOnce() -> P) -> watch::Receiver<Option<bool>>
    where
        P: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_usable = |check: &Check| check.begun_at.elapsed() < self.fresh_for || !check.task.is_finished();
        let check = last.take().filter(is_usable).unwrap_or_else(|| begin(self.part, ping()));
        last.insert(check).is_up.clone()
    }
}

/// Begins a check in its own task. The task runs until the ping ends, even if it ends too late, so that there is only one ping of a part
/// that does not respond, and so that the database's connection is not dropped during a query.
fn begin<E>(part: &'static str, ping: impl Future<Output = Result<(), E>> + Send + 'static) -> Check
where
    E: Display + Send + 'static,
{
    let (tell, is_up) = watch::channel(None);
    let task = tokio::spawn(async move {
        let mut ping = pin!(ping);
        let answer = timeout(PING_TIMEOUT, ping.as_mut()).await;
        let is_late = answer.is_err();
        tell.send_replace(Some(has_succeeded(part, answer)));
        if is_late {
            let _late = ping.await;
        }
    });
    Check { begun_at: Instant::now(), is_up, task: task.abort_handle() }
}

/// Returns whether a ping has succeeded in time. Logs the reason if it has not.
fn has_succeeded<E: Display>(part: &str, answer: Result<Result<(), E>, Elapsed>) -> bool {
    match answer {
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

impl Service {
    /// Returns whether the database responds in time.
    pub async fn database_responds(&self) -> bool {
        // The connections for requests may all wait for locks while the database responds.
        let ping = || {
            let db = self.leases.clone();
            async move { db.ping().await }
        };
        self.health_checks.database.is_up(ping).await
    }

    /// Checks whether database and store respond.
    pub async fn health(&self) -> Health {
        let ping = || {
            let store = self.store.clone();
            async move { store.ping().await }
        };
        let (database, store) = tokio::join!(self.database_responds(), self.health_checks.store.is_up(ping));
        let part = |is_up: bool| if is_up { PartHealth::Ok } else { PartHealth::Unreachable };
        Health {
            status: if database && store { ServiceHealth::Ok } else { ServiceHealth::Degraded },
            database: part(database),
            store: part(store),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Error;
    use std::future::{Pending, pending};
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::FutureExt as _;
    use plinth_store::{LinkSigner, Store, StoreOptions};

    use super::*;

    #[tokio::test]
    async fn the_store_is_asked_once_in_five_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let signer = LinkSigner::new("http://localhost".parse().unwrap());
        let address = format!("file://{}", folder.path().join("objects").display());
        let store = Store::open(StoreOptions { address, s3: Vec::new(), s3_public_endpoint: None, signer }).unwrap();
        let ping = || {
            let store = store.clone();
            async move { store.ping().await }
        };
        let check = HealthChecks::default().store;
        assert!(check.is_up(ping).await);
        std::fs::remove_dir_all(folder.path().join("objects")).unwrap();
        std::fs::write(folder.path().join("objects"), "not a folder").unwrap();
        assert!(check.is_up(ping).await, "the result of the first check is used");
        check.last.lock().unwrap().as_mut().unwrap().begun_at -= STORE_FRESH_FOR;
        assert!(!check.is_up(ping).await);
    }

    #[tokio::test]
    async fn the_database_is_asked_by_each_caller_that_finds_no_running_check() {
        let check = HealthChecks::default().database;
        assert!(check.is_up(|| async { Ok::<_, Error>(()) }).await);
        assert!(!check.is_up(|| async { Err(Error) }).await);
        assert!(check.is_up(|| async { Ok::<_, Error>(()) }).await);
    }

    #[tokio::test]
    async fn a_hanging_ping_fails_after_the_timeout_for_all_callers() {
        for check in [HealthChecks::default().database, HealthChecks::default().store] {
            let pings = AtomicU32::new(0);
            let ping = || -> Pending<Result<(), Error>> {
                pings.fetch_add(1, Ordering::SeqCst);
                pending()
            };
            let begin = Instant::now();
            assert_eq!(check.is_up(ping).now_or_never(), None, "the first caller leaves");
            assert!(!check.is_up(ping).await);
            assert!(!check.is_up(ping).await);
            assert!(begin.elapsed() < Duration::from_secs(2));
            assert_eq!(pings.load(Ordering::SeqCst), 1);
        }
    }
}
