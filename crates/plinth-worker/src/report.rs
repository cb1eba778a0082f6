//! Reports of jobs to the service, and metrics.

use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use plinth_service::ServiceError;
use plinth_service::jobs::LeaseLost;
use plinth_spec::id::RenderId;

use crate::counters;
use crate::outage::{Outage, pauses, short_pauses};

/// The result of a report to the service.
type Answer = plinth_service::Result<Result<(), LeaseLost>>;

/// Sends a report about a running or finished job. If the database fails, retries for up to `outage`; the lease is renewed
/// in the meantime. Returns whether the service accepted the report. Otherwise the lease is lost or will soon expire.
pub(crate) async fn report<F>(outage: Duration, what: &'static str, id: &RenderId, tell: impl Fn() -> F) -> bool
where
    F: Future<Output = Answer>,
{
    retry_report(what, id, tell, pauses(), Outage::new(outage)).await
}

/// Reports that a job ended without success. Retries only for some seconds if the database fails, because the worker
/// may be stopping. If the report fails, the lease expires and the render is requeued.
pub(crate) async fn report_end<F>(what: &'static str, id: &RenderId, tell: impl Fn() -> F) -> bool
where
    F: Future<Output = Answer>,
{
    retry_report(what, id, tell, short_pauses(), Outage::new(Duration::MAX)).await
}

async fn retry_report<F>(
    what: &'static str,
    id: &RenderId,
    tell: impl Fn() -> F,
    pauses: ExponentialBuilder,
    mut outage: Outage,
) -> bool
where
    F: Future<Output = Answer>,
{
    let failed = |error: &ServiceError, _pause| {
        tracing::warn!(render.id = %id, error = %error, cause = ?error.cause, "the report '{what}' failed");
    };
    match tell.retry(pauses).when(|_error| outage.allows_retry()).notify(failed).await {
        Ok(answer) => noted(what, id, answer),
        Err(error) => {
            tracing::error!(render.id = %id, error = %error, cause = ?error.cause, "the report '{what}' failed and is not retried");
            false
        }
    }
}

fn noted(what: &'static str, id: &RenderId, answer: Result<(), LeaseLost>) -> bool {
    if answer == Err(LeaseLost) {
        tracing::info!(render.id = %id, "the report '{what}' came too late");
    }
    answer.is_ok()
}

/// Records the duration of a stage of a job.
pub(crate) fn record_duration(stage: &'static str, begin: Instant) {
    metrics::histogram!("plinth_worker_job_seconds", "stage" => stage).record(begin.elapsed());
}

/// Logs and counts the failure of a hardware encoder, after which libx264 has encoded the job.
pub(crate) fn encoded_in_software(failure: Option<&str>) {
    if let Some(error) = failure {
        counters::encoder_failures().increment(1);
        tracing::warn!(error, "the hardware encoder failed; libx264 encoded this job");
    }
}
