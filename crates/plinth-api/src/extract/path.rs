//! Extracts path parameters.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use plinth_spec::ErrorCode;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// Path parameters. If the path is not valid UTF-8, the request is rejected with status 404.
#[derive(Debug)]
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(value)| Self(value))
            .map_err(|_not_text| ApiError::new(ErrorCode::NotFound, "there is no resource at this path"))
    }
}
