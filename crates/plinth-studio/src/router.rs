//! Routes of the web UI.

use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};
use plinth_spec::limits;
use tower_http::catch_panic::CatchPanicLayer;

use crate::assets;
use crate::csrf::same_site;
use crate::error::{PageError, panicked};
use crate::pages::{
    account, admin, bulk, composer, credits, environments, events, images, join, keys, library, links, look_order,
    looks, media, model, overview, preview, recovery, render, render_delete, session, sign_in, teams, upload,
};
use crate::response::finish_response;
use crate::session::load_session;
use crate::studio::Studio;

/// Maximum size of a form body without a limit of its own, in bytes.
const FORM_BYTES: usize = 16 << 10;

fn settings(route: MethodRouter<Studio>) -> MethodRouter<Studio> {
    route.layer(DefaultBodyLimit::max(limits::PAGE_FORM_BYTES))
}

/// The list of renders, and the pages and files of each.
fn of_renders() -> Router<Studio> {
    Router::new()
        .route("/renders", get(overview::show))
        .route("/renders/events", get(events::of_renders))
        .route("/renders/delete", post(render_delete::delete))
        .route("/renders/{id}", get(render::show))
        .route("/renders/{id}/events", get(events::of_render))
        .route("/renders/{id}/files/{asset}", get(render::file))
        .route("/renders/{id}/cancel", post(render::cancel))
        .route("/renders/{id}/delete", get(render_delete::ask))
        .route("/renders/{id}/links", post(links::create))
        .route("/renders/{id}/bundle", get(media::bundle))
        .route("/renders/{id}/hls/{*name}", get(media::hls))
        .route("/renders/{id}/dataset/{*name}", get(media::dataset_file))
}

fn of_looks() -> Router<Studio> {
    Router::new()
        .route("/looks", get(looks::list))
        .route("/looks/start", post(looks::choose_start))
        .route("/looks/order", post(look_order::submit))
        .route("/looks/{id}/rename", post(looks::rename))
        .route("/looks/{id}/delete", get(looks::ask_to_delete).post(looks::delete))
}

fn of_environments() -> Router<Studio> {
    Router::new()
        // The limit is disabled, because each file of an upload has its own size limit.
        .route("/environments", get(environments::list).post(environments::upload).layer(DefaultBodyLimit::disable()))
        .route("/environments/{id}/picture", get(environments::picture))
        .route("/environments/{id}/delete", get(environments::ask_to_delete).post(environments::delete))
}

fn of_images() -> Router<Studio> {
    Router::new()
        // The limit is disabled, because each file of an upload has its own size limit.
        .route("/images", get(images::list).post(images::upload).layer(DefaultBodyLimit::disable()))
        .route("/images/overlays/{id}/picture", get(images::overlay_picture))
        .route("/images/overlays/{id}/delete", get(images::ask_to_delete_overlay).post(images::delete_overlay))
        .route("/images/textures/{id}/picture", get(images::texture_picture))
        .route("/images/textures/{id}/delete", get(images::ask_to_delete_texture).post(images::delete_texture))
}

/// The pages for administrators. Everybody else gets the status 404 for these paths, whatever the method.
fn of_admin() -> Router<Studio> {
    use admin::{account, account_actions as actions, accounts, assets, log, overview};
    Router::new()
        .route("/admin", get(overview::show))
        .route("/admin/accounts", get(accounts::list))
        .route("/admin/accounts/{account}", get(account::show))
        .route("/admin/accounts/{account}/grant", post(actions::grant))
        .route("/admin/accounts/{account}/suspend", post(actions::suspend))
        .route("/admin/accounts/{account}/reactivate", post(actions::reactivate))
        .route("/admin/accounts/{account}/make-admin", post(actions::make_admin))
        .route("/admin/accounts/{account}/remove-admin", post(actions::remove_admin))
        .route("/admin/assets", get(assets::list))
        .route("/admin/assets/publish", post(assets::publish))
        .route("/admin/assets/withdraw", get(assets::ask_to_withdraw).post(assets::withdraw))
        .route("/admin/log", get(log::show))
        // Added before the layer, so that the layer also applies to wrong methods, which would otherwise reveal that
        // the paths exist.
        .method_not_allowed_fallback(async || PageError::wrong_method())
        .layer(middleware::from_fn(admin::only_for_admins))
}

fn of_teams() -> Router<Studio> {
    Router::new()
        .route("/teams", get(teams::list).post(teams::create))
        .route("/teams/{id}", get(teams::show).post(teams::rename))
        .route("/teams/{id}/invite", post(teams::invite))
        .route("/teams/{id}/invitations/{invitation}/revoke", post(teams::revoke_invitation))
        .route("/teams/{id}/members/{member}/role", post(teams::set_role))
        .route("/teams/{id}/members/{member}/remove", post(teams::remove))
        .route("/teams/{id}/leave", get(teams::ask_to_leave).post(teams::leave))
        .route("/teams/{id}/hand-over", post(teams::hand_over))
        .route("/teams/{id}/delete", get(teams::ask_to_delete).post(teams::delete))
        .route("/join/{link}", get(join::show).post(join::accept))
        .route("/join/{link}/sign-in", post(join::sign_in))
        .route("/join/{link}/sign-up", post(join::sign_up))
}

/// Builds the router of all pages, with a 404 page as fallback.
pub fn router(studio: &Studio) -> Router {
    Router::new()
        .route("/", get(library::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::by_password))
        .route("/sign-in/{link}", get(sign_in::ask).post(sign_in::by_link))
        .route("/sign-out", post(session::sign_out))
        .route("/sign-out-everywhere", post(session::sign_out_everywhere))
        .route("/password/forgot", get(recovery::ask).post(recovery::send))
        .route("/password/new/{link}", get(recovery::choose).post(recovery::set))
        .route("/account", get(account::show))
        .route("/account/password", post(account::change_password))
        .route("/account/sessions/{id}/end", post(account::end_session))
        .route("/workspace", post(session::choose_workspace))
        .route("/credits", get(credits::show).post(credits::buy))
        .route("/credits/statement.csv", get(credits::statement))
        .route("/keys", get(keys::list).post(keys::create))
        .route("/keys/{id}/revoke", get(keys::ask_to_revoke).post(keys::revoke))
        // The limit is disabled, because each file of an upload has its own size limit.
        .route("/models", get(library::home).post(upload::upload).layer(DefaultBodyLimit::disable()))
        .route("/models/bulk", post(bulk::change).layer(DefaultBodyLimit::max(limits::MODEL_FORM_BYTES)))
        .route("/models/check-hash", post(upload::check_hash))
        .route(
            "/models/{id}",
            get(model::show).post(model::edit).layer(DefaultBodyLimit::max(limits::MODEL_FORM_BYTES)),
        )
        .route("/models/{id}/archive", post(model::archive))
        .route("/models/{id}/unarchive", post(model::unarchive))
        .route("/models/{id}/delete", get(model::ask_to_delete).post(model::delete))
        .route("/models/{id}/file", get(model::file))
        .route("/models/{id}/compose", settings(get(composer::show).post(composer::submit)))
        .route("/models/{id}/preview", settings(post(preview::draw)))
        .route("/models/{id}/preview/surfaces", settings(post(preview::surfaces)))
        .route("/models/{id}/preview/cameras", settings(post(preview::cameras)))
        .merge(of_teams())
        .merge(of_renders())
        .merge(of_looks())
        .merge(of_environments())
        .merge(of_images())
        .merge(of_admin())
        .fallback(async || PageError::not_found())
        .method_not_allowed_fallback(async || PageError::wrong_method())
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(middleware::from_fn_with_state(studio.clone(), load_session))
        .layer(middleware::from_fn_with_state(studio.clone(), same_site))
        // Stripe sends no session cookie. Its signature is checked instead of a CSRF token, so this route comes after
        // the middleware.
        .route("/stripe/events", post(credits::event).layer(DefaultBodyLimit::max(limits::PAYMENT_EVENT_BYTES)))
        .route("/assets/{version}/{name}", get(assets::file))
        .route(assets::ICON, get(assets::icon))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(studio.clone(), finish_response))
        .with_state(studio.clone())
}
