//! Around all pages: refusals become pages, and headers keep a page to itself.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::frame::{Frame, page};
use crate::refusal::Refusal;
use crate::studio::Studio;
use crate::words::sentence;

/// Nothing but the style sheet, the icon and forms to the same address; no script, no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// What every answer carries. `Referrer-Policy` is not `no-referrer`: then forms would name no origin.
static HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The policy of a page that shows files, which may come from another address.
pub(crate) fn policy_with_files(origin: &str) -> String {
    POLICY.replace("img-src 'self'", &format!("img-src 'self' {origin}; media-src 'self' {origin}"))
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage {
    frame: Frame,
    words: String,
}

/// Makes pages of refusals and sets headers.
pub(crate) async fn answer(State(studio): State<Studio>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let refusal = response.extensions_mut().remove::<Refusal>();
    let mut response = refusal.map_or(response, |refusal| page_of(&studio, refusal));
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn page_of(studio: &Studio, refusal: Refusal) -> Response {
    let (status, words, retry_after_secs) = match refusal {
        Refusal::SignedOut => return Redirect::to(&format!("{}/", studio.site.path)).into_response(),
        Refusal::Words { status, words, retry_after_secs } => (status, words, retry_after_secs),
    };
    let title = if status == StatusCode::NOT_FOUND { "Not found" } else { "That did not work" };
    let mut response = page(&RefusalPage { frame: Frame::new(studio, title, None), words: sentence(&words) });
    *response.status_mut() = status;
    if let Some(secs) = retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(secs));
    }
    response
}
