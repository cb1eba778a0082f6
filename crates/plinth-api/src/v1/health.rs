//! The health endpoint.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plinth_spec::wire::{Data, Health, PartHealth};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(get_health))
}

/// Checks whether the service works
#[utoipa::path(get, path = "/health", tag = "service", security(()), responses(
    (status = 200, description = "The service works. `degraded` means that requests for files fail.", body = Data<Health>),
    (status = 503, description = "The database does not respond.", body = Data<Health>),
))]
pub(crate) async fn get_health(State(api): State<Api>) -> Response {
    let data = api.service.health().await;
    let status = if data.database == PartHealth::Ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Data { data })).into_response()
}
