//! Request tracing. Each request gets an identifier. When the request ends, it is logged, measured, and recorded as a
//! span of the client's trace.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use plinth_service::access::Caller;
use plinth_spec::id::TokenId;
use tracing::{Instrument as _, Span, field};

/// Header with the W3C trace context of the client.
const TRACE_PARENT: &str = "traceparent";
/// Header with the identifier of the request.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Status that is logged for a request whose client disconnected before the response (nginx uses the same code).
const CLIENT_GONE: u16 = 499;
/// Route label for requests that match no route.
const NO_ROUTE: &str = "none";

/// Middleware that assigns an identifier to a request, and logs and measures the request when it ends. It reads the
/// caller from the extensions of the response, to which the authentication middleware adds it.
pub(crate) async fn traced(request: Request, next: Next) -> Response {
    let id = nanoid::nanoid!(16, &nanoid::alphabet::SAFE[2..]);
    let method = method(request.method());
    // The route template is logged instead of the path, because the path of a signed link is secret.
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or_else(|| NO_ROUTE.to_owned(), |path| path.as_str().to_owned());
    let span = tracing::info_span!("request", request.id = id);
    // This span is created inside the log span, so that tasks that continue the current span also continue the trace.
    let traced = span.in_scope(|| {
        tracing::info_span!(
            target: plinth_trace::TARGET,
            "request",
            otel.name = format_args!("{method} {route}"),
            otel.kind = "server",
            otel.status_code = field::Empty,
            request.id = id,
            http.request.method = method,
            http.route = route,
            http.response.status_code = field::Empty,
            account.id = field::Empty,
        )
    });
    plinth_trace::continue_trace(&traced, request.headers().get(TRACE_PARENT).and_then(|value| value.to_str().ok()));
    let mut line = Line {
        span: span.clone(),
        traced: traced.clone(),
        method,
        route,
        begun: Instant::now(),
        status: CLIENT_GONE,
        caller: None,
    };
    let mut response = next.run(request).instrument(traced).instrument(span).await;
    line.status = response.status().as_u16();
    line.caller = response.extensions_mut().remove();
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(&REQUEST_ID, value);
    }
    response
}

/// The log line and the metrics of one request. They are emitted when this value is dropped.
struct Line {
    span: Span,
    traced: Span,
    method: &'static str,
    route: String,
    begun: Instant,
    status: u16,
    caller: Option<Caller>,
}

impl Drop for Line {
    fn drop(&mut self) {
        let taken = self.begun.elapsed();
        self.traced.record("http.response.status_code", self.status);
        if self.status >= 500 {
            self.traced.record("otel.status_code", "ERROR");
        }
        if let Some(caller) = &self.caller {
            self.traced.record("account.id", caller.account_id.as_str());
        }
        tracing::info!(
            parent: &self.span,
            http.method = self.method,
            http.route = self.route,
            http.status = self.status,
            duration_ms = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX),
            account.id = self.caller.as_ref().map(|caller| caller.account_id.as_str()),
            token.id = self.caller.as_ref().and_then(|caller| caller.token_id.as_ref()).map(TokenId::as_str),
            "answered"
        );
        let (method, route) = (self.method, self.route.clone());
        metrics::histogram!("plinth_http_request_seconds", "method" => method, "route" => route.clone()).record(taken);
        let status = self.status.to_string();
        metrics::counter!("plinth_http_requests_total", "method" => method, "route" => route, "status" => status)
            .increment(1);
    }
}

/// Returns the name of a method, or `other` for a non-standard method. Otherwise clients could create any number of
/// metric labels.
fn method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
