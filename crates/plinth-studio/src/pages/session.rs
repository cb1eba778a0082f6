//! Sign-out and the choice of the current workspace.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::sign_in::go_home;
use crate::cookie;
use crate::error::Result;
use crate::form::{EmptyForm, SessionForm};
use crate::studio::Studio;

/// Form fields of the workspace selector.
#[derive(Deserialize)]
pub(crate) struct Choice {
    workspace: String,
}

pub(crate) async fn sign_out(State(studio): State<Studio>, sent: SessionForm<EmptyForm>) -> Result<Response> {
    studio.service.sign_out(sent.user.caller(), &sent.user.secret).await?;
    Ok(goodbye(&studio))
}

pub(crate) async fn sign_out_everywhere(
    State(studio): State<Studio>,
    sent: SessionForm<EmptyForm>,
) -> Result<Response> {
    studio.service.sign_out_everywhere(sent.user.caller()).await?;
    Ok(goodbye(&studio))
}

pub(crate) async fn choose_workspace(State(studio): State<Studio>, sent: SessionForm<Choice>) -> Result<Redirect> {
    let SessionForm { user, form } = sent;
    studio.service.choose_workspace(&user.secret, &user.signed_in, &form.workspace).await?;
    Ok(go_home(&studio))
}

fn goodbye(studio: &Studio) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::clear(&studio.site));
    (headers, go_home(studio)).into_response()
}
