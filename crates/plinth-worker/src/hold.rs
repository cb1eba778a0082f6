//! Keeping what was taken: renewing its leases.

use std::time::Duration;

use plinth_service::Service;
use plinth_service::jobs::Claim;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

/// Renewals within the time of a lease.
const RENEWALS: u32 = 3;
/// A renewal that failed is tried again after this part of a lease.
const AGAIN: u32 = 12;

/// Renews the leases of claims until it is dropped. When all of them are lost, it cuts the job off.
#[derive(Debug)]
pub(crate) struct Hold(JoinHandle<()>);

impl Hold {
    pub(crate) fn new(service: &Service, claims: &[Claim], cut: CancellationToken) -> Self {
        let lease = Duration::from_secs(service.options().lease_secs.into());
        let now = Instant::now();
        let held = claims.iter().map(|claim| Held { claim: claim.clone(), until: now + lease }).collect();
        Self(tokio::spawn(keep(service.clone(), held, lease, cut)))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Held {
    claim: Claim,
    /// Unless it is renewed. No later than what the database has.
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
            // The renewal itself runs on: it is a write, which is never cut in half.
            match timeout_at(one.until, service.renew_claim(&one.claim)).await {
                Ok(Ok(Ok(()))) => one.until = asked + lease,
                Ok(Ok(Err(_lost))) => {
                    tracing::info!(render.id = %id, "the render is no longer this worker's");
                    continue;
                }
                Ok(Err(error)) => {
                    tracing::warn!(render.id = %id, error = %error, cause = ?error.cause, "a lease cannot be renewed");
                    pause = lease / AGAIN;
                }
                Err(_elapsed) => {
                    tracing::warn!(render.id = %id, "a lease could not be renewed in time");
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
