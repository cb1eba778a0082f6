//! JSON bodies.

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use plinth_spec::limits;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// A JSON body. An empty one reads as an empty object, so that the field that is missing is named.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).map(|v| v.to_str().unwrap_or_default().to_owned());
        let bytes = to_bytes(request.into_body(), limits::JSON_BODY_BYTES).await.map_err(|_too_large| {
            ApiError::bad_request(format!("the body breaks off or has more than {} bytes", limits::JSON_BODY_BYTES))
        })?;
        if bytes.is_empty() {
            return parse(b"{}");
        }
        let kind = kind.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
            return Err(ApiError::bad_request("send the body with Content-Type: application/json"));
        }
        parse(&bytes)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<JsonBody<T>, ApiError> {
    // Read by position, a list would pass for an object.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiError::bad_request("the body must be a JSON object, not a list"));
    }
    let value = serde_json::from_slice(bytes);
    value.map(JsonBody).map_err(|error| ApiError::bad_request(format!("the body cannot be read: {error}")))
}
