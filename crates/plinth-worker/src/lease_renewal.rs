//! Renewal of leases.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plinth_pipeline::failure_message;
use plinth_service::Service;
use plinth_service::jobs::Claim;
use plinth_spec::id::RenderId;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::outage::Outage;

/// Number of renewals per lease time.
const RENEWALS: u32 = 3;
/// A failed renewal is retried after the lease time divided by this number.
const AGAIN: u32 = 12;

/// Renews the leases of claims until this value is dropped. Cancels the job when all leases are lost, or when the database
/// has not responded for too long. During a shorter outage the job continues. If another worker reaches the database and
/// claims a render whose lease has expired, the next renewal that the database answers finds that the lease is lost.
#[derive(Debug)]
pub(crate) struct LeaseRenewal {
    task: JoinHandle<()>,
    reported: RenderSet,
    lost: RenderSet,
}

/// A set of renders that is shared with the task that renews their leases.
#[derive(Clone, Debug, Default)]
struct RenderSet(Arc<Mutex<HashSet<RenderId>>>);

impl RenderSet {
    fn insert(&self, id: &RenderId) {
        self.lock().insert(id.clone());
    }

    fn contains(&self, id: &RenderId) -> bool {
        self.lock().contains(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<RenderId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseRenewal {
    /// Starts to renew leases. `outage` is the maximum time for which a job continues while the database does not respond.
    pub(crate) fn new(service: &Service, claims: &[Claim], outage: Duration, cut: CancellationToken) -> Self {
        let lease = Duration::from_secs(service.options().lease_secs.into());
        let until = Instant::now() + lease;
        let held =
            claims.iter().map(|claim| Held { claim: claim.clone(), until, outage: Outage::new(outage) }).collect();
        let (reported, lost) = (RenderSet::default(), RenderSet::default());
        let renewing =
            Renewing { service: service.clone(), lease, outage, reported: reported.clone(), lost: lost.clone() };
        Self { task: tokio::spawn(renewing.run(held, cut)), reported, lost }
    }

    /// Notes that the end of a render is being reported, so that the end of its lease is not logged as a loss.
    pub(crate) fn reporting(&self, claim: &Claim) {
        self.reported.insert(&claim.render.id);
    }

    /// Returns whether the lease of a claim is lost, or could not be renewed for too long. The files of the render are then of no use.
    pub(crate) fn is_lost(&self, claim: &Claim) -> bool {
        self.lost.contains(&claim.render.id)
    }
}

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Held {
    claim: Claim,
    /// Estimate of the end of the lease by the local clock. It is never later than the end in the database.
    until: Instant,
    /// Time since the first failed renewal after the last successful renewal.
    outage: Outage,
}

struct Renewing {
    service: Service,
    lease: Duration,
    outage: Duration,
    /// Renders whose end is being reported. Such a report ends the lease of the render.
    reported: RenderSet,
    /// Renders whose lease is not renewed any more, although their end was not reported.
    lost: RenderSet,
}

impl Renewing {
    async fn run(self, mut held: Vec<Held>, cut: CancellationToken) {
        let mut pause = self.lease / RENEWALS;
        loop {
            sleep(pause).await;
            pause = self.lease / RENEWALS;
            let mut kept = Vec::new();
            for mut one in held {
                let asked = Instant::now();
                // After a timeout, the renewal continues in the background, because database writes are never cancelled.
                let renewed = timeout(self.lease, self.service.renew_claim(&one.claim)).await;
                let cause = match renewed {
                    Ok(Ok(Ok(()))) => {
                        one.until = asked + self.lease;
                        one.outage = Outage::new(self.outage);
                        kept.push(one);
                        continue;
                    }
                    Ok(Ok(Err(_lost))) => {
                        self.note_loss(&one.claim.render.id);
                        continue;
                    }
                    Ok(Err(error)) => failure_message(&error),
                    Err(_elapsed) => "the database does not respond".to_owned(),
                };
                let id = &one.claim.render.id;
                tracing::warn!(render.id = %id, cause, "renewing a lease failed");
                if one.outage.allows_retry() || Instant::now() < one.until {
                    pause = self.lease / AGAIN;
                    kept.push(one);
                } else {
                    tracing::error!(render.id = %id, "the database did not respond for too long; the job is cancelled");
                    self.lost.insert(id);
                }
            }
            held = kept;
            if held.is_empty() {
                cut.cancel();
                return;
            }
        }
    }

    fn note_loss(&self, id: &RenderId) {
        if !self.reported.contains(id) {
            tracing::info!(render.id = %id, "the lease is lost");
            self.lost.insert(id);
        }
    }
}
