//! Why a job does not come to its end.

use std::error::Error;

use plinth_pipeline::child::ChildFailure;
use plinth_pipeline::failure_message;
use plinth_spec::FailureCode;
use tokio_util::sync::CancellationToken;

/// Why a job does not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It cannot be done.
    Failed(ChildFailure),
    /// Somebody else has it now, or this worker is stopping.
    Cut,
}

impl Stop {
    pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Self {
        Self::Failed(ChildFailure { code, message: message.into() })
    }

    /// Something could not be fetched from the store.
    pub(crate) fn fetching(code: FailureCode, what: &str, error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "{what} cannot be fetched");
        // What exactly is for the log: it names hosts and keys.
        Self::failed(code, format!("{what} could not be fetched; please try again"))
    }

    /// A finished file could not be stored.
    pub(crate) fn storing(error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "a finished file cannot be stored");
        Self::failed(FailureCode::UploadFailed, "a finished file could not be stored; please try again")
    }

    /// The job's folder cannot be made.
    pub(crate) fn preparing(error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = failure_message(error), "a job's folder cannot be made");
        Self::failed(FailureCode::RendererCrash, "the render node has no room for the job; please try again")
    }
}

/// Does something, unless it is cut off.
pub(crate) async fn or_cut<T>(cut: &CancellationToken, work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cut.cancelled() => Err(Stop::Cut),
        done = work => done,
    }
}
