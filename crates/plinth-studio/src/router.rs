//! Routes of the web UI.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;

use crate::csrf::same_site;
use crate::error::{PageError, panicked};
use crate::pages::{keys, overview, render, session, sign_in};
use crate::response::finish_response;
use crate::session::load_session;
use crate::studio::Studio;
use crate::style;

/// Maximum size of a form body, in bytes.
const FORM_BYTES: usize = 16 << 10;

/// Builds the router of all pages, with a 404 page as fallback.
pub fn router(studio: &Studio) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/sign-in", get(sign_in::home).post(sign_in::by_password))
        .route("/sign-in/{link}", get(sign_in::ask).post(sign_in::by_link))
        .route("/sign-out", post(session::sign_out))
        .route("/sign-out-everywhere", post(session::sign_out_everywhere))
        .route("/workspace", post(session::choose_workspace))
        .route("/keys", get(keys::list).post(keys::create))
        .route("/keys/{id}/revoke", get(keys::ask_to_revoke).post(keys::revoke))
        .route("/renders/{id}", get(render::show))
        .route("/renders/{id}/files/{asset}", get(render::file))
        .fallback(async || PageError::not_found())
        .method_not_allowed_fallback(async || PageError::wrong_method())
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(middleware::from_fn_with_state(studio.clone(), load_session))
        .layer(middleware::from_fn_with_state(studio.clone(), same_site))
        .route(style::path(), get(style::sheet))
        .route(style::ICON, get(style::icon))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(studio.clone(), finish_response))
        .with_state(studio.clone())
}
