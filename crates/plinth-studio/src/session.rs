//! Identifies the signed-in user by the session cookie.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use plinth_service::access::{Caller, SignedIn};
use plinth_service::{DrainLimit, Meter};
use plinth_spec::wire::Scope;

use crate::cookie;
use crate::error::{PageError, Result};
use crate::pages::{media, preview};
use crate::studio::Studio;

/// The signed-in user of a request.
#[derive(Clone, Debug)]
pub(crate) struct CurrentUser {
    pub(crate) signed_in: SignedIn,
    /// Secret of the session, as stored in the cookie.
    pub(crate) secret: String,
}

impl CurrentUser {
    pub(crate) const fn caller(&self) -> &Caller {
        &self.signed_in.caller
    }

    /// Returns the caller, who may change the workspace.
    /// Errors: the user is a viewer of the workspace.
    pub(crate) fn editor(&self) -> Result<&Caller> {
        self.caller().require(Scope::Render)?;
        Ok(self.caller())
    }
}

/// Middleware that loads the session of a request, and counts the request toward the rate limit of the account's
/// sessions. Does not count previews, because an account can have only one at a time, nor the many parts
/// of a stream or a dataset.
pub(crate) async fn load_session(State(studio): State<Studio>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_counted = !preview::is_preview(path) && !media::is_media(path);
    let user = match find(&studio, request.headers(), is_counted).await {
        Ok(Some(user)) => user,
        Ok(None) => return next.run(request).await,
        Err(error) => return error.into_response(),
    };
    if let Some(drain_limit) = request.extensions().get::<DrainLimit>() {
        drain_limit.extend();
    }
    let caller = user.caller().clone();
    request.extensions_mut().insert(user);
    let mut response = next.run(request).await;
    // The tracing middleware reads the caller from the response, to log it.
    response.extensions_mut().insert(caller);
    response
}

async fn find(studio: &Studio, headers: &HeaderMap, is_counted: bool) -> Result<Option<CurrentUser>> {
    let Some(secret) = cookie::read(&studio.site, headers) else { return Ok(None) };
    let Some(signed_in) = studio.service.session(&secret).await? else { return Ok(None) };
    if is_counted {
        studio.service.count_request(&signed_in.caller, Meter::Requests).await?.check()?;
    }
    Ok(Some(CurrentUser { signed_in, secret }))
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
