//! The sign-in page and sign-in links.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use plinth_service::ServiceError;
use plinth_service::access::ClientAddress;
use serde::Deserialize;

use crate::cookie;
use crate::destination::Destination;
use crate::error::Result;
use crate::form::form;
use crate::format::sentence;
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    email: String,
    /// The page that the browser gets after the sign-in.
    to: Destination,
    /// Error message of a failed sign-in; `None` if no sign-in was tried.
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct LinkPage {
    frame: Frame,
    link: String,
}

/// Form fields of a sign-in by password.
#[derive(Deserialize)]
pub(crate) struct PasswordSignIn {
    email: String,
    password: String,
    /// The page that the browser gets after the sign-in.
    #[serde(default)]
    to: String,
}

/// Query parameters of the sign-in page.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    /// The page that the browser gets after the sign-in.
    #[serde(default)]
    to: String,
}

/// Renders the sign-in page, which leads to the page `to`.
pub(crate) fn signed_out_page(studio: &Studio, to: Destination) -> Response {
    sign_in_page(studio, String::new(), to, None)
}

fn sign_in_page(studio: &Studio, email: String, to: Destination, problem: Option<String>) -> Response {
    let frame = Frame::new(studio, "Sign in", None).with_scripts(&["sign_in.js"]);
    page(&SignInPage { frame, email, to, problem })
}

/// Shows the sign-in page. Redirects a browser that is signed in already, for example in another tab.
pub(crate) async fn show(
    State(studio): State<Studio>,
    user: Option<CurrentUser>,
    Query(wanted): Query<Wanted>,
) -> Response {
    let to = Destination::parse(&wanted.to);
    if user.is_some() { to.redirect(&studio).into_response() } else { signed_out_page(&studio, to) }
}

/// Shows the page of a sign-in link. The GET request does not use up the link, because programs that show link previews
/// send GET requests, too.
pub(crate) async fn ask(State(studio): State<Studio>, Path(link): Path<String>) -> Response {
    page(&LinkPage { frame: Frame::new(&studio, "Sign in", None), link })
}

pub(crate) async fn by_link(
    State(studio): State<Studio>,
    Path(link): Path<String>,
    earlier: Option<CurrentUser>,
    headers: HeaderMap,
) -> Result<Response> {
    let secret = studio.service.sign_in(&link, browser(&headers)).await?;
    welcome(&studio, secret, earlier).await
}

pub(crate) async fn by_password(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    earlier: Option<CurrentUser>,
    request: Request,
) -> Result<Response> {
    let browser = browser(request.headers()).to_owned();
    let PasswordSignIn { email, password, to } = form(request, &studio).await?;
    let to = Destination::parse(&to);
    match studio.service.sign_in_with_password(client, &email, password, &browser).await {
        Ok(secret) => welcome_to(&studio, secret, earlier, &to).await,
        Err(error) if error.status < 500 => Ok(again(&studio, email, to, &error)),
        Err(error) => Err(error.into()),
    }
}

/// Returns the header `User-Agent` of a browser.
pub(super) fn browser(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Renders the sign-in form with an error message.
fn again(studio: &Studio, email: String, to: Destination, error: &ServiceError) -> Response {
    let mut response = sign_in_page(studio, email, to, Some(sentence(&error.message)));
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::FORBIDDEN);
    if let Some(secs) = error.retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, secs.into());
    }
    response
}

/// Ends the earlier session if there is one, sets the cookie of the new session, and redirects to the library.
pub(super) async fn welcome(studio: &Studio, secret: String, earlier: Option<CurrentUser>) -> Result<Response> {
    welcome_to(studio, secret, earlier, &Destination::home()).await
}

/// Ends the earlier session if there is one, sets the cookie of the new session, and redirects to the page `to`.
pub(super) async fn welcome_to(
    studio: &Studio,
    secret: String,
    earlier: Option<CurrentUser>,
    to: &Destination,
) -> Result<Response> {
    if let Some(user) = earlier {
        studio.service.sign_out(user.caller(), &user.secret).await?;
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::set(&studio.site, secret));
    Ok((headers, to.redirect(studio)).into_response())
}

/// Redirects to the overview page.
pub(super) fn go_home(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/", studio.site.path))
}
