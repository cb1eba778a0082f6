//! Retries of a step while the store or the database does not respond.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use plinth_pipeline::failure_message;
use plinth_service::ServiceError;
use plinth_store::StoreError;

/// Pause before the first retry; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Repeats a step that reads or writes the store until it succeeds. Errors at once where a retry cannot help: the object
/// is missing, or a local file failed; otherwise when the pauses add up to `outage`.
pub(crate) async fn retry_store<T, F>(outage: Duration, what: &str, step: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    step.retry(pauses(outage))
        .when(StoreError::may_pass)
        .notify(|error, pause| tracing::warn!(error = failure_message(error), ?pause, "{what}: the store failed"))
        .await
}

/// Repeats a step that uses the database until it succeeds, or the pauses add up to `outage`.
pub(crate) async fn retry_database<T, F>(
    outage: Duration,
    what: &str,
    step: impl FnMut() -> F,
) -> Result<T, ServiceError>
where
    F: Future<Output = Result<T, ServiceError>>,
{
    step.retry(pauses(outage))
        .notify(|error, pause| tracing::warn!(error = failure_message(error), ?pause, "{what}: the database failed"))
        .await
}

/// Pauses between retries while a job holds its lease.
pub(crate) fn pauses(outage: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_total_delay(Some(outage))
        .with_jitter()
}

/// Pauses between retries that delay the end of a job: about 25 seconds in all.
pub(crate) fn short_pauses() -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE).with_max_times(7)
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::sync::atomic::{AtomicU32, Ordering};

    use plinth_spec::ErrorCode;
    use tokio::time::Instant;

    use super::*;

    const OUTAGE: Duration = Duration::from_mins(10);

    fn store_outage() -> StoreError {
        StoreError::Objects(object_store::Error::Generic { store: "S3", source: "connection refused".into() })
    }

    /// A step that fails until `end`.
    fn fails_until<E>(end: Instant, error: fn() -> E) -> Ready<Result<(), E>> {
        ready(if Instant::now() < end { Err(error()) } else { Ok(()) })
    }

    #[tokio::test(start_paused = true)]
    async fn five_minutes_without_store_or_database_are_waited_for() {
        let end = Instant::now() + Duration::from_mins(5);
        retry_store(OUTAGE, "the model", || fails_until(end, store_outage)).await.unwrap();
        assert!(end.elapsed() <= 2 * LONGEST_PAUSE, "it goes on soon after");
        let end = Instant::now() + Duration::from_mins(5);
        let database_outage = || ServiceError::new(ErrorCode::Internal, "no connection");
        retry_database(OUTAGE, "the model", || fails_until(end, database_outage)).await.unwrap();
        assert!(end.elapsed() <= 2 * LONGEST_PAUSE, "it goes on soon after");
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_without_end_is_an_error() {
        let (begin, year) = (Instant::now(), Duration::from_hours(8760));
        retry_store(OUTAGE, "the model", || fails_until(begin + year, store_outage)).await.unwrap_err();
        // The jitter at most doubles each pause.
        assert!((OUTAGE / 2..3 * OUTAGE).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_object_is_an_error_at_once() {
        let tries = AtomicU32::new(0);
        let missing = async || {
            tries.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(StoreError::NotFound { key: "models/a.glb".to_owned() })
        };
        assert!(retry_store(OUTAGE, "the model", missing).await.unwrap_err().is_not_found());
        assert_eq!(tries.into_inner(), 1);
    }
}
