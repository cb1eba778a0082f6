//! The endpoints, one file per resource.

#![expect(unused_qualifications, reason = "in what utoipa makes of the query types")]

mod account;
mod assets;
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
use utoipa_axum::routes;

use crate::state::Api;

/// Returns the endpoints that need an API key.
pub(crate) fn guarded() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(models::list_models, models::upload_model))
        .routes(routes!(models::ingest_model))
        .routes(routes!(models::create_upload_url))
        .routes(routes!(models::finalize_upload))
        .routes(routes!(models::check_hash))
        .routes(routes!(models::get_model, models::update_model, models::delete_model))
        .routes(routes!(models::archive_model))
        .routes(routes!(models::unarchive_model))
        .routes(routes!(models::get_model_file))
        .routes(routes!(models::get_model_file_url))
        .routes(routes!(renders::list_renders, renders::create_render))
        .routes(routes!(renders::create_batch))
        .routes(routes!(renders::get_render, renders::delete_render))
        .routes(routes!(renders::dismiss_render))
        .routes(routes!(renders::cancel_render))
        .routes(routes!(renders::get_video))
        .routes(routes!(renders::get_poster))
        .routes(routes!(renders::get_thumb))
        .routes(routes!(renders::get_bundle))
        .routes(routes!(renders::get_dataset))
        .routes(routes!(renders::get_hls))
        .routes(routes!(renders::get_hls_file))
        .routes(routes!(renders::get_download_url))
        .routes(routes!(overlays::list_overlays, overlays::create_overlay))
        .routes(routes!(overlays::resolve_overlay))
        .routes(routes!(overlays::delete_overlay))
        .routes(routes!(assets::list_textures, assets::create_texture))
        .routes(routes!(assets::delete_texture))
        .routes(routes!(assets::list_envs, assets::create_env))
        .routes(routes!(assets::delete_env))
        .routes(routes!(account::get_account))
        .routes(routes!(account::quote))
        .routes(routes!(account::list_products))
        .routes(routes!(account::list_purchases))
}

/// Returns the endpoints that need no API key.
pub(crate) fn open() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(health::get_health))
}

/// Wraps data in a 200 response.
fn ok<T: Serialize>(data: T) -> Response {
    Json(Data { data }).into_response()
}

/// Wraps data in a 201 response.
fn created<T: Serialize>(data: T) -> Response {
    (StatusCode::CREATED, ok(data)).into_response()
}
