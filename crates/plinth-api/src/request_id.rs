//! Each request has a name that its answer and its log lines carry.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Names a request.
pub(crate) async fn with_request_id(request: Request, next: Next) -> Response {
    let id = nanoid::nanoid!(16, &nanoid::alphabet::SAFE[2..]);
    let span = tracing::info_span!("request", request.id = id, http.method = %request.method());
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(&REQUEST_ID, value);
    }
    response
}
