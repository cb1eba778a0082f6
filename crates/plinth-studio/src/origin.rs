//! Forms are sent from our own pages only.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::refusal::Refusal;
use crate::studio::Studio;

/// Refuses what another site sends in a visitor's name, or what does not say where it comes from.
pub(crate) async fn same_site(State(studio): State<Studio>, request: Request, next: Next) -> Response {
    if request.method().is_safe() || is_own(request.headers(), &studio.site.origin) {
        return next.run(request).await;
    }
    let words = "this form was sent from another address; open the page under its own address and send it again";
    Refusal::new(StatusCode::FORBIDDEN, words).into_response()
}

/// Whether a browser says that a request comes from a page of this site. Browsers let no page say this for another.
// Fetch Metadata; where a browser leaves it out (plain HTTP), the header Origin.
fn is_own(headers: &HeaderMap, own_origin: &str) -> bool {
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(header::ORIGIN).and_then(text) else { return false };
    let host = headers.get(header::HOST).and_then(text);
    origin == own_origin || host.is_some_and(|host| origin.split_once("://").is_some_and(|(_, o)| o == host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_site_may_send_forms() {
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
