//! Sends an HTTP request to the API of a service. The input is the request's text: a line with method and path, header lines, an empty
//! line, and the body. Names in braces, such as `{render}` and `{ticket}`, are replaced by identifiers, links and tickets of the service.
//! The request is authorised unless it has a header `authorization`.
#![no_main]

use axum::body::Body;
use http::{Method, Request, StatusCode};
use libfuzzer_sys::fuzz_target;
use plinth_fuzz::{Installation, with_installation};

/// Parts of paths to which no requests are sent: the service would download files from other machines, or wait for workers.
const OMITTED: [&str; 2] = ["/ingest", "/preview"];

fuzz_target!(|data: &[u8]| {
    with_installation(|runtime, installation| {
        let Some(request) = request(data, installation) else { return };
        let (method, is_api) = (request.method().clone(), request.uri().path().starts_with("/v1/"));
        let (response, body) = runtime.block_on(installation.send(request));
        let status = response.status();
        assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{}", String::from_utf8_lossy(&body));
        // Responses to HEAD have no body. All other errors of the API have the same form.
        if status.is_client_error() && is_api && method != Method::HEAD {
            let json: serde_json::Value = serde_json::from_slice(&body).expect("errors are JSON");
            assert_eq!(json["error"]["status"], status.as_u16(), "{json}");
        }
    });
});

/// Parses an input. Returns `None` if it is no HTTP request.
fn request(data: &[u8], installation: &Installation) -> Option<Request<Body>> {
    let mut request = plinth_fuzz::request(&installation.replaced(data))?;
    if OMITTED.iter().any(|part| request.uri().path().contains(part)) {
        return None;
    }
    let authorization = installation.authorization.parse().ok()?;
    request.headers_mut().entry("authorization").or_insert(authorization);
    Some(request)
}
