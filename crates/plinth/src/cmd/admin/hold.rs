//! Runs work while deletion from the store is paused.

use std::pin::pin;

use anyhow::{Context as _, Result, bail, ensure};
use plinth_service::Service;
use tokio_util::sync::CancellationToken;

use crate::cmd::message_only;
use crate::signals;

const EXPIRED: &str =
    "the hold on the store expired before the end, so files may be missing; remove the copy and start again";

/// Places a hold on the store, runs `work`, and releases the hold, even if `work` failed. `work` receives a token that
/// is cancelled by the first signal to this process, or when the hold has expired; then `work` must return soon.
/// Errors: `work` failed, a signal arrived, or the hold expired before `work` ended, so that objects may have been
/// deleted.
pub(super) async fn with_hold<T>(
    service: &Service,
    work: impl AsyncFnOnce(CancellationToken) -> Result<T>,
) -> Result<T> {
    let stop = signals::listen()?;
    let hold = service.hold_storage().await.map_err(message_only)?;
    let end = stop.child_token();
    let mut working = pin!(work(end.clone()));
    let (worked, is_lost) = tokio::select! {
        worked = &mut working => (worked, false),
        () = hold.lost() => {
            end.cancel();
            (working.await, true)
        }
    };
    let released = hold.release().await.map_err(message_only);
    ensure!(!is_lost, EXPIRED);
    let value = worked?;
    if stop.is_cancelled() {
        bail!("stopped by a signal; the copy is not complete");
    }
    let was_held = released.context("the hold on the store could not be released; it expires by itself")?;
    ensure!(was_held, EXPIRED);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use plinth_db::{Db, DbOptions};
    use plinth_service::{Clock, ServiceOptions};
    use plinth_store::{LinkSigner, Store, StoreOptions};
    use plinth_testkit::TestDatabase;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn work_is_stopped_when_its_hold_has_expired() {
        let (database, folder) = (TestDatabase::sqlite(), tempfile::tempdir().unwrap());
        let time = Arc::new(AtomicI64::new(1_800_000_000_000));
        // The hold is renewed ten times per second of real time.
        let options =
            ServiceOptions { clock: Clock::Set(Arc::clone(&time)), hold_secs: 1, ..ServiceOptions::default() };
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let store = Store::open(StoreOptions {
            address: format!("file://{}", folder.path().display()),
            s3: Vec::new(),
            s3_public_endpoint: None,
            signer: LinkSigner::new("http://127.0.0.1:1".parse().unwrap()),
        });
        let service = Service::new(db, store.unwrap(), options);
        let work = with_hold(&service, async |stop| {
            time.fetch_add(1000, Ordering::SeqCst);
            stop.cancelled().await;
            Ok(())
        });
        let error = tokio::time::timeout(Duration::from_mins(1), work).await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), EXPIRED);
    }
}
