//! Who asks, by the session's cookie.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use plinth_service::Meter;
use plinth_service::access::{Caller, SignedIn};

use crate::cookie;
use crate::refusal::{Refusal, Result};
use crate::studio::Studio;

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) signed_in: SignedIn,
    /// The session's secret.
    pub(crate) secret: String,
}

impl Visitor {
    pub(crate) const fn caller(&self) -> &Caller {
        &self.signed_in.caller
    }
}

/// Finds out who asks, and counts the request as the interface counts those of a key.
pub(crate) async fn recognise(State(studio): State<Studio>, mut request: Request, next: Next) -> Response {
    let visitor = match find(&studio, request.headers()).await {
        Ok(Some(visitor)) => visitor,
        Ok(None) => return next.run(request).await,
        Err(refusal) => return refusal.into_response(),
    };
    let caller = visitor.caller().clone();
    request.extensions_mut().insert(visitor);
    let mut response = next.run(request).await;
    // For the log.
    response.extensions_mut().insert(caller);
    response
}

async fn find(studio: &Studio, headers: &HeaderMap) -> Result<Option<Visitor>> {
    let Some(secret) = cookie::read(&studio.site, headers) else { return Ok(None) };
    let Some(signed_in) = studio.service.session(&secret).await? else { return Ok(None) };
    studio.service.count_request(&signed_in.caller, Meter::Requests).await?.check()?;
    Ok(Some(Visitor { signed_in, secret }))
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or(Refusal::SignedOut)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> std::result::Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
