//! The endpoints, one file per resource.

#![expect(unused_qualifications, reason = "in the code that utoipa generates for query types")]

mod account;
mod assets;
mod by_id;
mod health;
mod looks;
mod models;
mod overlays;
mod previews;
mod renders;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use plinth_service::{BodyMemory, HeldBody, ServiceError};
use plinth_spec::wire::Data;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;

use crate::error::Result;
use crate::file::{set, sized};
use crate::state::Api;

/// Returns the endpoints that need an API key.
pub(crate) fn guarded() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(models::routes())
        .merge(previews::routes())
        .merge(renders::routes())
        .merge(looks::routes())
        .merge(overlays::routes())
        .merge(assets::routes())
        .merge(account::routes())
}

/// Returns the endpoints that need no API key.
pub(crate) fn open() -> OpenApiRouter<Api> {
    health::routes()
}

/// Wraps data in a response with status 200.
fn ok<T: Serialize>(data: T) -> Response {
    Json(Data { data }).into_response()
}

/// Builds a JSON response that holds its reservation of memory until it is sent, or the client disconnects or reads too
/// slowly.
fn with_memory<T: Serialize>(body: &T, memory: BodyMemory) -> Result<Response> {
    let bytes = serde_json::to_vec(body).map_err(ServiceError::internal)?;
    let length = bytes.len() as u64;
    let mut response = sized(StatusCode::OK, length, Body::from_stream(HeldBody::new(bytes, memory)));
    set(&mut response, header::CONTENT_TYPE, "application/json");
    Ok(response)
}

/// Wraps data in a response with status 201.
fn created<T: Serialize>(data: T) -> Response {
    (StatusCode::CREATED, ok(data)).into_response()
}
