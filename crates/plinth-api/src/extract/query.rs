//! Query strings.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// A query string.
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

/// A whole number of a query.
pub(crate) fn whole_number(name: &str, text: Option<&str>) -> Result<Option<i64>, ApiError> {
    let number = text.filter(|text| !text.is_empty()).map(str::parse).transpose();
    number.map_err(|_malformed| ApiError::bad_request(format!("{name} must be a whole number")))
}
