//! The sign-in page and sign-in links.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use plinth_service::ServiceError;
use plinth_service::access::ClientAddress;
use serde::Deserialize;

use crate::cookie;
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
pub(crate) struct Password {
    email: String,
    password: String,
}

/// Renders the sign-in page.
pub(crate) fn signed_out_page(studio: &Studio) -> Response {
    page(&SignInPage { frame: Frame::new(studio, "Sign in", None), email: String::new(), problem: None })
}

pub(crate) async fn home(State(studio): State<Studio>) -> Redirect {
    go_home(&studio)
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
    let Password { email, password } = form(request, &studio).await?;
    match studio.service.sign_in_with_password(client, &email, password, &browser).await {
        Ok(secret) => welcome(&studio, secret, earlier).await,
        Err(error) if error.status < 500 => Ok(again(&studio, email, &error)),
        Err(error) => Err(error.into()),
    }
}

/// Returns the header `User-Agent` of a browser.
pub(super) fn browser(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Renders the sign-in form with an error message.
fn again(studio: &Studio, email: String, error: &ServiceError) -> Response {
    let problem = Some(sentence(&error.message));
    let mut response = page(&SignInPage { frame: Frame::new(studio, "Sign in", None), email, problem });
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::FORBIDDEN);
    if let Some(secs) = error.retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, secs.into());
    }
    response
}

/// Ends the earlier session if there is one, and sets the cookie of the new session.
pub(super) async fn welcome(studio: &Studio, secret: String, earlier: Option<CurrentUser>) -> Result<Response> {
    if let Some(user) = earlier {
        studio.service.sign_out(user.caller(), &user.secret).await?;
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::set(&studio.site, secret));
    Ok((headers, go_home(studio)).into_response())
}

/// Redirects to the overview page.
pub(super) fn go_home(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/", studio.site.path))
}
