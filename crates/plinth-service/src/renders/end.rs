//! Cancelling, dismissing and deleting renders.

use plinth_db::renders::{self, Render};
use plinth_db::{Tx, unreferenced_objects};
use plinth_spec::ErrorCode;
use plinth_spec::state::{HlsStatus, RenderEvent, RenderStatus};
use plinth_spec::wire::{RenderCancelled, RenderDeleted, RenderDismissed};
use plinth_store::render_prefix;

use crate::access::Caller;
use crate::billing::refund;
use crate::error::{Result, ServiceError};
use crate::jobs::LATE_MS;
use crate::service::Service;

/// Error message of a cancelled render.
const CANCELLED: &str = "Cancelled";
/// Time in milliseconds from the deletion of a render to the deletion of its HLS files. Within this time, a worker that
/// is packaging the render stops.
const PACKAGING_MS: i64 = 3600 * 1000;

/// Cancels a render and refunds its price. The transaction must have locked the paying account. Returns the number of refunded
/// credits; `None` if the render is not queued, or if a worker has claimed it.
pub(crate) async fn cancel_pending(tx: &mut Tx, render: &Render, now: i64) -> Result<Option<u64>> {
    for (from, to) in RenderEvent::Cancel.moves() {
        if renders::set_status(tx, &render.id, from, to, Some(CANCELLED), now).await? {
            // If a worker has released the render after it had stored stills, these files must be deleted.
            if renders::find_anywhere(tx, &render.id).await?.is_some_and(|render| render.attempt > 0) {
                unreferenced_objects::insert(tx, &render_prefix(&render.id), now + LATE_MS).await?;
            }
            return refund(tx, render, now).await.map(Some);
        }
    }
    Ok(None)
}

/// Deletes an ended render and schedules the deletion of its files. `render` may be an earlier state of the row. Returns false and
/// changes nothing if the render has not ended, or is deleted already.
pub(super) async fn delete_ended(tx: &mut Tx, render: &Render, now: i64) -> Result<bool> {
    if !renders::set_deleted(tx, &render.id, now).await? {
        return Ok(false);
    }
    // A worker may have begun to package the render after the caller read its state.
    let may_be_packaged = matches!(render.hls_status, HlsStatus::Pending | HlsStatus::Processing);
    let due = if may_be_packaged { now + PACKAGING_MS } else { now };
    unreferenced_objects::insert(tx, &render_prefix(&render.id), due).await?;
    Ok(true)
}

impl Service {
    /// Cancels a queued render that no worker has claimed, and refunds its price.
    pub async fn cancel_render(&self, caller: &Caller, id: &str) -> Result<RenderCancelled> {
        let render = self.render_row(caller, id).await?;
        let cancelled = self.write_in_workspace(caller, render.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let Some(refunded_credits) = cancel_pending(tx, &render, now).await? else {
                    let found =
                        renders::find_anywhere(tx, &render.id).await?.ok_or_else(ServiceError::render_not_found)?;
                    let message = match found.status {
                        RenderStatus::Failed if found.error_message.as_deref() == Some(CANCELLED) => {
                            "the render is cancelled already"
                        }
                        status if status.is_final() => "the render has ended and can no longer be cancelled",
                        _ => "the render has begun and can no longer be cancelled",
                    };
                    return Err(ServiceError::new(ErrorCode::RenderStarted, message));
                };
                Ok(RenderCancelled { id: render.id, cancelled: true, refunded_credits })
            })
        });
        cancelled.await
    }

    /// Marks a failed render as dismissed: the user has seen the failure.
    pub async fn dismiss_render(&self, caller: &Caller, id: &str) -> Result<RenderDismissed> {
        let render = self.render_row(caller, id).await?;
        let dismissed = self.write_in_workspace(caller, render.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let message = || ServiceError::bad_request("only a render in the state 'error' can be dismissed");
                let to = render.status.after(RenderEvent::Dismiss).ok_or_else(message)?;
                if !renders::set_status(tx, &render.id, render.status, to, None, now).await? {
                    return Err(message());
                }
                Ok(RenderDismissed { id: render.id, dismissed: true })
            })
        });
        dismissed.await
    }

    /// Deletes a finished render and its files. Links to the files stop working.
    pub async fn delete_render(&self, caller: &Caller, id: &str) -> Result<RenderDeleted> {
        let render = self.render_row(caller, id).await?;
        let files = render_prefix(&render.id);
        let deleted = self.write_in_workspace(caller, render.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                if !delete_ended(tx, &render, now).await? {
                    // Another request may have deleted the render in the meantime.
                    if renders::find_anywhere(tx, &render.id).await?.is_none() {
                        return Err(ServiceError::render_not_found());
                    }
                    let message = "the render is queued or in progress; cancel it or wait until it has ended";
                    return Err(ServiceError::new(ErrorCode::RenderInFlight, message));
                }
                Ok(RenderDeleted { id: render.id, deleted: true })
            })
        });
        let deleted = deleted.await?;
        // The prefix stays scheduled for deletion, because a worker may still be storing files, and because this
        // deletion may fail.
        self.remove_marked(&files).await;
        Ok(deleted)
    }
}
