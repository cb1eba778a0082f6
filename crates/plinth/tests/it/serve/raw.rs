//! Raw HTTP requests, sent without a client library that would correct them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Maximum time to wait for a response.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A response to a raw request.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawAnswer {
    /// Returns the error code in the body; empty if the body is no error.
    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends bytes on a new connection and reads until the connection is closed.
pub(crate) fn send(base: &str, request: &[u8]) -> RawAnswer {
    let mut socket = TcpStream::connect(base.trim_start_matches("http://")).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The server may respond before it has received everything.
    let _refused = socket.write_all(request);
    let mut bytes = Vec::new();
    let _reset_after_the_answer = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    RawAnswer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// Requests a path, which is sent exactly as given, with additional header lines.
pub(crate) fn get(base: &str, token: &str, path: &str, more: &str) -> RawAnswer {
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{more}\r\n");
    send(base, head.as_bytes())
}

/// Sends the head of a request, then its body one byte at a time, until the server closes the connection. Returns the
/// time until then.
pub(crate) fn trickle(base: &str, head: &str, most: Duration) -> Duration {
    let mut socket = TcpStream::connect(base.trim_start_matches("http://")).unwrap();
    let begin = Instant::now();
    socket.write_all(head.as_bytes()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = [0; 1024];
    while begin.elapsed() < most {
        let is_broken = socket.write_all(b"x").is_err();
        // `read` returns 0 at the end of the stream. A timeout without data is an error and does not end the loop.
        if is_broken || socket.read(&mut answer).is_ok_and(|read| read == 0) {
            break;
        }
    }
    begin.elapsed()
}
