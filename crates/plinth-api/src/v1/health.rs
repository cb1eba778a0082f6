//! Health.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plinth_spec::wire::{Data, Health};

use crate::state::Api;

/// Says whether the service can work
#[utoipa::path(get, path = "/health", tag = "service", security(()), responses(
    (status = 200, description = "It can; `degraded` when the store does not answer.", body = Data<Health>),
    (status = 503, description = "The database does not answer.", body = Data<Health>),
))]
pub(crate) async fn get_health(State(api): State<Api>) -> Response {
    let data = api.service.health().await;
    let status = if data.database == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Data { data })).into_response()
}
