//! Periodic maintenance, run by every server process.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::service::Service;
use crate::sweep::Swept;

/// Interval of the cleanup.
const SWEEP_EVERY: Duration = Duration::from_mins(5);
/// Interval of the search for partly written objects in the store.
const SWEEP_UNFINISHED_EVERY: Duration = Duration::from_hours(24);

impl Service {
    /// Requeues renders with expired leases and runs the cleanups, first immediately and then periodically. Never
    /// returns. The future may be dropped at any time.
    pub async fn upkeep(&self) {
        let lease = Duration::from_secs(u64::from(self.options.lease_secs));
        // The loops run concurrently, so that a slow store does not delay the loop that requeues renders.
        let reclaiming = async {
            let mut timer = timer(Duration::ZERO, lease / 4);
            loop {
                timer.tick().await;
                self.reclaim_leases().await;
            }
        };
        let sweeping = async {
            let mut timer = timer(Duration::ZERO, SWEEP_EVERY);
            loop {
                timer.tick().await;
                self.sweep_all().await;
            }
        };
        let sweeping_unfinished = async {
            let mut timer = timer(SWEEP_EVERY, SWEEP_UNFINISHED_EVERY);
            loop {
                timer.tick().await;
                self.sweep_all_unfinished().await;
            }
        };
        // None of the loops ends.
        tokio::select! {
            () = reclaiming => {}
            () = sweeping => {}
            () = sweeping_unfinished => {}
        }
    }

    async fn reclaim_leases(&self) {
        match self.reclaim_expired_leases().await {
            Ok(0) => {}
            Ok(reclaimed) => {
                tracing::warn!(
                    reclaimed,
                    "workers stopped renewing their leases; their renders were requeued or failed"
                );
            }
            Err(error) => tracing::error!(error = %causes(&error), "searching for expired leases failed"),
        }
    }

    async fn sweep_all(&self) {
        match self.sweep_incoming().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "deleted incomplete uploads of killed servers"),
            Err(error) => tracing::error!(error = %causes(&error), "cleaning up the upload folder failed"),
        }
        // A local store needs no measuring, because each upload to it records its size.
        if self.store.local_signer().is_none() {
            match self.measure_staged().await {
                Ok(0) => {}
                Ok(files) => tracing::warn!(files, "deleted uploaded files that are too large for a model"),
                Err(error) => tracing::error!(error = %causes(&error), "measuring uploaded files failed"),
            }
        }
        loop {
            match self.sweep().await {
                Ok(swept) if swept == Swept::default() => return,
                Ok(swept) => {
                    tracing::info!(objects = swept.objects, rows = swept.rows, "cleanup deleted objects and rows");
                }
                Err(error) => return tracing::error!(error = %causes(&error), "cleanup failed"),
            }
        }
    }

    async fn sweep_all_unfinished(&self) {
        match self.sweep_unfinished().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "deleted partly written objects"),
            Err(error) => tracing::error!(error = %causes(&error), "cleaning up the store failed"),
        }
    }
}

fn timer(first: Duration, period: Duration) -> Interval {
    let mut timer = interval_at(Instant::now() + first, period);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    timer
}

/// Formats an error and its causes for the log.
fn causes(error: &dyn std::error::Error) -> String {
    let next = std::iter::successors(error.source(), |cause| cause.source());
    next.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
