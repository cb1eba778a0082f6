//! Periodic maintenance, run by every server process.

use std::time::Duration;

use plinth_db::{Tx, clock_step, instance, share_time};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::cleanup::CleanupReport;
use crate::error::{Result, ServiceError};
use crate::jobs::Reclaimed;
use crate::remote_previews::HOLDING_MS;
use crate::service::Service;

const CLEANUP_INTERVAL: Duration = Duration::from_mins(5);
/// Interval at which recorded changes are added to the render counts. Lists with a filter read the counts and all changes
/// that were not added yet.
const COUNT_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of the search for partly written objects in the store, for wrong sizes of workspaces and wrong render counts.
const DAILY: Duration = Duration::from_hours(24);

/// Key in the table `instance`. Its value is the time of the last write that tested the database after an outage.
const TIME_OF_WRITE: &str = "time_of_write";

impl Service {
    /// Runs the cleanups immediately and then periodically. Requeues renders with expired leases periodically, for the first
    /// time after half a lease time: if an outage of the database has just ended, workers first need time to renew their
    /// leases. Never returns. The future may be dropped at any time.
    pub async fn run_maintenance(&self) {
        let lease = Duration::from_secs(u64::from(self.options.lease_secs));
        // The loops run concurrently, so that a slow store does not delay the loop that requeues renders.
        let reclaiming = async {
            // There may have been an outage of the database that ended just before this process was started.
            let mut timer = timer(lease / 2, lease / 4);
            let mut rounds = Rounds { lease, last_ms: None };
            loop {
                timer.tick().await;
                if self.options.clock.read_ms(&self.db).await.is_ok_and(|now_ms| rounds.begin(now_ms)) {
                    // This process was suspended, or the clock was changed. Workers need time to renew their leases.
                    tokio::time::sleep(lease / 2).await;
                    rounds.restart(self.options.clock.read_ms(&self.db).await.ok());
                }
                if !self.reclaim_leases().await {
                    while self.store_time_of_write().await.is_err() {
                        timer.tick().await;
                    }
                    // After an outage of the database, workers need time to renew their leases.
                    tokio::time::sleep(lease / 2).await;
                    rounds.restart(self.options.clock.read_ms(&self.db).await.ok());
                }
            }
        };
        let counting = async {
            let mut timer = timer(Duration::ZERO, COUNT_INTERVAL);
            loop {
                timer.tick().await;
                self.correct_times_and_counts().await;
            }
        };
        let cleaning = async {
            let mut timer = timer(Duration::ZERO, CLEANUP_INTERVAL);
            loop {
                timer.tick().await;
                self.run_cleanup().await;
            }
        };
        // Sizes of renders of earlier versions are measured in a separate loop. With millions of renders, measuring
        // takes an hour after an upgrade.
        let measuring = async {
            let mut timer = timer(Duration::ZERO, CLEANUP_INTERVAL);
            loop {
                timer.tick().await;
                self.measure_old_renders().await;
            }
        };
        let cleaning_unfinished = async {
            let mut timer = timer(CLEANUP_INTERVAL, DAILY);
            loop {
                timer.tick().await;
                self.log_deleted_unfinished_objects().await;
                self.log_corrected_sizes().await;
                self.log_corrected_counts().await;
            }
        };
        // None of the loops ends.
        tokio::select! {
            () = reclaiming => {}
            () = counting => {}
            () = cleaning => {}
            () = measuring => {}
            () = cleaning_unfinished => {}
        }
    }

    /// Requeues renders with expired leases. Returns false if the database failed.
    async fn reclaim_leases(&self) -> bool {
        match self.reclaim_expired_leases().await {
            Ok(Reclaimed { renders, errors }) => {
                if renders > 0 {
                    tracing::warn!(
                        reclaimed = renders,
                        "workers stopped renewing their leases; their renders were requeued or failed"
                    );
                }
                errors == 0
            }
            Err(error) => {
                tracing::error!(error = %causes(&error), "searching for expired leases failed");
                false
            }
        }
    }

    /// Tests whether the database accepts writes. On a full disk or a read-only replica, reads succeed and writes fail.
    async fn store_time_of_write(&self) -> Result<()> {
        let written = self.write_at(|tx, now| {
            Box::pin(
                async move { instance::set(tx, TIME_OF_WRITE, &now.to_string()).await.map_err(ServiceError::from) },
            )
        });
        written.await
    }

    /// Corrects times that would stay wrong until the clock has caught up, if the clock of the database was set back: those by which
    /// fair shares are weighed and mails are sent, and the ends of leases and deletion holds.
    pub async fn correct_times(&self) -> Result<()> {
        let (clock, hold_ms) = (self.options.clock.clone(), self.hold_ms());
        let correcting = self.write_at(move |tx, now| {
            Box::pin(async move {
                Self::bring_mails_forward(tx, now).await?;
                let step_ms = share_time::keep(tx, now).await?;
                // Not only the server that notices the step does this, because it may be of an earlier version, and because
                // other transactions may still lock some rows. This process may have been suspended since `now`: leases must
                // not end early then.
                let now = clock.now_ms(tx).await?;
                shorten_leases_and_holds(tx, now, hold_ms).await?;
                Ok::<_, ServiceError>(step_ms)
            })
        });
        if let Some(step_ms) = correcting.await? {
            tracing::warn!(
                clock.step_ms = step_ms,
                "the clock of the database was set back; leases and deletion holds are shortened"
            );
        }
        Ok(())
    }

    async fn correct_times_and_counts(&self) {
        if let Err(error) = self.correct_times().await {
            tracing::error!(error = %causes(&error), "checking whether the clock of the database was set back failed");
        }
        if let Err(error) = self.add_render_count_changes().await {
            tracing::error!(error = %causes(&error), "adding up the changes of the numbers of renders failed");
        }
    }

    async fn run_cleanup(&self) {
        match self.delete_orphaned_uploads().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "deleted incomplete uploads of killed servers"),
            Err(error) => tracing::error!(error = %causes(&error), "cleaning up the upload folder failed"),
        }
        match self.measure_staged().await {
            Ok(0) => {}
            Ok(files) => tracing::warn!(
                files,
                "deleted uploaded files that are too large, or that arrived after their upload was finalized"
            ),
            Err(error) => tracing::error!(error = %causes(&error), "measuring uploaded files failed"),
        }
        loop {
            match self.clean_up().await {
                Ok(swept) if swept == CleanupReport::default() => return,
                Ok(swept) => {
                    let CleanupReport { objects, rows, models, renders } = swept;
                    tracing::info!(objects, rows, models, renders, "cleanup deleted objects and rows");
                }
                Err(error) => return tracing::error!(error = %causes(&error), "cleanup failed"),
            }
        }
    }

    async fn measure_old_renders(&self) {
        loop {
            match self.measure_renders().await {
                Ok(0) => return,
                Ok(renders) => tracing::info!(renders, "stored the sizes of renders of an earlier version"),
                Err(error) => {
                    return tracing::error!(error = %causes(&error), "measuring renders of an earlier version failed");
                }
            }
        }
    }

    async fn log_corrected_sizes(&self) {
        match self.recount_storage().await {
            Ok(0) => {}
            Ok(workspaces) => tracing::info!(workspaces, "corrected the sizes of the files of workspaces"),
            Err(error) => tracing::error!(error = %causes(&error), "checking the sizes of workspaces failed"),
        }
    }

    async fn log_corrected_counts(&self) {
        match self.recount_renders().await {
            Ok(0) => {}
            Ok(workspaces) => tracing::warn!(workspaces, "corrected the numbers of renders of workspaces"),
            Err(error) => tracing::error!(error = %causes(&error), "checking the numbers of renders failed"),
        }
    }

    async fn log_deleted_unfinished_objects(&self) {
        match self.delete_unfinished_objects().await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "deleted partly written objects"),
            Err(error) => tracing::error!(error = %causes(&error), "cleaning up the store failed"),
        }
    }
}

/// Shortens leases and holds from before the clock was set back, so that those of killed processes end soon. Processes that still run have
/// the full time to renew.
async fn shorten_leases_and_holds(tx: &mut Tx, now: i64, hold_ms: i64) -> Result<()> {
    clock_step::shorten_render_leases(tx, now).await?;
    clock_step::shorten_preview_leases(tx, now + HOLDING_MS).await?;
    clock_step::shorten_holds(tx, now + hold_ms).await?;
    Ok(())
}

/// Detects unusually long pauses between the rounds that requeue renders.
struct Rounds {
    lease: Duration,
    last_ms: Option<i64>,
}

impl Rounds {
    /// Begins a round. Returns true if more than half a lease time has passed since the previous round began, although rounds
    /// begin every quarter of a lease time. In this case, the machine was probably suspended. Then the leases of workers that
    /// were suspended, too, may have expired although these workers still run. `now_ms` is the time of the database.
    fn begin(&mut self, now_ms: i64) -> bool {
        let last_ms = self.last_ms.replace(now_ms);
        last_ms.is_some_and(|last_ms| u128::try_from(now_ms - last_ms).is_ok_and(|ms| ms > self.lease.as_millis() / 2))
    }

    /// Begins the round again after a wait, so that the next round does not count the wait.
    fn restart(&mut self, now_ms: Option<i64>) {
        self.last_ms = now_ms;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_waits_once_after_this_process_was_suspended() {
        let mut rounds = Rounds { lease: Duration::from_secs(40), last_ms: None };
        assert!(!rounds.begin(0));
        assert!(!rounds.begin(10_000));
        assert!(rounds.begin(110_000), "the process was suspended for 90 s");
        rounds.restart(Some(130_000));
        assert!(!rounds.begin(130_001), "the wait of 20 s is not a suspension");
        assert!(!rounds.begin(140_000));
    }
}
