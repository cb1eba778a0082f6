//! Claims renders and packagings for workers, and renews the leases.

use plinth_db::leases::{self, Lease, Worker};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::funding::Pool;

use super::files::RenderFiles;
use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

const TOKEN_CHARS: usize = 24;
/// Worker time in milliseconds that is charged in advance to the fair share of the account whose render a worker claims.
const FIRST_SLOT_MS: i64 = 1000;

/// A worker's claim on a render.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The render's data at the time of the claim.
    pub render: Render,
    /// Token of the lease; every report must include it.
    pub token: String,
}

impl Claim {
    /// Returns whether all output files get a watermark: the render is a system preview, or the free pool has paid for
    /// the render.
    pub fn is_marked(&self) -> bool {
        self.render.is_system_preview || self.render.pool == Some(Pool::Free)
    }

    /// Returns the output files of the render. The list is empty until the render is done.
    pub fn files(&self) -> Result<RenderFiles> {
        RenderFiles::of(&self.render)
    }
}

/// The worker no longer has the lease, because the lease expired or the render was deleted. The worker's output is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLost;

impl From<LeaseLost> for ServiceError {
    fn from(_lost: LeaseLost) -> Self {
        Self::new(ErrorCode::Internal, "the worker has lost the lease of this render")
    }
}

impl Service {
    /// Claims the next render in the queue that the worker takes, together with queued renders that have the same frames.
    /// Claims at most `most` renders. The worker draws these frames once, in one slot. The time of the slot is charged to
    /// the account of the first render.
    pub async fn claim_renders(&self, worker: impl Into<Worker>, most: usize) -> Result<Vec<Claim>> {
        let (worker, lease_ms) = (worker.into(), self.lease_ms());
        let claimed = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let mut claims: Vec<Claim> = Vec::new();
                while claims.len() < most {
                    let lease =
                        Lease { token: random_text(TOKEN_CHARS), until: now + lease_ms, worker: worker.clone() };
                    let render = match claims.first().map(|claim| &claim.render) {
                        None => leases::claim(tx, Kind::Render, &lease, now).await?,
                        // A render that was created by a version without `frames_sha256` is claimed alone.
                        Some(first) if first.frames_sha256.is_empty() => None,
                        Some(first) => leases::claim_like(tx, &lease, first, now).await?,
                    };
                    let Some(render) = render else { break };
                    claims.push(Claim { render, token: lease.token });
                }
                if let Some(Claim { render, .. }) = claims.first() {
                    queue::begin_slot(tx, &render.id, &render.payer_id, now, now + FIRST_SLOT_MS).await?;
                }
                Ok::<_, ServiceError>(claims)
            })
        });
        claimed.await
    }

    /// Claims the next finished render for HLS packaging.
    pub async fn claim_packaging(&self, worker: impl Into<Worker>) -> Result<Option<Claim>> {
        let (worker, lease_ms) = (worker.into(), self.lease_ms());
        let claimed = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let lease = Lease { token: random_text(TOKEN_CHARS), until: now + lease_ms, worker };
                let render = leases::claim(tx, Kind::Package, &lease, now).await?;
                if let Some(render) = &render {
                    queue::begin_slot(tx, &render.id, &render.payer_id, now, now + FIRST_SLOT_MS).await?;
                }
                Ok::<_, ServiceError>(render.map(|render| Claim { render, token: lease.token }))
            })
        });
        claimed.await
    }

    /// Renews a claim. A worker must call this method at intervals of a third of the lease time. If the result is
    /// [`LeaseLost`], the worker must stop its job. A lease that has expired can be renewed until the render is requeued.
    pub async fn renew_claim(&self, claim: &Claim) -> Result<std::result::Result<(), LeaseLost>> {
        let (id, token, lease_ms) = (claim.render.id.clone(), claim.token.clone(), self.lease_ms());
        let renewed = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let is_held = leases::renew(tx, &id, &token, now + lease_ms).await?;
                let used = queue::measure_slot(tx, &id, &token, now, false).await?;
                queue::charge_slot(tx, used, now).await?;
                Ok::<_, ServiceError>(is_held)
            })
        });
        Ok(if renewed.await? { Ok(()) } else { Err(LeaseLost) })
    }

    fn lease_ms(&self) -> i64 {
        i64::from(self.options.lease_secs) * 1000
    }
}
