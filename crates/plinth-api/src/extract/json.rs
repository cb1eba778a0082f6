//! Extracts JSON bodies.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header;
use plinth_service::access::Caller;
use plinth_service::{BodyMemory, ServiceError, parse_json};
use plinth_spec::wire::JsonRequest;

use crate::error::ApiError;
use crate::state::Api;

/// Time limit for receiving a whole JSON body.
const ARRIVAL: Duration = Duration::from_mins(1);

/// A JSON body, and the reservation of the memory that processing the body takes. An empty body is parsed as an empty
/// object, so that the error message names the first missing field.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub T, pub BodyMemory);

impl<T: JsonRequest> FromRequest<Api> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, api: &Api) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).map(|v| v.to_str().unwrap_or_default().to_owned());
        let stated = parts.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        let too_large =
            || ApiError::bad_request(format!("the body ends early or has more than {} bytes", T::MAX_BYTES));
        let bytes: usize = stated.unwrap_or(T::MAX_BYTES);
        if bytes > T::MAX_BYTES {
            return Err(too_large());
        }
        let caller = parts.extensions.get::<Caller>();
        let caller = caller
            .ok_or_else(|| ServiceError::internal("the route reads a body but lacks the authentication layer"))?;
        let mut memory = api.service.json_memory(caller, bytes, T::MAX_VALUES).await?;
        let reading = tokio::time::timeout(ARRIVAL, to_bytes(body, bytes)).await;
        let late = |_late| ApiError::bad_request(format!("the body was not received within {} s", ARRIVAL.as_secs()));
        let bytes = reading.map_err(late)?.map_err(|_too_large| too_large())?;
        if bytes.is_empty() {
            return Ok(Self(parse(b"{}")?, memory));
        }
        let kind = kind.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
            return Err(ApiError::bad_request("send the body with Content-Type: application/json"));
        }
        memory.shrink_to(&bytes);
        Ok(Self(parse(&bytes)?, memory))
    }
}

fn parse<T: JsonRequest>(bytes: &[u8]) -> Result<T, ApiError> {
    // Arrays are rejected here, because Serde would accept an array in place of a struct and assign its elements by
    // position.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ApiError::bad_request("the body must be a JSON object, not a list"));
    }
    parse_json(bytes, T::MAX_VALUES)
        .map_err(|problem| ApiError::bad_request(format!("the body cannot be read: {problem}")))
}
