//! Renewal of leases.

use std::time::Duration;

use plinth_service::Service;
use plinth_service::jobs::Claim;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

/// Number of renewals per lease time.
const RENEWALS: u32 = 3;
/// A failed renewal is retried after the lease time divided by this number.
const AGAIN: u32 = 12;

/// Renews the leases of claims until it is dropped. Cancels the job when all leases are lost.
#[derive(Debug)]
pub(crate) struct LeaseRenewal(JoinHandle<()>);

impl LeaseRenewal {
    pub(crate) fn new(service: &Service, claims: &[Claim], cut: CancellationToken) -> Self {
        let lease = Duration::from_secs(service.options().lease_secs.into());
        let now = Instant::now();
        let held = claims.iter().map(|claim| Held { claim: claim.clone(), until: now + lease }).collect();
        Self(tokio::spawn(keep(service.clone(), held, lease, cut)))
    }
}

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Held {
    claim: Claim,
    /// Estimate of the end of the lease by the local clock. It is never later than the end in the database.
    until: Instant,
}

async fn keep(service: Service, mut held: Vec<Held>, lease: Duration, cut: CancellationToken) {
    let mut pause = lease / RENEWALS;
    loop {
        sleep(pause).await;
        pause = lease / RENEWALS;
        let mut kept = Vec::new();
        for mut one in held {
            let asked = Instant::now();
            let id = &one.claim.render.id;
            // After a timeout, the renewal continues in the background, because database writes are never cancelled.
            match timeout_at(one.until, service.renew_claim(&one.claim)).await {
                Ok(Ok(Ok(()))) => one.until = asked + lease,
                Ok(Ok(Err(_lost))) => {
                    tracing::info!(render.id = %id, "the lease is lost");
                    continue;
                }
                Ok(Err(error)) => {
                    tracing::warn!(render.id = %id, error = %error, cause = ?error.cause, "renewing a lease failed");
                    pause = lease / AGAIN;
                }
                Err(_elapsed) => {
                    tracing::warn!(render.id = %id, "a lease expired before it was renewed");
                    continue;
                }
            }
            kept.push(one);
        }
        held = kept;
        if held.is_empty() {
            cut.cancel();
            return;
        }
    }
}
