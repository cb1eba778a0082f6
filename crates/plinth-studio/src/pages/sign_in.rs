//! Signing in.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use plinth_service::ServiceError;
use serde::Deserialize;

use crate::cookie;
use crate::frame::{Frame, page};
use crate::refusal::Result;
use crate::sent::form;
use crate::studio::Studio;
use crate::visitor::Visitor;
use crate::words::sentence;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    email: String,
    /// Why the last attempt failed.
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct LinkPage {
    frame: Frame,
    link: String,
}

/// Address and password.
#[derive(Deserialize)]
pub(crate) struct Password {
    email: String,
    password: String,
}

/// The page for whoever is not signed in.
pub(crate) fn page_for_strangers(studio: &Studio) -> Response {
    page(&SignInPage { frame: Frame::new(studio, "Sign in", None), email: String::new(), problem: None })
}

pub(crate) async fn home(State(studio): State<Studio>) -> Redirect {
    go_home(&studio)
}

/// The page of a sign-in link. Looking at it uses nothing up: programs that preview links look, too.
pub(crate) async fn ask(State(studio): State<Studio>, Path(link): Path<String>) -> Response {
    page(&LinkPage { frame: Frame::new(&studio, "Sign in", None), link })
}

pub(crate) async fn by_link(
    State(studio): State<Studio>,
    Path(link): Path<String>,
    earlier: Option<Visitor>,
) -> Result<Response> {
    let secret = studio.service.sign_in(&link).await?;
    welcome(&studio, secret, earlier).await
}

pub(crate) async fn by_password(
    State(studio): State<Studio>,
    earlier: Option<Visitor>,
    request: Request,
) -> Result<Response> {
    let Password { email, password } = form(request, &studio).await?;
    match studio.service.sign_in_with_password(&email, password).await {
        Ok(secret) => welcome(&studio, secret, earlier).await,
        Err(error) if error.status < 500 => Ok(again(&studio, email, &error)),
        Err(error) => Err(error.into()),
    }
}

/// The form once more, with what was wrong.
fn again(studio: &Studio, email: String, error: &ServiceError) -> Response {
    let problem = Some(sentence(&error.message));
    let mut response = page(&SignInPage { frame: Frame::new(studio, "Sign in", None), email, problem });
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::FORBIDDEN);
    if let Some(secs) = error.retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, secs.into());
    }
    response
}

/// Gives the browser its session, a new one each time.
async fn welcome(studio: &Studio, secret: String, earlier: Option<Visitor>) -> Result<Response> {
    if let Some(visitor) = earlier {
        studio.service.sign_out(&visitor.secret).await?;
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::set(&studio.site, secret));
    Ok((headers, go_home(studio)).into_response())
}

/// To the first page.
pub(super) fn go_home(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/", studio.site.path))
}
