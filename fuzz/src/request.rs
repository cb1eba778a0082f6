//! Requests as texts.

use axum::body::Body;
use http::Request;

/// Parts of paths to which no requests are posted. They encode panoramas, for which an installation lacks the program.
const PANORAMAS: [&str; 2] = ["/environments", "/assets/envs"];

/// Parses a request: a line with method and path, header lines, an empty line, and the body. Returns `None` if the text
/// is no HTTP request, and for uploads of panoramas.
pub fn request(text: &[u8]) -> Option<Request<Body>> {
    let end = text.windows(2).position(|pair| pair == b"\n\n")?;
    let mut lines = std::str::from_utf8(&text[..end]).ok()?.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    if method == "POST" && PANORAMAS.iter().any(|end| path.contains(end)) {
        return None;
    }
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in lines.map(|line| line.split_once(": ")).collect::<Option<Vec<_>>>()? {
        request = request.header(name, value);
    }
    request.body(Body::from(text[end + 2..].to_vec())).ok()
}
