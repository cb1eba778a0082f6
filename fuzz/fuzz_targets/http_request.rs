//! Sends an HTTP request to a service. The input is the request's text: a line with method and path, header lines, an empty line, and
//! the body. `{render}`, `{model}`, `{upload}` and `{ticket}` are replaced by identifiers, a link and a ticket of the service. The request is
//! authorised unless it has a header `authorization`.
#![no_main]

use std::cell::RefCell;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use libfuzzer_sys::fuzz_target;
use plinth_fuzz::Installation;
use tokio::runtime::{Builder, Runtime};

/// Number of requests after which a new installation replaces the old one, so that requests are not rejected because of its limits.
const REQUESTS: usize = 500;
/// Parts of paths to which no requests are sent: the service would download files from other machines, or wait for workers.
const OMITTED: [&str; 2] = ["/ingest", "/preview"];
/// A model that is small and valid.
const MODEL: &[u8] = include_bytes!("../seeds/glb/bd87b2bbac254c10.glb");

thread_local! {
    static STATE: RefCell<Option<(Runtime, Installation, usize)>> = const { RefCell::new(None) };
}

fuzz_target!(|data: &[u8]| {
    STATE.with_borrow_mut(|state| {
        if state.as_ref().is_none_or(|(_runtime, _installation, left)| *left == 0) {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let installation = runtime.block_on(Installation::new(MODEL));
            *state = Some((runtime, installation, REQUESTS));
        }
        let Some((runtime, installation, left)) = state else { return };
        let Some(request) = request(data, installation) else { return };
        *left -= 1;
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
    let data = installation.replaced(data);
    let end = data.windows(2).position(|pair| pair == b"\n\n")?;
    let mut lines = std::str::from_utf8(&data[..end]).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in lines.map(|line| line.split_once(": ")).collect::<Option<Vec<_>>>()? {
        request = request.header(name, value);
    }
    let mut request = request.body(Body::from(data[end + 2..].to_vec())).ok()?;
    if OMITTED.iter().any(|part| request.uri().path().contains(part)) {
        return None;
    }
    let authorization = installation.authorization.parse().ok()?;
    request.headers_mut().entry("authorization").or_insert(authorization);
    Some(request)
}
