//! Requeues or fails renders whose lease has expired.

use plinth_db::leases::{self, Lost};
use plinth_db::renders::Render;
use plinth_db::{Tx, accounts, queue, unreferenced_objects};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent};
use plinth_spec::{FailureCode, limits};
use plinth_store::attempt_prefix;

use super::packaging::move_packaging;
use super::report::{LATE_MS, fail};
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum number of renders per query.
const AT_ONCE: u32 = 100;

/// Result of [`Service::reclaim_expired_leases`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Number of renders that were requeued or failed.
    pub renders: usize,
    /// Number of renders for which an error occurred.
    pub errors: usize,
}

impl Service {
    /// Requeues renders and packagings whose lease has expired. If the lease has expired too often, a render fails and is
    /// refunded; a packaging fails, and the video remains available. Several machines may call this method concurrently;
    /// each render is handled once. A render whose account is locked, or for which an error occurs, is left for the next
    /// call.
    pub async fn reclaim_expired_leases(&self) -> Result<Reclaimed> {
        let mut reclaimed = Reclaimed::default();
        loop {
            let before = reclaimed.renders;
            for one in self.list_lost().await? {
                let id = one.render.id.clone();
                match self.reclaim_expired_lease(one).await {
                    Ok(is_reclaimed) => reclaimed.renders += usize::from(is_reclaimed),
                    Err(error) => {
                        reclaimed.errors += 1;
                        tracing::error!(render.id = %id, error = %error, cause = ?error.cause, "a render with an expired lease could not be requeued; the next run tries again");
                    }
                }
            }
            // Renders that were left are listed again, so the next call tries them again.
            if reclaimed.errors > 0 || reclaimed.renders == before {
                return Ok(reclaimed);
            }
        }
    }

    async fn list_lost(&self) -> Result<Vec<Lost>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(leases::list_lost(&mut conn, now, AT_ONCE).await?)
    }

    async fn reclaim_expired_lease(&self, lost: Lost) -> Result<bool> {
        let reclaimed = self.write_lease_with_clock(move |tx, clock| {
            Box::pin(async move {
                let Lost { render, token, losses } = lost;
                if accounts::try_lock(tx, &render.payer_id).await?.is_none() {
                    return Ok(false);
                }
                // The worker may have renewed its lease after the list was read.
                let begun = clock.next_ms(tx).await?;
                if !leases::is_lost(tx, &render.id, &token, begun).await? {
                    return Ok(false);
                }
                let now = clock.next_ms(tx).await?;
                let is_packaging = render.hls_status == HlsStatus::Processing;
                let collected = match (is_packaging, losses < limits::LOSSES) {
                    (true, true) => requeue_packaging(tx, &render, &token, now).await?,
                    (true, false) => move_packaging(tx, &render, &token, (HlsEvent::Fail, None), now).await?.is_ok(),
                    (false, true) => requeue(tx, &render, &token, now).await?,
                    (false, false) => {
                        let message =
                            "the render nodes of this render stopped responding, could not render, or had full disks";
                        fail(tx, &clock, &render, &token, FailureCode::Reaped, message).await?.is_ok()
                    }
                };
                Ok::<_, ServiceError>(collected)
            })
        });
        let is_reclaimed = reclaimed.await?;
        if is_reclaimed {
            self.queued.notify_one();
        }
        Ok(is_reclaimed)
    }
}

/// Requeues a render, and schedules the files of the interrupted attempt for deletion.
async fn requeue(tx: &mut Tx, render: &Render, token: &str, now: i64) -> Result<bool> {
    let Some(to) = render.status.after(RenderEvent::Lose) else { return Ok(false) };
    let used = queue::measure_slot(tx, &render.id, token, now, true).await?;
    let is_requeued = leases::requeue_lost(tx, &render.id, token, render.status, to, now).await?;
    queue::charge_slot(tx, used, now).await?;
    if is_requeued {
        unreferenced_objects::insert(tx, &attempt_prefix(&render.id, render.attempt), now + LATE_MS).await?;
    }
    Ok(is_requeued)
}

/// Requeues the packaging of a render. The files of the interrupted attempt remain until the packaging succeeds or fails,
/// which schedules them for deletion.
async fn requeue_packaging(tx: &mut Tx, render: &Render, token: &str, now: i64) -> Result<bool> {
    let used = queue::measure_slot(tx, &render.id, token, now, true).await?;
    let is_requeued = leases::requeue_lost_packaging(tx, &render.id, token, now).await?;
    queue::charge_slot(tx, used, now).await?;
    Ok(is_requeued)
}
