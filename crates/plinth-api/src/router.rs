//! Routes of the HTTP server.

use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use axum::{Json, Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::let_in;
use crate::body_timeout::limit_body_time;
use crate::error::{method_not_allowed, not_found, panicked};
use crate::file::ignore_range_of_head;
use crate::local_link::{get_file, put_file};
use crate::open_body::keep_open;
use crate::openapi::document;
use crate::state::Api;
use crate::trace::traced;
use crate::v1;

/// Builds the router. It serves the API under `/v1` and under the legacy path `/api/v1`, and signed links to files.
/// `pages` serves all other paths, and answers unknown paths with status 404.
pub fn router(api: &Api, pages: Router) -> Router {
    let (guarded, _described) = v1::guarded().split_for_parts();
    let (open, _described) = v1::open().split_for_parts();
    let guarded = guarded.route_layer(middleware::from_fn_with_state(api.clone(), let_in));
    let described = Json(document());
    let endpoints = guarded
        .merge(open)
        .route("/openapi.json", get(async move || described.clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    Router::new()
        .nest("/v1", endpoints.clone())
        .nest("/api/v1", endpoints)
        .route("/_o/{*path}", get(get_file).put(put_file))
        // The nested routers do not match the paths `/v1/` and `/api/v1/` themselves.
        .route("/v1/", any(not_found))
        .route("/api/v1/", any(not_found))
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(api.clone())
        .merge(pages)
        // axum's own limit is disabled, because each extractor that reads a body has its own limit.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(api.clone(), limit_body_time))
        .layer(middleware::from_fn(keep_open))
        .layer(middleware::from_fn(ignore_range_of_head))
        .layer(middleware::from_fn(traced))
}
