//! Models by URL: what is fetched, and that nothing inside is reached.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plinth_testkit::glb_with_triangle;
use serde_json::json;

use super::on_both;
use super::server::{Place, Served};

/// A server inside, which counts who comes.
struct Inner {
    port: u16,
    visits: Arc<AtomicUsize>,
}

impl Inner {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let visits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&visits);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let Ok(mut socket) = socket else { continue };
                let mut request = [0; 4096];
                let read = socket.read(&mut request).unwrap_or(0);
                let line = String::from_utf8_lossy(&request[..read]).into_owned();
                let path = line.split(' ').nth(1).unwrap_or_default();
                let glb = glb_with_triangle("fetched");
                let (status, extra, body) = match path.strip_prefix("/to/") {
                    Some(target) => ("302 Found", format!("Location: {target}\r\n"), Vec::new()),
                    None if path == "/page" => ("200 OK", "Content-Type: text/html\r\n".to_owned(), b"<p>".to_vec()),
                    None if path == "/gone" => ("404 Not Found", String::new(), Vec::new()),
                    None => ("200 OK", "Content-Type: model/gltf-binary\r\n".to_owned(), glb),
                };
                let head =
                    format!("HTTP/1.1 {status}\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let body = if line.starts_with("HEAD") { Vec::new() } else { body };
                let _gone = socket.write_all(&[head.into_bytes(), body].concat());
            }
        });
        Self { port, visits }
    }
}

/// Hosts that lead inside, in every notation.
const INSIDE: [&str; 40] = [
    "127.0.0.1",
    "127.1",
    "0",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "１２７.0.0.1",
    "127%2e0%2e0%2e1",
    "good@127.0.0.1",
    "good:pw@127.0.0.1",
    "localhost",
    "LOCALHOST.",
    "x.localhost",
    "metadata.google.internal",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[ff02::1]",
];

/// URLs and the codes they are refused with; `PORT` is the inner server's. The one with an empty code leads outside, where
/// a test has nobody to ask: it may not have reached inside, that is all.
const ODD: [(&str, &str); 12] = [
    ("http:\\\\127.0.0.1:PORT\\a.glb", "blocked_host"),
    ("http://127.0.0.1\t:PORT/a.glb", "blocked_host"),
    ("http://example.org#@127.0.0.1:PORT/a.glb", ""),
    ("http://127.0.0.1:22/a.glb", "blocked_host"),
    ("http://127.0.0.1:6379/a.glb", "blocked_host"),
    ("file:///etc/passwd", "invalid_url_scheme"),
    ("ftp://127.0.0.1/a.glb", "invalid_url_scheme"),
    ("gopher://127.0.0.1:PORT/_x", "invalid_url_scheme"),
    ("http://[fe80::1%25eth0]/a.glb", "invalid_url"),
    ("http://", "invalid_url"),
    ("nonsense", "invalid_url"),
    ("http://nothing.invalid/a.glb", "dns_error"),
];

#[tokio::test]
async fn no_url_reaches_inside() {
    let Served { server, place, client } = Served::alone();
    server.end();
    let place = place.set("PLINTH_INGEST_LIMIT_PER_10_MINUTES", "1000").set("http_proxy", "http://127.0.0.1:1");
    let server = place.serve(&["--no-worker"]);
    let client = super::client::Client::new(&server.base, &client.token);
    let inner = Inner::start();
    let mut cases: Vec<(String, &str)> = Vec::new();
    for host in INSIDE {
        cases.push((format!("http://{host}:{}/a.glb", inner.port), "blocked_host"));
        cases.push((format!("https://{host}:{}/a.glb?X-Amz-Signature=1", inner.port), "blocked_host"));
    }
    cases.extend(ODD.map(|(url, code)| (url.replace("PORT", &inner.port.to_string()), code)));
    for (url, code) in &cases {
        let answer = client.post("/models/ingest", json!({"url": url})).await;
        assert_eq!(answer.status, 400, "{url}: {answer:?}");
        assert!(code.is_empty() || answer.refusal().1 == *code, "{url}: {answer:?}");
    }
    assert_eq!(client.post("/models/ingest", json!({})).await.refusal(), (400, "url_required"));
    assert_eq!(inner.visits.load(Ordering::SeqCst), 0, "somebody came");
}

async fn an_allowed_host_is_fetched_from_but_leads_nowhere_else(served: Served) {
    let Served { server, place, client } = served;
    server.end();
    let (door, inner) = (Inner::start(), Inner::start());
    let place: Place = place.set("PLINTH_INGEST_ALLOW_HOSTS", &format!("127.0.0.1:{}", door.port));
    let place = place.set("PLINTH_INGEST_LIMIT_PER_10_MINUTES", "1000");
    let server = place.serve(&["--no-worker"]);
    let client = super::client::Client::new(&server.base, &client.token);
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", door.port);
    let fetch = async |url: String| client.post("/models/ingest", json!({"url": url})).await;
    assert_eq!(fetch(at("/a.glb")).await.status, 201);
    assert_eq!(fetch(at("/b.glb?X-Amz-Signature=1")).await.status, 200, "the same file");
    assert_eq!(fetch(at(&format!("/to/{}", at("/c.glb")))).await.status, 200, "a redirect");
    let inside = format!("/to/http://127.0.0.1:{}/a.glb", inner.port);
    for (url, code) in [
        (at(&inside), "blocked_host"),
        (at(&inside.replace("127.0.0.1", "[::ffff:127.0.0.1]")), "blocked_host"),
        (at("/to/file:///etc/passwd"), "invalid_url_scheme"),
        (at("/page"), "invalid_content_type"),
        (at("/gone"), "url_error"),
    ] {
        assert_eq!(fetch(url.clone()).await.refusal(), (400, code), "{url}");
    }
    let round = (0..20).fold(at("/a.glb"), |url, _| at(&format!("/to/{url}")));
    assert_eq!(fetch(round).await.refusal(), (400, "url_error"), "too many redirects");
    assert_eq!(inner.visits.load(Ordering::SeqCst), 0, "somebody came");
}

async fn ingests_are_limited_on_top(served: Served) {
    let ask = async || served.client.post("/models/ingest", json!({"url": "nonsense"})).await;
    for _ in 0..20 {
        assert_eq!(ask().await.refusal(), (400, "invalid_url"));
    }
    let answer = ask().await;
    assert_eq!(answer.refusal(), (429, "rate_limited"));
    let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    assert_eq!(served.client.get("/account").await.status, 200, "other requests are not");
}

on_both! { an_allowed_host_is_fetched_from_but_leads_nowhere_else ingests_are_limited_on_top }
