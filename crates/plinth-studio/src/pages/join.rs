//! The page of an invitation to a team, for people with and without an account.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Redirect, Response};
use plinth_service::ServiceError;
use plinth_service::access::{ClientAddress, InvitationView};
use plinth_spec::role::Role;
use serde::Deserialize;

use super::sign_in::{browser, go_home, welcome};
use super::teams::enter;
use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm, form};
use crate::format::{role_article, sentence};
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage {
    frame: Frame,
    link: String,
    invitation: InvitationView,
    role: &'static str,
    /// Whether the invitation is an offer to become the owner of the team.
    is_offer: bool,
    /// Address in the forms: the entered one, or the one for which the invitation is meant.
    email: String,
    problem: Option<String>,
}

/// Form fields of somebody who signs in or signs up.
#[derive(Deserialize)]
pub(crate) struct Credentials {
    email: String,
    password: String,
}

/// Shows an invitation. The GET request does not accept it.
pub(crate) async fn show(
    State(studio): State<Studio>,
    user: Option<CurrentUser>,
    Path(link): Path<String>,
) -> Result<Response> {
    join_page(&studio, user.as_ref(), link, None).await
}

/// Renders the page of an invitation. After a rejected sign-in, shows the entered address and the reason.
async fn join_page(
    studio: &Studio,
    user: Option<&CurrentUser>,
    link: String,
    rejected: Option<(String, String)>,
) -> Result<Response> {
    let invitation = studio.service.invitation(&link).await?;
    let (email, problem) = match rejected {
        Some((email, problem)) => (email, Some(problem)),
        None => (invitation.email.clone().unwrap_or_default(), None),
    };
    let role = role_article(invitation.role);
    let is_offer = invitation.role == Role::Owner;
    let frame = Frame::new(studio, "Invitation", user);
    Ok(page(&JoinPage { frame, link, invitation, role, is_offer, email, problem }))
}

/// Accepts an invitation for the signed-in user.
pub(crate) async fn accept(
    State(studio): State<Studio>,
    Path(link): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    let team = studio.service.accept_invitation(sent.user.caller(), &link).await?;
    enter(&studio, &sent.user.secret, team.as_str()).await?;
    Ok(go_home(&studio))
}

/// Signs in with a password and accepts an invitation.
pub(crate) async fn sign_in(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    Path(link): Path<String>,
    earlier: Option<CurrentUser>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    let Credentials { email, password } = form(request, &studio).await?;
    let service = &studio.service;
    let secret = match service.sign_in_with_password(client, &email, password, browser(&headers)).await {
        Ok(secret) => secret,
        Err(error) => return again(&studio, link, email, error).await,
    };
    let signed_in = service.session(&secret).await?;
    let caller = signed_in.ok_or_else(|| ServiceError::internal("a new session is missing"))?.caller;
    match service.accept_invitation(&caller, &link).await {
        Ok(team) => enter(&studio, &secret, team.as_str()).await?,
        Err(error) => {
            service.sign_out(&caller, &secret).await?;
            return again(&studio, link, email, error).await;
        }
    }
    welcome(&studio, secret, earlier).await
}

/// Creates an account and accepts an invitation.
pub(crate) async fn sign_up(
    State(studio): State<Studio>,
    Extension(client): Extension<ClientAddress>,
    Path(link): Path<String>,
    earlier: Option<CurrentUser>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    let Credentials { email, password } = form(request, &studio).await?;
    match studio.service.sign_up(&client, &link, &email, password, browser(&headers)).await {
        Ok((secret, team)) => {
            enter(&studio, &secret, team.as_str()).await?;
            welcome(&studio, secret, earlier).await
        }
        Err(error) => again(&studio, link, email, error).await,
    }
}

/// Shows the invitation again, with the entered address and the reason why it was not accepted. An invitation that has ended has no
/// page, so that an error page shows the reason.
async fn again(studio: &Studio, link: String, email: String, error: ServiceError) -> Result<Response> {
    if error.status >= 500 {
        return Err(error.into());
    }
    let mut response = match join_page(studio, None, link, Some((email, sentence(&error.message)))).await {
        Err(PageError::Message { status: StatusCode::NOT_FOUND, .. }) => return Err(error.into()),
        shown => shown?,
    };
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Ok(response)
}
