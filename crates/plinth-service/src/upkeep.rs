//! What has to be done again and again, on every machine.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::service::Service;
use crate::sweep::Swept;

/// Time between two looks for what nobody needs any more.
const SWEEP_EVERY: Duration = Duration::from_mins(5);
/// Time between two looks for what killed processes left in the store.
const SWEEP_UNFINISHED_EVERY: Duration = Duration::from_hours(24);

impl Service {
    /// Reaps lost leases and sweeps, at once and then again and again, for ever. It may be dropped at any moment.
    pub async fn upkeep(&self) {
        let mut reap = interval(Duration::from_secs(u64::from(self.options.lease_secs)) / 4);
        let mut sweep = interval(SWEEP_EVERY);
        let mut sweep_unfinished = interval_at(Instant::now() + SWEEP_EVERY, SWEEP_UNFINISHED_EVERY);
        for timer in [&mut reap, &mut sweep, &mut sweep_unfinished] {
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        loop {
            tokio::select! {
                _at = reap.tick() => self.reap_lost().await,
                _at = sweep.tick() => self.sweep_all().await,
                _at = sweep_unfinished.tick() => self.sweep_all_unfinished().await,
            }
        }
    }

    async fn reap_lost(&self) {
        match self.reap().await {
            Ok(0) => {}
            Ok(reaped) => tracing::warn!(reaped, "workers were not heard of any more; their renders were given up"),
            Err(error) => tracing::error!(error = %causes(&error), "lost renders could not be looked for"),
        }
    }

    async fn sweep_all(&self) {
        loop {
            match self.sweep().await {
                Ok(swept) if swept == Swept::default() => return,
                Ok(swept) => tracing::info!(objects = swept.objects, rows = swept.rows, "swept"),
                Err(error) => return tracing::error!(error = %causes(&error), "could not sweep"),
            }
        }
    }

    async fn sweep_all_unfinished(&self) {
        match self.sweep_unfinished().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "swept what was left of objects that were never stored"),
            Err(error) => tracing::error!(error = %causes(&error), "the store could not be swept"),
        }
    }
}

/// An error with its causes, for the log.
fn causes(error: &dyn std::error::Error) -> String {
    let next = std::iter::successors(error.source(), |cause| cause.source());
    next.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
