//! Taking renders, and keeping them.

use plinth_db::leases::{self, Lease};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::funding::Pool;

use super::files::RenderFiles;
use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

const TOKEN_CHARS: usize = 24;
/// Time of a slot that is counted as soon as it is taken, whatever it takes in the end.
const FIRST_SLOT_MS: i64 = 1000;

/// A render that a worker holds.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The render as it was when it was taken.
    pub render: Render,
    /// Proves the hold: every report names it.
    pub token: String,
}

impl Claim {
    /// Whether every output carries the mark of a preview: nobody paid for it.
    pub fn is_marked(&self) -> bool {
        self.render.is_system_preview || self.render.pool == Some(Pool::Free)
    }

    /// The files of a finished render; none at all before it is done.
    pub fn files(&self) -> Result<RenderFiles> {
        RenderFiles::of(&self.render)
    }
}

/// The worker no longer holds the render: its lease ran out, or the render was deleted. Whatever it made is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLost;

impl From<LeaseLost> for ServiceError {
    fn from(_lost: LeaseLost) -> Self {
        Self::new(ErrorCode::Internal, "the worker no longer holds this render")
    }
}

impl Service {
    /// Takes the render that comes next, and others with the same frames, up to `most` in all: the worker draws them once, in
    /// one slot, whose time the account of the first one has used.
    pub async fn claim_renders(&self, worker: &str, most: usize) -> Result<Vec<Claim>> {
        let (worker, lease_ms) = (worker.to_owned(), self.lease_ms());
        let claimed = self.write_at(move |tx, now| {
            Box::pin(async move {
                let mut claims: Vec<Claim> = Vec::new();
                while claims.len() < most {
                    let lease =
                        Lease { token: random_text(TOKEN_CHARS), until: now + lease_ms, worker: worker.clone() };
                    let render = match claims.first().map(|claim| &claim.render) {
                        None => leases::claim(tx, Kind::Render, &lease, now).await?,
                        // One that was placed before frames were noted is alone.
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

    /// Takes the finished render whose packaging comes next.
    pub async fn claim_packaging(&self, worker: &str) -> Result<Option<Claim>> {
        let (worker, lease_ms) = (worker.to_owned(), self.lease_ms());
        let claimed = self.write_at(move |tx, now| {
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

    /// Prolongs a hold. To be called at a third of the lease; a worker that is told that it lost the lease, or gets no
    /// answer for as long as the lease, stops its job.
    pub async fn renew_claim(&self, claim: &Claim) -> Result<std::result::Result<(), LeaseLost>> {
        let (id, token, lease_ms) = (claim.render.id.clone(), claim.token.clone(), self.lease_ms());
        let renewed = self.write_at(move |tx, now| {
            Box::pin(async move {
                let is_held = leases::renew(tx, &id, &token, now + lease_ms).await?;
                queue::count_slot(tx, &id, &token, now, false).await?;
                Ok::<_, ServiceError>(is_held)
            })
        });
        Ok(if renewed.await? { Ok(()) } else { Err(LeaseLost) })
    }

    fn lease_ms(&self) -> i64 {
        i64::from(self.options.lease_secs) * 1000
    }
}
