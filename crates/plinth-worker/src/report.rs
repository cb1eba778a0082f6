//! Telling the service, and whoever measures, how a job went.

use std::time::{Duration, Instant};

use plinth_service::jobs::LeaseLost;
use plinth_spec::id::RenderId;
use tokio::time::sleep;

/// Times that a report is tried: the database may be restarting.
const TRIES: u32 = 8;
/// Pause after the first try; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// What the service answers to a report.
type Answer = plinth_service::Result<Result<(), LeaseLost>>;

/// Reports, again where the database does not answer. True: it is noted. Otherwise the render is no longer this worker's,
/// or will soon be nobody's.
pub(crate) async fn report<F>(what: &'static str, id: &RenderId, tell: impl Fn() -> F) -> bool
where
    F: Future<Output = Answer>,
{
    let mut pause = PAUSE;
    for _try in 1..TRIES {
        match tell().await {
            Ok(answer) => return noted(what, id, answer),
            Err(error) => {
                tracing::warn!(render.id = %id, error = %error, cause = ?error.cause, "the report '{what}' failed");
            }
        }
        sleep(pause).await;
        pause *= 2;
    }
    match tell().await {
        Ok(answer) => noted(what, id, answer),
        Err(error) => {
            tracing::error!(render.id = %id, error = %error, cause = ?error.cause, "the report '{what}' is given up");
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

/// Measures how long a stage of a job took.
pub(crate) fn took(stage: &'static str, begin: Instant) {
    metrics::histogram!("plinth_worker_job_seconds", "stage" => stage).record(begin.elapsed());
}

/// Tells whoever runs the machine of a hardware encoder that failed over a job, which libx264 then did.
pub(crate) fn encoded_in_software(failure: Option<&str>) {
    if let Some(error) = failure {
        metrics::counter!("plinth_worker_encoder_failures_total").increment(1);
        tracing::warn!(error, "the hardware encoder failed; libx264 encoded this job");
    }
}
