//! Builds all error bodies of the API.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use plinth_service::ServiceError;
use plinth_spec::ErrorCode;
use plinth_spec::wire::ErrorBody;

/// The error of a handler. It is converted to a response whose body describes the error.
#[derive(Debug)]
pub(crate) struct ApiError(ServiceError);

pub(crate) type Result<T> = std::result::Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(ServiceError::new(code, message))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        Self(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.0;
        error.log();
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let message = match error.render {
            Some(index) => format!("{} (in renders[{index}])", error.message),
            None => error.message,
        };
        let body = ErrorBody::with_status(error.code, status.as_u16(), message);
        let mut response = (status, Json(body)).into_response();
        if let Some(secs) = error.retry_after_secs {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Handler for requests whose path matches no route.
pub(crate) async fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "there is no resource at this path")
}

/// Handler for requests whose path matches a route that does not support the request's method.
pub(crate) async fn method_not_allowed() -> ApiError {
    ApiError::new(ErrorCode::MethodNotAllowed, "this path does not support this method")
}

/// Converts a panic of a handler to an internal error.
#[expect(clippy::needless_pass_by_value, reason = "the panic layer passes the payload by value")]
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send + 'static>) -> Response {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    ApiError(ServiceError::internal(format!("a handler panicked: {message}"))).into_response()
}
