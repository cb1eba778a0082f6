//! Why there is no page.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plinth_service::ServiceError;

/// Why there is no page. The layer around all pages makes one of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nobody is signed in.
    SignedOut,
    /// These words say why.
    Words {
        status: StatusCode,
        words: String,
        /// When to try again.
        retry_after_secs: Option<u64>,
    },
}

/// The result of a handler.
pub(crate) type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: StatusCode, words: &str) -> Self {
        Self::Words { status, words: words.to_owned(), retry_after_secs: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing under this address")
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take this method")
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        error.log();
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::Words { status, words: error.message, retry_after_secs: error.retry_after_secs }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = ().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// A handler that panicked.
#[expect(clippy::needless_pass_by_value, reason = "the panic layer hands the payload over")]
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    Refusal::from(ServiceError::internal(format!("a page panicked: {words}"))).into_response()
}
