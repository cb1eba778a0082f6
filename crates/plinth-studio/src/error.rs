//! The error type of page handlers.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plinth_service::ServiceError;

/// The error of a page handler. The middleware in [`crate::response`] renders it as an error page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// The request has no valid session. The response redirects the browser to the sign-in page, which leads back to a page
    /// that was requested with GET.
    SignedOut,
    /// An error page with a status code and a message.
    Message {
        status: StatusCode,
        message: String,
        /// Seconds to wait before a retry, sent as `Retry-After`.
        retry_after_secs: Option<u64>,
    },
    /// The form comes from a page that shows another workspace than the current workspace of the session.
    OtherWorkspace(Box<OtherWorkspace>),
}

/// The workspace that a page shows, and the different workspace of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherWorkspace {
    /// Identifier of the workspace that the page shows.
    pub(crate) shown_id: String,
    /// Name of the workspace that the page shows.
    pub(crate) shown: String,
    /// Name of the workspace of the session.
    pub(crate) current: String,
    /// Hidden field `form_token` of the form with which the user can return to the workspace of the page.
    pub(crate) form_token: String,
}

impl OtherWorkspace {
    pub(crate) fn message(&self) -> String {
        format!(
            "this page shows the workspace “{}”, but another tab has changed to “{}” since; nothing was changed",
            self.shown, self.current
        )
    }
}

/// The result of a handler.
pub(crate) type Result<T> = std::result::Result<T, PageError>;

impl PageError {
    pub(crate) fn new(status: StatusCode, message: &str) -> Self {
        Self::Message { status, message: message.to_owned(), retry_after_secs: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no page at this address")
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not support this method")
    }
}

impl From<ServiceError> for PageError {
    fn from(error: ServiceError) -> Self {
        error.log();
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::Message { status, message: error.message, retry_after_secs: error.retry_after_secs }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = ().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Converts the panic of a handler into an internal error.
#[expect(clippy::needless_pass_by_value, reason = "the panic layer passes the payload by value")]
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    PageError::from(ServiceError::internal(format!("a page panicked: {message}"))).into_response()
}
