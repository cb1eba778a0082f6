//! The endpoints, one file per resource.

#![expect(unused_qualifications, reason = "in the code that utoipa generates for query types")]

mod account;
mod assets;
mod by_id;
mod health;
mod models;
mod overlays;
mod renders;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plinth_spec::wire::Data;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;

use crate::state::Api;

/// Returns the endpoints that need an API key.
pub(crate) fn guarded() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(models::routes())
        .merge(renders::routes())
        .merge(overlays::routes())
        .merge(assets::routes())
        .merge(account::routes())
}

/// Returns the endpoints that need no API key.
pub(crate) fn open() -> OpenApiRouter<Api> {
    health::routes()
}

/// Wraps data in a 200 response.
fn ok<T: Serialize>(data: T) -> Response {
    Json(Data { data }).into_response()
}

/// Wraps data in a 201 response.
fn created<T: Serialize>(data: T) -> Response {
    (StatusCode::CREATED, ok(data)).into_response()
}
