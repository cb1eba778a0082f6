//! Work during which nothing is removed from the store.

use anyhow::{Context as _, Result, bail, ensure};
use plinth_service::Service;
use tokio_util::sync::CancellationToken;

use super::run::refused;
use crate::signals;

/// Runs `work` while the store is held, and releases the hold however the work ends. `work` gets a token that the first
/// signal to stop cancels, and returns soon after that.
/// Errors: what `work` returns; a signal; the hold expired meanwhile, so that objects may have been removed.
pub(super) async fn held<T>(service: &Service, work: impl AsyncFnOnce(CancellationToken) -> Result<T>) -> Result<T> {
    let stop = signals::listen()?;
    let hold = service.hold_storage().await.map_err(refused)?;
    let worked = work(stop.clone()).await;
    let released = hold.release().await.map_err(refused);
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
