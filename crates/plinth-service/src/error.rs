//! The error type of all use cases.

use std::io::ErrorKind;

use plinth_db::DbError;
use plinth_spec::ErrorCode;
use plinth_spec::page::PageError;
use plinth_spec::settings::{SettingsError, SettingsErrorKind};
use plinth_store::StoreError;

/// Time in seconds after which a client may repeat a request for whose files a disk of the server had no room.
const NO_ROOM_RETRY_SECS: u64 = 60;

/// Error of a use case. The message is sent to the caller; the cause is only logged and never sent.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ServiceError {
    pub code: ErrorCode,
    /// HTTP status. Some codes are used with several statuses.
    pub status: u16,
    pub message: String,
    /// For `rate_limited`: seconds to wait before the next attempt.
    pub retry_after_secs: Option<u64>,
    /// Index of the render that the error is about, if the request has several renders.
    pub render: Option<usize>,
    /// Internal cause, for the log.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of a use case.
pub type Result<T> = std::result::Result<T, ServiceError>;

impl ServiceError {
    /// Creates an error with the default status of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, status: code.status(), message: message.into(), retry_after_secs: None, render: None, cause: None }
    }

    /// Replaces the HTTP status. Used for codes that have several statuses.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Sets the internal cause.
    #[must_use]
    pub fn with_cause(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Sets the index of the render that the error is about, if the request has several renders.
    #[must_use]
    pub(crate) fn of_render(self, index: usize, renders: usize) -> Self {
        Self { render: (renders > 1).then_some(index), ..self }
    }

    /// Creates an internal server error. The response does not contain the cause.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, "the server could not process the request; please try again").with_cause(cause)
    }

    /// Creates the error of a request for whose files a disk of the server has no room.
    pub(crate) fn no_room(code: ErrorCode) -> Self {
        let error = Self::new(code, "the server has no room for files; try again later");
        Self { retry_after_secs: Some(NO_ROOM_RETRY_SECS), ..error }
    }

    /// Creates the error of a file that could not be read or written.
    fn of_file(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        if is_of_full_disk(&cause) {
            Self::no_room(ErrorCode::Internal).with_cause(cause)
        } else {
            Self::internal(cause)
        }
    }

    /// Logs a server error (status 500 or above) with its causes. Does not log other errors, because the caller is
    /// responsible for them.
    pub fn log(&self) {
        if self.status >= 500 {
            let causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
            let causes: Vec<String> = causes.map(ToString::to_string).collect();
            tracing::error!(error.code = self.code.as_str(), error.cause = causes.join(": "), "a request failed");
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    pub(crate) fn model_not_found() -> Self {
        Self::new(ErrorCode::ModelNotFound, "there is no such model")
    }

    pub(crate) fn render_not_found() -> Self {
        Self::new(ErrorCode::RenderNotFound, "there is no such render")
    }
}

impl From<DbError> for ServiceError {
    fn from(error: DbError) -> Self {
        Self::internal(error)
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        Self::of_file(error)
    }
}

impl From<std::io::Error> for ServiceError {
    fn from(error: std::io::Error) -> Self {
        Self::of_file(error)
    }
}

impl From<SettingsError> for ServiceError {
    fn from(error: SettingsError) -> Self {
        let code = match error.kind {
            SettingsErrorKind::InvalidSettings => ErrorCode::InvalidSettings,
            SettingsErrorKind::InvalidLength => ErrorCode::InvalidLength,
        };
        Self::new(code, error.message)
    }
}

impl From<PageError> for ServiceError {
    fn from(error: PageError) -> Self {
        Self::bad_request(error.to_string())
    }
}

/// Returns whether the cause of an error is that a disk is full, or that the disk quota of the user is exhausted.
pub(crate) fn is_of_full_disk(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_full = |kind: ErrorKind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    std::iter::successors(Some(error), |&one| one.source())
        .any(|one| one.downcast_ref::<std::io::Error>().is_some_and(|error| is_full(error.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_and_the_request_may_be_repeated_later() {
        let of_file = |kind: ErrorKind| ServiceError::from(std::io::Error::from(kind));
        let of_store = |kind: ErrorKind| ServiceError::from(StoreError::File(kind.into()));
        for (error, is_full) in [
            (of_file(ErrorKind::StorageFull), true),
            (of_store(ErrorKind::QuotaExceeded), true),
            (of_file(ErrorKind::PermissionDenied), false),
            (of_store(ErrorKind::PermissionDenied), false),
        ] {
            assert_eq!((error.code, error.status), (ErrorCode::Internal, 500), "{error:?}");
            assert_eq!((error.retry_after_secs.is_some(), error.message.contains("no room")), (is_full, is_full));
        }
    }
}
