//! Sends a browser's request to the web UI of a service. The input is the request's text, as for `http_request`. The browser is signed in as
//! an administrator, unless the request has a header `cookie`, and `{form_token}` is the token of its forms.
#![no_main]

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use libfuzzer_sys::fuzz_target;
use plinth_fuzz::{Installation, MARKUP, with_installation};

/// Parts of paths to which no requests are sent: the service would wait for workers, or for changes of renders, or it would hash a password,
/// which takes long on purpose.
const OMITTED: [&str; 6] = ["/v1/", "/preview", "/events", "/sign-in", "/sign-up", "/password"];

fuzz_target!(|data: &[u8]| {
    with_installation(|runtime, installation| {
        runtime.block_on(installation.sign_in_again());
        let Some(request) = request(data, installation) else { return };
        let (response, body) = runtime.block_on(installation.send(request));
        let text = String::from_utf8_lossy(&body);
        assert!(response.status() != StatusCode::INTERNAL_SERVER_ERROR, "{text}");
        if is_page(response.headers()) {
            assert!(response.headers().contains_key(header::CONTENT_SECURITY_POLICY));
            assert!(!text.contains(MARKUP), "a page contains the markup of a user: {text}");
        }
    });
});

fn is_page(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

/// Parses an input. Returns `None` if it is no HTTP request.
fn request(data: &[u8], installation: &Installation) -> Option<Request<Body>> {
    let mut request = plinth_fuzz::request(&installation.replaced(data))?;
    if OMITTED.iter().any(|part| request.uri().path().contains(part)) {
        return None;
    }
    let cookie = installation.cookie().parse().ok()?;
    let headers = request.headers_mut();
    headers.entry(header::COOKIE).or_insert(cookie);
    headers.entry("sec-fetch-site").or_insert(HeaderValue::from_static("same-origin"));
    Some(request)
}
