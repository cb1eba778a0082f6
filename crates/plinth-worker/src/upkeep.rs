//! What every machine does now and then for all: ending what dead workers held, clearing away what nobody needs.

use std::time::Duration;

use plinth_service::Service;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Looks for dead workers within the time of a lease.
const LOOKS: u32 = 4;
/// Time between two clearances.
const SWEEP: Duration = Duration::from_mins(5);

/// Reaps and sweeps until `stop` is cancelled. [`crate::run`] does this beside its work; a program without a worker calls
/// it by itself.
pub async fn upkeep(service: Service, stop: CancellationToken) {
    let mut reap = interval(Duration::from_secs(service.options().lease_secs.into()) / LOOKS);
    let mut sweep = interval(SWEEP);
    reap.set_missed_tick_behavior(MissedTickBehavior::Delay);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _now = reap.tick() => match service.reap().await {
                Ok(0) => {}
                Ok(count) => tracing::warn!(count, "renders of dead workers were ended"),
                Err(error) => tracing::error!(error = %error, cause = ?error.cause, "dead workers cannot be looked for"),
            },
            _now = sweep.tick() => clear(&service, &stop).await,
        }
    }
}

/// Sweeps until nothing is left to clear.
async fn clear(service: &Service, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        match service.sweep().await {
            Ok(swept) if swept == plinth_service::Swept::default() => return,
            Ok(swept) => tracing::info!(objects = swept.objects, rows = swept.rows, "cleared away what nobody needs"),
            Err(error) => {
                tracing::error!(error = %error, cause = ?error.cause, "clearing away failed");
                return;
            }
        }
    }
}
