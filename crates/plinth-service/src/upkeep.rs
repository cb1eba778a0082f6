//! What has to be done again and again, on every machine.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::service::Service;
use crate::sweep::Swept;

/// Time between two looks for what nobody needs any more.
const SWEEP_EVERY: Duration = Duration::from_mins(5);
/// Time between two looks for what killed processes left in the store.
const SWEEP_UNFINISHED_EVERY: Duration = Duration::from_hours(24);

impl Service {
    /// Reaps lost leases and sweeps, at once and then again and again, for ever. It may be dropped at any moment.
    pub async fn upkeep(&self) {
        let lease = Duration::from_secs(u64::from(self.options.lease_secs));
        // Beside each other: none waits for a slow store.
        let reaping = async {
            let mut timer = timer(Duration::ZERO, lease / 4);
            loop {
                timer.tick().await;
                self.reap_lost().await;
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
        // None of them ends.
        tokio::select! {
            () = reaping => {}
            () = sweeping => {}
            () = sweeping_unfinished => {}
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
        match self.sweep_incoming().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "removed uploads of servers that were killed"),
            Err(error) => tracing::error!(error = %causes(&error), "the folder of uploads could not be cleared"),
        }
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

fn timer(first: Duration, period: Duration) -> Interval {
    let mut timer = interval_at(Instant::now() + first, period);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    timer
}

/// An error with its causes, for the log.
fn causes(error: &dyn std::error::Error) -> String {
    let next = std::iter::successors(error.source(), |cause| cause.source());
    next.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
