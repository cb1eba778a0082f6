//! What a visitor does with their session.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::sign_in::go_home;
use crate::cookie;
use crate::refusal::Result;
use crate::sent::{Nothing, Sent};
use crate::studio::Studio;

/// Which workspace.
#[derive(Deserialize)]
pub(crate) struct Choice {
    workspace: String,
}

pub(crate) async fn sign_out(State(studio): State<Studio>, sent: Sent<Nothing>) -> Result<Response> {
    studio.service.sign_out(&sent.visitor.secret).await?;
    Ok(goodbye(&studio))
}

pub(crate) async fn sign_out_everywhere(State(studio): State<Studio>, sent: Sent<Nothing>) -> Result<Response> {
    studio.service.sign_out_everywhere(sent.visitor.caller()).await?;
    Ok(goodbye(&studio))
}

pub(crate) async fn choose_workspace(State(studio): State<Studio>, sent: Sent<Choice>) -> Result<Redirect> {
    let Sent { visitor, form } = sent;
    studio.service.choose_workspace(&visitor.secret, &visitor.signed_in, &form.workspace).await?;
    Ok(go_home(&studio))
}

fn goodbye(studio: &Studio) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::clear(&studio.site));
    (headers, go_home(studio)).into_response()
}
