//! All addresses.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tower_http::catch_panic::CatchPanicLayer;

use crate::answer::answer;
use crate::origin::same_site;
use crate::pages::{keys, overview, render, session, sign_in};
use crate::refusal::{Refusal, panicked};
use crate::studio::Studio;
use crate::style;
use crate::visitor::recognise;

/// Most bytes of a form.
const FORM_BYTES: usize = 16 << 10;

/// All pages, and the answer to an address that leads nowhere.
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
        .fallback(async || Refusal::not_found())
        .method_not_allowed_fallback(async || Refusal::wrong_method())
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(middleware::from_fn_with_state(studio.clone(), recognise))
        .layer(middleware::from_fn_with_state(studio.clone(), same_site))
        .route(style::path(), get(style::sheet))
        .route(style::ICON, get(style::icon))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(studio.clone(), answer))
        .with_state(studio.clone())
}
