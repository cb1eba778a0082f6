//! Worker reports about a claimed render.

use plinth_db::leases::{self, Report};
use plinth_db::outcomes::{self, Outcome};
use plinth_db::renders::Render;
use plinth_db::{Tx, accounts, queue, unreferenced_objects};
use plinth_spec::FailureCode;
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent};
use plinth_store::{attempt_prefix, render_prefix};

use super::claim::{Claim, LeaseLost};
use super::files::RenderFiles;
use crate::billing::refund;
use crate::clock::Clock;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum length of a failure message, in characters.
const MESSAGE_CHARS: usize = 500;

/// Maximum number of stored warnings of a render. If a job has more warnings, an additional warning contains the number
/// of omitted warnings.
const WARNINGS: usize = 50;
/// Maximum length of a stored warning, in characters.
const WARNING_CHARS: usize = 300;

/// Time in milliseconds from the loss of a lease until its worker has certainly stopped uploading files of the render.
pub(crate) const LATE_MS: i64 = 3600 * 1000;

/// Result of a report. `Ok(Err(LeaseLost))` means that the worker had no lease any more, so the report had no effect.
type Reported = Result<std::result::Result<(), LeaseLost>>;

impl Service {
    /// Publishes the poster, which the worker has stored, while the video is still being rendered.
    pub async fn poster_stored(&self, claim: &Claim) -> Reported {
        self.report(claim, RenderEvent::PosterStored, |render, report| {
            Ok(Report { poster_attempt: Some(render.attempt), ..report })
        })
        .await
    }

    /// Publishes all files of a render, which the worker has stored under the claim's attempt number.
    pub async fn finish_render(&self, claim: &Claim, files: &RenderFiles, warnings: &[String]) -> Reported {
        let bytes = files.stored_bytes();
        let files = files.to_column().map_err(ServiceError::internal)?;
        let warnings = serde_json::to_string(&stored_warnings(warnings)).map_err(ServiceError::internal)?;
        self.report(claim, RenderEvent::Finish, move |render, report| {
            Ok(Report {
                poster_attempt: Some(render.attempt),
                files_attempt: Some(render.attempt),
                files: Some(files.clone()),
                warnings: Some(warnings.clone()),
                stored_bytes: Some(bytes),
                is_last: true,
                ..report
            })
        })
        .await
    }

    /// Requeues a render because the worker is shutting down. Files that the worker has stored remain.
    pub async fn release_render(&self, claim: &Claim) -> Reported {
        self.report(claim, RenderEvent::Release, |_render, report| Ok(Report { is_last: true, ..report })).await
    }

    /// Marks a render as failed. Refunds its price unless the model caused the failure.
    pub async fn fail_render(&self, claim: &Claim, code: FailureCode, message: &str) -> Reported {
        let claim = claim.clone();
        let message = first_line(message);
        let failed = self.write_lease_with_clock(move |tx, clock| {
            Box::pin(async move { fail(tx, &clock, &claim.render, &claim.token, code, &message).await })
        });
        failed.await
    }

    async fn report<F>(&self, claim: &Claim, event: RenderEvent, fill: F) -> Reported
    where
        F: FnOnce(&Render, Report) -> Result<Report> + Send + 'static,
    {
        let claim = claim.clone();
        let reported = self.write_lease_with_clock(move |tx, clock| {
            Box::pin(async move {
                let Some(render) = leases::find_leased(tx, &claim.render.id, &claim.token).await? else {
                    return Ok(Err(LeaseLost));
                };
                if event == RenderEvent::PosterStored && render.poster_attempt == Some(render.attempt) {
                    // The worker repeats the report, because the response to its first report was lost.
                    return Ok(Ok(()));
                }
                let to = render.status.after(event).ok_or_else(|| {
                    ServiceError::internal(format!("'{}' in the state '{}'", event.as_str(), render.status.as_str()))
                })?;
                let report = fill(&render, Report::new(render.status, to, render.hls_status))?;
                let now = clock.next_ms(tx).await?;
                let used = queue::measure_slot(tx, &render.id, &claim.token, now, report.is_last).await?;
                let done = leases::report(tx, &render.id, &claim.token, &report, now).await?;
                queue::charge_slot(tx, used, now).await?;
                if done && event == RenderEvent::Finish {
                    for earlier in 1..render.attempt {
                        unreferenced_objects::insert(tx, &attempt_prefix(&render.id, earlier), now + LATE_MS).await?;
                    }
                    outcomes::count(tx, Outcome::Done, &render.id, now).await?;
                }
                Ok::<_, ServiceError>(if done { Ok(()) } else { Err(LeaseLost) })
            })
        });
        reported.await
    }
}

/// Marks a claimed render as failed, refunds it unless the model caused the failure, and schedules its files for
/// deletion. Locks the paying account and the render, and then reads the time of the failure.
pub(super) async fn fail(
    tx: &mut Tx,
    clock: &Clock,
    render: &Render,
    token: &str,
    code: FailureCode,
    message: &str,
) -> Reported {
    accounts::lock(tx, &render.payer_id).await?;
    let Some(render) = leases::find_leased(tx, &render.id, token).await? else { return Ok(Err(LeaseLost)) };
    let now = clock.next_ms(tx).await?;
    let Some(to) = render.status.after(RenderEvent::Fail) else { return Ok(Err(LeaseLost)) };
    let hls = render.hls_status.after(HlsEvent::Skip).unwrap_or(HlsStatus::Skipped);
    let failure = Some((code, message.to_owned()));
    let report = Report { failure, is_last: true, ..Report::new(render.status, to, hls) };
    let used = queue::measure_slot(tx, &render.id, token, now, true).await?;
    let is_reported = leases::report(tx, &render.id, token, &report, now).await?;
    queue::charge_slot(tx, used, now).await?;
    if !is_reported {
        return Ok(Err(LeaseLost));
    }
    if code.is_refunded() {
        refund(tx, &render, now).await?;
    }
    unreferenced_objects::insert(tx, &render_prefix(&render.id), now + LATE_MS).await?;
    outcomes::count(tx, Outcome::Failed(code), &render.id, now).await?;
    Ok(Ok(()))
}

/// Limits the number and the length of warnings, which come from the job.
fn stored_warnings(warnings: &[String]) -> Vec<String> {
    let omitted = warnings.len().saturating_sub(WARNINGS);
    let stored = warnings.iter().take(WARNINGS).map(|warning| warning.chars().take(WARNING_CHARS).collect());
    stored.chain((omitted > 0).then(|| format!("and {omitted} more warnings"))).collect()
}

/// Returns the first line of a message in the form in which it is stored: shortened, and without control characters, because databases
/// cannot store all of them.
pub(crate) fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_warnings_are_limited_in_number_and_length() {
        let few = vec!["no mesh 'a'".to_owned()];
        assert_eq!(stored_warnings(&few), few);
        let many = vec!["ä".repeat(1000); 512];
        let stored = stored_warnings(&many);
        assert_eq!(stored.len(), 51);
        assert_eq!(stored[49], "ä".repeat(300));
        assert_eq!(stored[50], "and 462 more warnings");
    }
}
