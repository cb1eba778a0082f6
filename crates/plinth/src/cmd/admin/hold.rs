//! Runs work while deletion from the store is paused.

use anyhow::{Context as _, Result, bail, ensure};
use plinth_service::Service;
use tokio_util::sync::CancellationToken;

use crate::cmd::message_only;
use crate::signals;

/// Places a hold on the store, runs `work`, and releases the hold, even if `work` failed. `work` receives a token that
/// is cancelled by the first signal to this process; after this, `work` must return soon.
/// Errors: `work` failed, a signal arrived, or the hold expired before `work` ended, so that objects may have been
/// deleted.
pub(super) async fn with_hold<T>(
    service: &Service,
    work: impl AsyncFnOnce(CancellationToken) -> Result<T>,
) -> Result<T> {
    let stop = signals::listen()?;
    let hold = service.hold_storage().await.map_err(message_only)?;
    let worked = work(stop.clone()).await;
    let released = hold.release().await.map_err(message_only);
    let value = worked?;
    if stop.is_cancelled() {
        bail!("stopped by a signal; the copy is not complete");
    }
    let was_held = released.context("the hold on the store could not be released; it expires by itself")?;
    ensure!(
        was_held,
        "the hold on the store expired before the end, so files may be missing; remove the copy and start again"
    );
    Ok(value)
}
