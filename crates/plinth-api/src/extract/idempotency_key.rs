//! The header `Idempotency-Key`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use plinth_spec::idempotency::ReplayKey;

/// Value of the header `Idempotency-Key`. It is empty if the request has no such header.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(pub ReplayKey);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        // Invalid UTF-8 is accepted; each invalid byte sequence is replaced.
        let value = parts.headers.get("idempotency-key").map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        Ok(Self(ReplayKey::from_header(value.as_deref())))
    }
}
