//! Collecting what dead workers held.

use plinth_db::leases::{self, Lost};
use plinth_db::renders::Render;
use plinth_db::{Tx, accounts, garbage, queue};
use plinth_spec::state::{HlsStatus, RenderEvent};
use plinth_spec::{FailureCode, limits};
use plinth_store::attempt_prefix;

use super::packaging::{event_of_death, move_packaging};
use super::report::{LATE_MS, fail};
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Renders looked at in one go.
const AT_ONCE: u32 = 100;

impl Service {
    /// Collects renders whose worker has not been heard of for longer than its lease: they go back into the queue, and those
    /// that were lost too often are ended and refunded. Returns how many. Every machine may do this; each is collected once.
    /// One that fails, or whose account is held elsewhere, is left for the next time.
    pub async fn reap(&self) -> Result<usize> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let lost = leases::list_lost(&mut conn, now, AT_ONCE).await?;
        drop(conn);
        let mut reaped = 0;
        for one in lost {
            let id = one.render.id.clone();
            match self.reap_one(one).await {
                Ok(is_reaped) => reaped += usize::from(is_reaped),
                Err(error) => {
                    tracing::error!(render.id = %id, error = %error, cause = ?error.cause, "a lost render stays for now");
                }
            }
        }
        Ok(reaped)
    }

    async fn reap_one(&self, lost: Lost) -> Result<bool> {
        let reaped = self.write_at(move |tx, now| {
            Box::pin(async move {
                let Lost { render, token, losses } = lost;
                if accounts::try_lock(tx, &render.payer_id).await?.is_none() {
                    return Ok(false);
                }
                // The worker may have been heard of in between: then its lease is a later one.
                if !leases::is_lost(tx, &render.id, &token, now).await? {
                    return Ok(false);
                }
                let collected = if render.hls_status == HlsStatus::Processing {
                    move_packaging(tx, &render, &token, event_of_death(&render), now).await?.is_ok()
                } else if losses < limits::LOSSES {
                    requeue(tx, &render, &token, now).await?
                } else {
                    let words = "the render nodes that worked on it stopped responding";
                    fail(tx, &render, &token, FailureCode::Reaped, words, now).await?.is_ok()
                };
                Ok::<_, ServiceError>(collected)
            })
        });
        let is_reaped = reaped.await?;
        if is_reaped {
            self.placed.notify_one();
        }
        Ok(is_reaped)
    }
}

/// Puts a render back into the queue. What the lost worker has stored of it goes.
async fn requeue(tx: &mut Tx, render: &Render, token: &str, now: i64) -> Result<bool> {
    let Some(to) = render.status.after(RenderEvent::Lose) else { return Ok(false) };
    queue::count_slot(tx, &render.id, token, now, true).await?;
    let is_requeued = leases::requeue_lost(tx, &render.id, token, render.status, to, now).await?;
    if is_requeued {
        garbage::insert(tx, &attempt_prefix(&render.id, render.attempt), now + LATE_MS).await?;
    }
    Ok(is_requeued)
}
