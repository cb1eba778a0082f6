//! Retries operations while the store or the database does not respond.

use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use plinth_pipeline::failure_message;
use plinth_service::ServiceError;
use plinth_store::StoreError;

/// Pause before the first retry. The pause doubles with each retry, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The time since the first failure of a step that is retried.
pub(crate) struct Outage {
    most: Duration,
    begin: Option<Instant>,
}

impl Outage {
    pub(crate) const fn new(most: Duration) -> Self {
        Self { most, begin: None }
    }

    /// Returns whether the step, which has just failed, may be retried. The time before the first failure does not count.
    pub(crate) fn allows_retry(&mut self) -> bool {
        self.begin.get_or_insert_with(Instant::now).elapsed() < self.most
    }
}

/// Repeats a step that reads or writes the store until it succeeds. Returns an error if the step still fails when `outage`
/// has passed since its first failure. Returns an error at once if a retry cannot help: the object is missing, the store
/// rejects the request as invalid, or a local file cannot be read or written.
pub(crate) async fn retry_store<T, F>(outage: Duration, what: &str, step: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut outage = Outage::new(outage);
    step.retry(pauses())
        .when(|error: &StoreError| error.may_pass() && outage.allows_retry())
        .notify(|error, pause| tracing::warn!(error = failure_message(error), ?pause, "{what}: the store failed"))
        .await
}

/// Repeats a step that uses the database until it succeeds. Returns an error if the step still fails when `outage` has
/// passed since its first failure.
pub(crate) async fn retry_database<T, F>(
    outage: Duration,
    what: &str,
    step: impl FnMut() -> F,
) -> Result<T, ServiceError>
where
    F: Future<Output = Result<T, ServiceError>>,
{
    let mut outage = Outage::new(outage);
    step.retry(pauses())
        .when(|_error| outage.allows_retry())
        .notify(|error, pause| tracing::warn!(error = failure_message(error), ?pause, "{what}: the database failed"))
        .await
}

/// Returns the pauses between retries while a job runs. Their number is not limited.
pub(crate) fn pauses() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
}

/// Returns the pauses between retries at the end of a job. All pauses together last about 23 seconds.
pub(crate) fn short_pauses() -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE).with_max_times(7)
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::sync::atomic::{AtomicU32, Ordering};

    use backon::BackoffBuilder as _;
    use plinth_spec::ErrorCode;

    use super::*;

    /// Returns a step that fails `failures` times, then succeeds and returns the number of its calls.
    fn failing<E>(failures: u32, error: fn() -> E) -> impl Fn() -> Ready<Result<u32, E>> {
        let calls = AtomicU32::new(0);
        move || {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            ready(if call > failures { Ok(call) } else { Err(error()) })
        }
    }

    fn store_outage() -> StoreError {
        StoreError::Objects(object_store::Error::Generic { store: "S3", source: "connection refused".into() })
    }

    #[tokio::test]
    async fn a_job_continues_after_an_outage() {
        let (outage, step) = (Duration::from_mins(10), failing(2, store_outage));
        assert_eq!(retry_store(outage, "the model", &step).await.unwrap(), 3);
        let step = failing(2, || ServiceError::new(ErrorCode::Internal, "no connection"));
        assert_eq!(retry_database(outage, "the model", &step).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn an_outage_that_does_not_end_is_an_error() {
        let step = failing(u32::MAX, store_outage);
        assert!(!retry_store(Duration::from_millis(300), "the model", &step).await.unwrap_err().is_not_found());
        // Jitter makes a pause at most twice as long.
        assert!(pauses().build().take(1000).all(|pause| pause <= 2 * LONGEST_PAUSE));
    }

    #[tokio::test]
    async fn only_the_time_since_the_first_failure_counts() {
        let slow = failing(1, store_outage);
        let step = || async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            slow().await
        };
        assert_eq!(retry_store(Duration::from_millis(100), "a file", step).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_request_that_the_store_rejects_is_an_error_at_once() {
        let invalid = || {
            StoreError::Objects(object_store::Error::NotImplemented {
                operation: "put".to_owned(),
                implementer: "S3".to_owned(),
            })
        };
        let step = failing(1, invalid);
        assert!(retry_store(Duration::from_mins(10), "a file", &step).await.is_err());
        assert_eq!(step().await.unwrap(), 2, "the step was called once before this call");
    }

    #[tokio::test]
    async fn a_missing_object_is_an_error_at_once() {
        let step = failing(1, || StoreError::NotFound { key: "models/a.glb".to_owned() });
        assert!(retry_store(Duration::from_mins(10), "the model", &step).await.unwrap_err().is_not_found());
        assert_eq!(step().await.unwrap(), 2, "the step was called once before this call");
    }
}
