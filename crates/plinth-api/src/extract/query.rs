//! Extracts query strings.

use std::num::IntErrorKind;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// A parsed query string.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        query
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|error| ApiError::bad_request(format!("the query cannot be read: {error}")))
    }
}

/// Parses an integer parameter of a query string. A number outside the range of `i64` is clamped to this range.
pub(crate) fn whole_number(name: &str, text: Option<&str>) -> Result<Option<i64>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.parse::<i64>().map_err(|error| *error.kind()) {
        Ok(number) => Ok(Some(number)),
        Err(IntErrorKind::PosOverflow) => Ok(Some(i64::MAX)),
        Err(IntErrorKind::NegOverflow) => Ok(Some(i64::MIN)),
        Err(_malformed) => Err(ApiError::bad_request(format!("{name} must be a whole number"))),
    }
}
