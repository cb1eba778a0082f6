//! Taking renders, and keeping them.

use plinth_db::leases::{self, Lease};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::funding::Pool;

use super::files::RenderFiles;
use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

const TOKEN_CHARS: usize = 24;

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
    /// Takes the render that has waited longest, and others with the same frames that wait, up to `most` in all: the
    /// worker draws them once.
    pub async fn claim_renders(&self, worker: &str, most: usize) -> Result<Vec<Claim>> {
        let (worker, clock, lease_ms) = (worker.to_owned(), self.options.clock.clone(), self.lease_ms());
        let claimed = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                let mut claims: Vec<Claim> = Vec::new();
                while claims.len() < most {
                    let lease =
                        Lease { token: random_text(TOKEN_CHARS), until: now + lease_ms, worker: worker.clone() };
                    let like = claims.first().map(|claim| &claim.render);
                    // One that was placed before frames were noted is alone.
                    if like.is_some_and(|render| render.frames_sha256.is_empty()) {
                        break;
                    }
                    let Some(render) = leases::claim(tx, &lease, like, now).await? else { break };
                    claims.push(Claim { render, token: lease.token });
                }
                Ok::<_, ServiceError>(claims)
            })
        });
        claimed.await
    }

    /// Takes the finished render that has waited longest for its packaging.
    pub async fn claim_packaging(&self, worker: &str) -> Result<Option<Claim>> {
        let (worker, clock, lease_ms) = (worker.to_owned(), self.options.clock.clone(), self.lease_ms());
        let claimed = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                let lease = Lease { token: random_text(TOKEN_CHARS), until: now + lease_ms, worker };
                let render = leases::claim_packaging(tx, &lease, now).await?;
                Ok::<_, ServiceError>(render.map(|render| Claim { render, token: lease.token }))
            })
        });
        claimed.await
    }

    /// Prolongs a hold. To be called at a third of the lease; a worker that is told that it lost the lease, or gets no
    /// answer for as long as the lease, stops its job.
    pub async fn renew_claim(&self, claim: &Claim) -> Result<std::result::Result<(), LeaseLost>> {
        let (id, token) = (claim.render.id.clone(), claim.token.clone());
        let (clock, lease_ms) = (self.options.clock.clone(), self.lease_ms());
        let renewed = self.db.write(move |tx| {
            Box::pin(async move {
                let until = clock.now_ms(tx).await? + lease_ms;
                Ok::<_, ServiceError>(leases::renew(tx, &id, &token, until).await?)
            })
        });
        Ok(if renewed.await? { Ok(()) } else { Err(LeaseLost) })
    }

    fn lease_ms(&self) -> i64 {
        i64::from(self.options.lease_secs) * 1000
    }
}
