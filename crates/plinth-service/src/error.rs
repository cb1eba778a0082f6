//! Why a use case ends without success.

use plinth_db::DbError;
use plinth_spec::ErrorCode;
use plinth_spec::page::PageError;
use plinth_spec::settings::{SettingsError, SettingsErrorKind};
use plinth_store::StoreError;

/// Why a use case ends without success. The message is for the caller; the cause is for the log and never leaves the
/// house.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ServiceError {
    /// What clients branch on.
    pub code: ErrorCode,
    /// The HTTP status, for codes that have several.
    pub status: u16,
    /// What people read.
    pub message: String,
    /// For `rate_limited`: when to try again.
    pub retry_after_secs: Option<u64>,
    /// What the log gets.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of a use case.
pub type Result<T> = std::result::Result<T, ServiceError>;

impl ServiceError {
    /// A refusal.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, status: code.status(), message: message.into(), retry_after_secs: None, cause: None }
    }

    /// The same with another of the code's statuses.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same with what the log gets.
    #[must_use]
    pub fn with_cause(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Something went wrong in the house.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, "something went wrong here; please try again").with_cause(cause)
    }

    /// Tells the log of what went wrong in the house. Refusals are the callers' affair.
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
        Self::internal(error)
    }
}

impl From<std::io::Error> for ServiceError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
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
