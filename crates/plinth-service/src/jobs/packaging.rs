//! Worker reports about HLS packaging.

use plinth_db::leases::{self, Report};
use plinth_db::outcomes::{self, Outcome};
use plinth_db::renders::Render;
use plinth_db::{Tx, queue, unreferenced_objects};
use plinth_spec::state::{HlsEvent, HlsStatus};
use plinth_store::hls_prefix;

use super::claim::{Claim, LeaseLost};
use super::report::LATE_MS;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Publishes the HLS files, which the worker has stored under the attempt numbers of its claim. `bytes` is the size of
    /// all HLS files.
    pub async fn finish_packaging(&self, claim: &Claim, bytes: u64) -> Result<std::result::Result<(), LeaseLost>> {
        self.report_packaging(claim, HlsEvent::Finish, Some(bytes)).await
    }

    /// Marks the packaging as failed. The video remains available, and no credits are refunded.
    pub async fn fail_packaging(&self, claim: &Claim) -> Result<std::result::Result<(), LeaseLost>> {
        self.report_packaging(claim, HlsEvent::Fail, None).await
    }

    /// Requeues the packaging because the worker is shutting down.
    pub async fn release_packaging(&self, claim: &Claim) -> Result<std::result::Result<(), LeaseLost>> {
        self.report_packaging(claim, HlsEvent::Release, None).await
    }

    async fn report_packaging(
        &self,
        claim: &Claim,
        event: HlsEvent,
        bytes: Option<u64>,
    ) -> Result<std::result::Result<(), LeaseLost>> {
        let claim = claim.clone();
        let reported = self.write_lease_with_clock(move |tx, clock| {
            Box::pin(async move {
                let held = leases::find_leased(tx, &claim.render.id, &claim.token).await?;
                let Some(render) = held else { return Ok(Err(LeaseLost)) };
                let now = clock.next_ms(tx).await?;
                move_packaging(tx, &render, &claim.token, (event, bytes), now).await
            })
        });
        reported.await
    }
}

/// Changes the state of a packaging after an event. `bytes` is the size of the published files, if the event publishes
/// files.
pub(super) async fn move_packaging(
    tx: &mut Tx,
    render: &Render,
    token: &str,
    (event, bytes): (HlsEvent, Option<u64>),
    now: i64,
) -> Result<std::result::Result<(), LeaseLost>> {
    let hls: HlsStatus = render.hls_status.after(event).ok_or_else(|| {
        ServiceError::internal(format!("'{}' in the packaging state '{}'", event.as_str(), render.hls_status.as_str()))
    })?;
    let unchanged = Report::new(render.status, render.status, hls);
    let report = Report { stored_bytes: bytes, is_last: true, ..unchanged };
    let used = queue::measure_slot(tx, &render.id, token, now, true).await?;
    let is_reported = leases::report(tx, &render.id, token, &report, now).await?;
    queue::charge_slot(tx, used, now).await?;
    if !is_reported {
        return Ok(Err(LeaseLost));
    }
    // Schedules the files of interrupted attempts for deletion, and also the files of the last attempt if it failed.
    let dead = if hls == HlsStatus::Failed { render.hls_attempt + 1 } else { render.hls_attempt };
    if let Some(attempt) = render.files_attempt.filter(|_attempt| hls != HlsStatus::Pending) {
        for earlier in 1..dead {
            unreferenced_objects::insert(tx, &hls_prefix(&render.id, attempt, earlier), now + LATE_MS).await?;
        }
    }
    let outcome = match event {
        HlsEvent::Finish => Some(Outcome::Packaged),
        HlsEvent::Fail => Some(Outcome::PackagingFailed),
        _ => None,
    };
    if let Some(outcome) = outcome {
        outcomes::count(tx, outcome, &render.id, now).await?;
    }
    Ok(Ok(()))
}
