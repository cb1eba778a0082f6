//! Errors that end a job.

use std::error::Error;

use plinth_pipeline::child::ChildFailure;
use plinth_pipeline::failure_message;
use plinth_spec::FailureCode;
use tokio_util::sync::CancellationToken;

/// The reason why a job ended without success.
#[derive(Clone, Debug)]
pub(crate) enum JobError {
    /// The job failed.
    Failed(ChildFailure),
    /// The job failed, but another machine may be able to run it. Nothing is reported: its leases expire, and the service requeues its
    /// renders as after the loss of a worker.
    Left,
    /// The job was cancelled, because its lease is lost or the worker is stopping.
    Cancelled,
}

impl JobError {
    pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Self {
        Self::Failed(ChildFailure::new(code, message.into()))
    }

    /// Logs `error` and returns the failure of a download.
    pub(crate) fn fetching(code: FailureCode, what: &str, error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "{what} cannot be fetched");
        // Details appear in the log only, because they contain host names and object keys.
        Self::Failed(ChildFailure::of_error(code, format!("{what} could not be fetched; please try again"), error))
    }

    /// Logs `error` and returns the failure of an upload.
    pub(crate) fn storing(error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "a finished file cannot be stored");
        Self::failed(FailureCode::UploadFailed, "a finished file could not be stored; please try again")
    }

    /// Logs `error` and returns the failure to create the job's folder.
    pub(crate) fn preparing(error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "the folder of a job cannot be created");
        let message = "the render node has no room for the job; please try again".to_owned();
        Self::Failed(ChildFailure::of_error(FailureCode::RendererCrash, message, error))
    }
}

/// Runs `work` until it ends or `cut` is cancelled.
pub(crate) async fn or_cancelled<T>(
    cut: &CancellationToken,
    work: impl Future<Output = Result<T, JobError>>,
) -> Result<T, JobError> {
    tokio::select! {
        biased;
        () = cut.cancelled() => Err(JobError::Cancelled),
        done = work => done,
    }
}
