//! CSRF protection, which accepts forms only from pages of the same origin.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::PageError;
use crate::studio::Studio;

/// Middleware that rejects requests with an unsafe method if a page of another site sent them, or if their headers do
/// not contain their origin.
pub(crate) async fn same_site(State(studio): State<Studio>, request: Request, next: Next) -> Response {
    if request.method().is_safe() || is_own(request.headers(), &studio.site.origin) {
        return next.run(request).await;
    }
    let message = "this form was submitted from another site; open the page at its own address and submit it again";
    PageError::new(StatusCode::FORBIDDEN, message).into_response()
}

/// Returns whether the headers of the request say that it was sent by a page of this site, or by the user, for example with a
/// bookmark. Scripts of other sites cannot set these headers.
// Checks the Fetch Metadata header `Sec-Fetch-Site`. Browsers do not send this header over plain HTTP; in this case,
// the header `Origin` is checked.
fn is_own(headers: &HeaderMap, own_origin: &str) -> bool {
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    headers.get(header::ORIGIN).and_then(text).is_some_and(|origin| is_own_origin(&origin, headers, own_origin))
}

/// Returns whether `origin` is the origin of the public URL, or names the host to which the request was sent.
pub(crate) fn is_own_origin(origin: &str, headers: &HeaderMap, own_origin: &str) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    origin == own_origin || host.is_some_and(|host| origin.split_once("://").is_some_and(|(_, o)| o == host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_from_other_origins_are_rejected() {
        let own = "https://render.example.org";
        let cases: [(&[(&str, &str)], bool); 11] = [
            (&[], false),
            (&[("origin", own)], true),
            (&[("origin", "null")], false),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "https://render.example.org.evil.example")], false),
            (&[("origin", "http://localhost:8080"), ("host", "localhost:8080")], true),
            (&[("origin", "http://localhost:9090"), ("host", "localhost:8080")], false),
            (&[("sec-fetch-site", "same-origin"), ("origin", own)], true),
            (&[("sec-fetch-site", "same-site"), ("origin", own)], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", own)], false),
            (&[("sec-fetch-site", "none")], true),
        ];
        for (given, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(is_own(&headers, own), expected, "{given:?}");
        }
    }
}
