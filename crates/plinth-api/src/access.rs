//! Authentication, rate limit and scopes of API requests.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use plinth_service::access::Caller;
use plinth_service::{Allowance, DrainLimit, Meter, ServiceError};
use plinth_spec::wire::Scope;

use crate::error::ApiError;
use crate::state::Api;

/// Header with the number of requests that the rate limit allows per minute.
pub(crate) static LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
/// Header with the number of requests that the rate limit still allows.
pub(crate) static REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Header with the number of seconds until the rate limit starts again.
pub(crate) static RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Middleware that authenticates the bearer token, counts the request toward the rate limit, and counts it as open
/// until its response is sent. The response headers report how many requests the rate limit still allows.
pub(crate) async fn let_in(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let caller = match api.service.authenticate(bearer(request.headers())).await {
        Ok(caller) => caller,
        Err(error) => return ApiError::from(error).into_response(),
    };
    let open = match api.service.open_request(&caller) {
        Ok(open) => open,
        Err(error) => return too_many_open(&api, error),
    };
    if let Some(drain_limit) = request.extensions().get::<DrainLimit>() {
        drain_limit.extend();
    }
    let allowance = match api.service.count_request(&caller, Meter::Requests).await {
        Ok(allowance) => allowance,
        Err(error) => return ApiError::from(error).into_response(),
    };
    let mut response = match allowance.check() {
        Ok(_left) => {
            request.extensions_mut().insert(caller.clone());
            next.run(request).await
        }
        Err(error) => ApiError::from(error).into_response(),
    };
    say(allowance, response.headers_mut());
    // The tracing middleware logs the caller, which it reads from the response.
    response.extensions_mut().insert(caller);
    response.extensions_mut().insert(open);
    response
}

/// Builds the response to a request of an account that has too many open requests. The request is not counted toward the rate limit, but
/// until the account may try again, no request is allowed.
fn too_many_open(api: &Api, error: ServiceError) -> Response {
    let limit = api.service.options().requests_per_minute;
    let reset_secs = error.retry_after_secs.unwrap_or_default();
    let mut response = ApiError::from(error).into_response();
    say(Allowance { limit, remaining: 0, reset_secs, is_exceeded: true }, response.headers_mut());
    response
}

/// Returns the bearer token. Returns `None` if the request has several `Authorization` headers, because a proxy in
/// front of the server may have checked another header than this function would use.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn say(allowance: Allowance, headers: &mut HeaderMap) {
    headers.insert(&LIMIT, HeaderValue::from(allowance.limit));
    headers.insert(&REMAINING, HeaderValue::from(allowance.remaining));
    headers.insert(&RESET, HeaderValue::from(allowance.reset_secs));
}

/// A caller whose key has the scope `read`.
#[derive(Debug)]
pub(crate) struct Reader(pub Caller);

/// A caller whose key has the scope `render`, which allows changes and renders.
#[derive(Debug)]
pub(crate) struct Editor(pub Caller);

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        with_scope(parts, Scope::Read).map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for Editor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        with_scope(parts, Scope::Render).map(Self)
    }
}

fn with_scope(parts: &Parts, scope: Scope) -> Result<Caller, ApiError> {
    let caller = parts.extensions.get::<Caller>();
    let caller = caller.ok_or_else(|| ServiceError::internal("the route lacks the authentication layer"))?;
    caller.require(scope)?;
    Ok(caller.clone())
}
