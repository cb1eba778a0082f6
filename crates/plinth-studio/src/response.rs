//! Middleware around all pages, which renders errors as pages, or as JSON for scripts, and sets the security headers.

use askama::Template;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::destination::Destination;
use crate::error::{OtherWorkspace, PageError};
use crate::format::sentence;
use crate::frame::{Frame, page};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// The content security policy. It allows style sheets, scripts, images and forms of the same origin. It forbids inline
/// code, code from strings, and framing. Uploaded files cannot run as scripts, because [`HEADERS`] contains `nosniff`,
/// so that browsers do not guess their type.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";
/// Headers of every response. The referrer policy is not `no-referrer`, because browsers would then send forms with
/// `Origin: null`.
static HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Returns the content security policy of a page that embeds images and videos from the origin `origin`.
pub(crate) fn policy_with_files(origin: &str) -> String {
    POLICY.replace("img-src 'self'", &format!("img-src 'self' {origin}; media-src 'self' {origin}"))
}

/// Returns the policy of a page that also plays HLS streams. The script of the player passes them to the browser as
/// `blob:` URLs.
pub(crate) fn policy_with_streams(origin: &str) -> String {
    policy_with_files(origin).replace("media-src 'self'", "media-src 'self' blob:")
}

/// Returns the policy of a page that also shows previews, which its script has received and shows as `blob:` URLs.
pub(crate) fn policy_with_previews(origin: &str) -> String {
    policy_with_files(origin).replace("img-src 'self'", "img-src 'self' blob:")
}

/// Sets the content security policy of a response.
pub(crate) fn set_policy(response: &mut Response, policy: &str) {
    if let Ok(policy) = HeaderValue::from_str(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    message: String,
    /// The page with the form that was rejected; `None` if no form was sent, or if its page is the library.
    form: Option<Destination>,
}

/// The page that a request has asked for, or the page with the form that it has sent.
struct Asked {
    page: Destination,
    is_form: bool,
}

#[derive(Template)]
#[template(path = "other_workspace.html")]
struct OtherWorkspacePage {
    frame: Frame,
    message: String,
    workspaces: OtherWorkspace,
}

/// Middleware that renders a [`PageError`] as an error page, or as JSON for a script, and sets the security headers.
pub(crate) async fn finish_response(State(studio): State<Studio>, request: Request, next: Next) -> Response {
    let is_script = wants_json(request.headers());
    let is_form = !request.method().is_safe();
    // After a sign-in, the browser cannot submit a form again, so it gets the page of the form.
    let page = if is_form { Destination::of_form(&studio, request.headers()) } else { Destination::of(request.uri()) };
    let asked = Asked { page, is_form };
    let mut response = next.run(request).await;
    let error = response.extensions_mut().remove::<PageError>();
    let user = response.extensions_mut().remove::<CurrentUser>();
    let mut response = match error {
        Some(error) if is_script => json_of(error),
        Some(error) => page_of(&studio, error, user.as_ref(), asked),
        None => response,
    };
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns whether a script sent the request. Scripts get JSON where forms get a page.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).is_some_and(|accepted| accepted == "application/json")
}

fn json_of(error: PageError) -> Response {
    let (status, message, retry_after_secs) = match error {
        PageError::SignedOut => {
            let message = "you are no longer signed in; sign in again in another tab, then try again here";
            (StatusCode::UNAUTHORIZED, message.to_owned(), None)
        }
        PageError::OtherWorkspace(workspaces) => {
            let message = format!("{}; change to “{}” again to go on", workspaces.message(), workspaces.shown);
            (StatusCode::CONFLICT, message, None)
        }
        PageError::Message { status, message, retry_after_secs } => (status, message, retry_after_secs),
    };
    let body = Json(json!({"error": {"message": sentence(&message)}}));
    with_retry((status, body).into_response(), retry_after_secs)
}

fn page_of(studio: &Studio, error: PageError, user: Option<&CurrentUser>, asked: Asked) -> Response {
    let (status, message, retry_after_secs) = match error {
        PageError::SignedOut => return asked.page.redirect_to_sign_in(studio).into_response(),
        PageError::OtherWorkspace(workspaces) => {
            let frame = Frame::new(studio, "This page shows another workspace", None);
            let message = sentence(&workspaces.message());
            return with_status(
                page(&OtherWorkspacePage { frame, message, workspaces: *workspaces }),
                StatusCode::CONFLICT,
            );
        }
        PageError::Message { status, message, retry_after_secs } => (status, message, retry_after_secs),
    };
    let title = if status == StatusCode::NOT_FOUND { "Not found" } else { "That did not work" };
    let form = Some(asked.page).filter(|page| asked.is_form && *page != Destination::home());
    let response = page(&ErrorPage { frame: Frame::new(studio, title, user), message: sentence(&message), form });
    with_retry(with_status(response, status), retry_after_secs)
}

fn with_status(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    response
}

/// Adds the header `Retry-After`, if a time is given.
pub(crate) fn with_retry(mut response: Response, retry_after_secs: Option<u64>) -> Response {
    if let Some(secs) = retry_after_secs {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(secs));
    }
    response
}
