//! The pages with which a user who forgot the password requests a link by mail, and chooses a new password with it.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use plinth_service::access::ClientAddress;
use serde::Deserialize;

use super::account::CHANGED;
use super::sign_in::{browser, welcome_to};
use crate::destination::Destination;
use crate::error::Result;
use crate::form::form;
use crate::format::sentence;
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "password_forgot.html")]
struct ForgotPage {
    frame: Frame,
    /// Whether the form was submitted.
    is_sent: bool,
}

#[derive(Template)]
#[template(path = "password_new.html")]
struct NewPasswordPage {
    frame: Frame,
    link: String,
    problem: Option<String>,
}

/// Form fields for requesting a link.
#[derive(Deserialize)]
pub(crate) struct ForgotForm {
    email: String,
}

/// Form fields for choosing a new password.
#[derive(Deserialize)]
pub(crate) struct NewPasswordForm {
    password: String,
}

pub(crate) async fn ask(State(studio): State<Studio>) -> Response {
    page(&ForgotPage { frame: Frame::new(&studio, "Forgotten password", None), is_sent: false })
}

/// Mails a link. The response does not reveal whether an account with this address exists.
pub(crate) async fn send(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    request: Request,
) -> Result<Response> {
    let ForgotForm { email } = form(request, &studio).await?;
    let base = format!("{}/password/new/", studio.site.url);
    studio.service.recover_password(&client, &email, base).await?;
    Ok(page(&ForgotPage { frame: Frame::new(&studio, "Forgotten password", None), is_sent: true }))
}

/// Shows the form for a new password. The GET request does not use up the link.
pub(crate) async fn choose(State(studio): State<Studio>, Path(link): Path<String>) -> Result<Response> {
    studio.service.check_password_link(&link).await?;
    Ok(page(&NewPasswordPage { frame: Frame::new(&studio, "New password", None), link, problem: None }))
}

pub(crate) async fn set(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    Path(link): Path<String>,
    earlier: Option<CurrentUser>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    let NewPasswordForm { password } = form(request, &studio).await?;
    match studio.service.set_password_by_link(&client, &link, password, browser(&headers)).await {
        Ok(secret) => welcome_to(&studio, secret, earlier, &Destination::parse(CHANGED)).await,
        Err(error) if error.status == 400 => {
            let frame = Frame::new(&studio, "New password", None);
            let mut response = page(&NewPasswordPage { frame, link, problem: Some(sentence(&error.message)) });
            *response.status_mut() = StatusCode::BAD_REQUEST;
            Ok(response)
        }
        Err(error) => Err(error.into()),
    }
}
