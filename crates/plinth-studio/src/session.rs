//! Identifies the signed-in user by the session cookie.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use plinth_service::access::{Caller, SignedIn};
use plinth_service::{DrainLimit, Meter};
use plinth_spec::wire::Scope;

use crate::cookie;
use crate::error::{OtherWorkspace, PageError, Result};
use crate::form::form_token;
use crate::pages::{media, preview};
use crate::studio::Studio;

/// The signed-in user of a request.
#[derive(Clone, Debug)]
pub(crate) struct CurrentUser {
    pub(crate) signed_in: SignedIn,
    /// Secret of the session, as stored in the cookie.
    pub(crate) secret: String,
    /// Identifier of the workspace that the page of the submitted form shows; `None` if the request has no form.
    pub(crate) page_workspace: Option<String>,
}

impl CurrentUser {
    pub(crate) const fn caller(&self) -> &Caller {
        &self.signed_in.caller
    }

    /// Returns the caller, in the workspace that the page of the submitted form shows.
    /// Errors: the user has chosen another workspace since, for example in another tab.
    pub(crate) fn in_page_workspace(&self) -> Result<&Caller> {
        self.check_workspace(self.page_workspace.as_deref())?;
        Ok(self.caller())
    }

    /// Returns the caller if the user may make changes in the workspace that the page of the submitted form shows.
    /// Errors: the user is only a viewer in the workspace, or has chosen another workspace since.
    pub(crate) fn editor(&self) -> Result<&Caller> {
        let caller = self.in_page_workspace()?;
        caller.require(Scope::Render)?;
        Ok(caller)
    }

    /// Checks that `shown`, the workspace that a page shows, is the current workspace of the session.
    pub(crate) fn check_workspace(&self, shown: Option<&str>) -> Result<()> {
        let Some(shown) = shown.filter(|shown| *shown != self.caller().workspace_id.as_str()) else { return Ok(()) };
        let named = |id: &str| self.signed_in.workspaces.iter().map(|m| &m.workspace).find(|one| one.id.as_str() == id);
        let Some(shown) = named(shown) else {
            let message = "this page shows a workspace that you cannot use any more; nothing was changed";
            return Err(PageError::new(StatusCode::CONFLICT, message));
        };
        Err(PageError::OtherWorkspace(Box::new(OtherWorkspace {
            shown_id: shown.id.to_string(),
            shown: shown.name.clone(),
            current: named(self.caller().workspace_id.as_str()).map(|one| one.name.clone()).unwrap_or_default(),
            form_token: form_token(&self.signed_in),
        })))
    }
}

/// Middleware that loads the session of a request, and counts the request toward the rate limit of the account's
/// sessions. Does not count previews, because an account can have only one preview at a time, nor the many parts of an
/// HLS stream or a dataset.
pub(crate) async fn load_session(State(studio): State<Studio>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_counted = !preview::is_preview(path) && !media::is_media(path);
    let user = match find(&studio, request.headers(), is_counted).await {
        Ok(Some(user)) => user,
        Ok(None) => return next.run(request).await,
        Err(error) => return error.into_response(),
    };
    let open = match studio.service.open_request(user.caller()) {
        Ok(open) => open,
        Err(error) => return PageError::from(error).into_response(),
    };
    if let Some(drain_limit) = request.extensions().get::<DrainLimit>() {
        drain_limit.extend();
    }
    let caller = user.caller().clone();
    request.extensions_mut().insert(user.clone());
    let mut response = next.run(request).await;
    // The page of an error has the user's menu.
    if response.extensions().get::<PageError>().is_some() {
        response.extensions_mut().insert(user);
    }
    // The tracing middleware reads the caller from the response, to log it.
    response.extensions_mut().insert(caller);
    response.extensions_mut().insert(open);
    response
}

async fn find(studio: &Studio, headers: &HeaderMap, is_counted: bool) -> Result<Option<CurrentUser>> {
    let Some(secret) = cookie::read(&studio.site, headers) else { return Ok(None) };
    let Some(signed_in) = studio.service.session(&secret).await? else { return Ok(None) };
    if is_counted {
        studio.service.count_request(&signed_in.caller, Meter::Requests).await?.check()?;
    }
    Ok(Some(CurrentUser { signed_in, secret, page_workspace: None }))
}

impl<S: Sync> FromRequestParts<S> for CurrentUser {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or(PageError::SignedOut)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for CurrentUser {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> std::result::Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
