//! A simulated worker.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use plinth_service::jobs::{Claim, RenderFiles};
use plinth_service::{Service, ServiceOptions};
use plinth_spec::quality::Codec;
use tokio::time::sleep;

use super::times::Measured;

/// Interval at which an idle worker polls, as in `plinth worker`.
const POLL: Duration = Duration::from_secs(30);
pub(super) struct Worker {
    pub(super) service: Service,
    pub(super) name: String,
    pub(super) job: Duration,
    pub(super) measured: Arc<Measured>,
}

impl Worker {
    pub(super) async fn run(self) {
        let mut package_first = false;
        loop {
            let worked = self.work(package_first).await;
            match worked {
                Ok(Some(is_package)) => package_first = !is_package,
                Ok(None) => tokio::select! {
                    () = self.service.render_queued() => {}
                    () = sleep(POLL.mul_f64(0.75 + 0.5 * fastrand::f64())) => {}
                },
                Err(error) => {
                    if self.measured.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                        eprintln!("the first failed request, of {}: {error} {:?}", self.name, error.cause);
                    }
                    sleep(Duration::from_secs(2)).await;
                }
            }
        }
    }

    /// Runs one job, and returns whether it was a packaging; `None` if there was none.
    async fn work(&self, package_first: bool) -> plinth_service::Result<Option<bool>> {
        for package in [package_first, !package_first] {
            let begin = Instant::now();
            let claim = if package {
                self.service.claim_packaging(self.name.as_str()).await?
            } else {
                self.service.claim_renders(self.name.as_str(), 16).await?.into_iter().next()
            };
            let times = match (&claim, package) {
                (None, _) => &self.measured.empty,
                (Some(_), true) => &self.measured.packagings,
                (Some(_), false) => &self.measured.claims,
            };
            times.0.lock().unwrap_or_else(PoisonError::into_inner).push(begin.elapsed());
            let Some(claim) = claim else { continue };
            if package {
                self.busy(&claim, self.job / 10).await?;
                let _lost = self.measured.reports.of(self.service.finish_packaging(&claim, 1000)).await?;
            } else {
                let entry = (claim.render.id.clone(), Instant::now());
                self.measured.claimed.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
                let job = self.job.mul_f64(0.5 + fastrand::f64());
                self.busy(&claim, job / 4).await?;
                let _lost = self.measured.reports.of(self.service.poster_stored(&claim)).await?;
                self.busy(&claim, job * 3 / 4).await?;
                let files = RenderFiles::none(Codec::H264);
                let _lost = self.measured.reports.of(self.service.finish_render(&claim, &files, &[])).await?;
            }
            return Ok(Some(package));
        }
        Ok(None)
    }

    /// Waits, and renews the lease as workers do: three times per lease.
    async fn busy(&self, claim: &Claim, time: Duration) -> plinth_service::Result<()> {
        let every = Duration::from_secs(u64::from(ServiceOptions::LEASE_SECS) / 3);
        let mut left = time;
        while left > every {
            sleep(every).await;
            left -= every;
            let _lost = self.measured.renewals.of(self.service.renew_claim(claim)).await?;
        }
        sleep(left).await;
        Ok(())
    }
}
