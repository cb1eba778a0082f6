//! Requests as texts.

use axum::body::Body;
use http::Request;

/// Parses a request: a line with method and path, header lines, an empty line, and the body. Returns `None` if the text
/// is no HTTP request.
pub fn request(text: &[u8]) -> Option<Request<Body>> {
    let end = text.windows(2).position(|pair| pair == b"\n\n")?;
    let mut lines = std::str::from_utf8(&text[..end]).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in lines.map(|line| line.split_once(": ")).collect::<Option<Vec<_>>>()? {
        request = request.header(name, value);
    }
    request.body(Body::from(text[end + 2..].to_vec())).ok()
}
