//! Fetching URLs, against a real server on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plinth_service::HostRule;
use plinth_spec::ErrorCode;
use plinth_spec::wire::IngestModel;
use plinth_testkit::{TestDatabase, glb_with_triangle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::house::{House, code};

/// Answers by path, and counts connections.
struct Server {
    address: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let (counter, own) = (Arc::clone(&connections), address.clone());
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let own = own.clone();
                tokio::spawn(async move {
                    let mut request = vec![0; 4096];
                    let read = socket.read(&mut request).await.unwrap_or(0);
                    let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
                    let is_head = line.starts_with("HEAD");
                    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                    answer(&mut socket, &path, is_head, &own).await;
                });
            }
        });
        Self { address, connections }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

async fn answer(socket: &mut tokio::net::TcpStream, path: &str, is_head: bool, own: &str) {
    let glb = glb_with_triangle("fetched");
    let head = |status: &str, kind: &str, length: usize| {
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
    };
    let redirect =
        |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let (text, body) = match path {
        "/chair.glb" => (head("200 OK", "model/gltf-binary", glb.len()), glb),
        "/object?X-Amz-Signature=1" if is_head => (head("500 Never", "text/plain", 0), Vec::new()),
        "/object?X-Amz-Signature=1" => (head("200 OK", "binary/octet-stream", glb.len()), glb),
        "/no-head.glb" if is_head => (head("405 No", "text/plain", 0), Vec::new()),
        "/no-head.glb" => (head("200 OK", "application/octet-stream", glb.len()), glb),
        "/page.glb" => (head("200 OK", "text/html; charset=utf-8", 4), b"<p/>".to_vec()),
        "/nonsense.glb" => (head("200 OK", "model/gltf-binary", 8), b"nonsense".to_vec()),
        "/huge.glb" => (head("200 OK", "model/gltf-binary", (1 << 30) + 1), Vec::new()),
        "/cut.glb" => (head("200 OK", "model/gltf-binary", glb.len() + 10), glb),
        "/stall.glb" if !is_head => (head("200 OK", "model/gltf-binary", glb.len()), glb[..10].to_vec()),
        "/stall.glb" => (head("200 OK", "model/gltf-binary", glb.len()), Vec::new()),
        "/hop.glb" => (redirect("/chair.glb"), Vec::new()),
        "/loop.glb" => (redirect("/loop.glb"), Vec::new()),
        "/inside.glb" => (
            redirect(&format!("http://localhost:{}/chair.glb", own.rsplit(':').next().unwrap_or_default())),
            Vec::new(),
        ),
        "/metadata.glb" => (redirect("http://169.254.169.254/latest"), Vec::new()),
        "/file.glb" => (redirect("file:///etc/passwd"), Vec::new()),
        _ => (head("404 Not Found", "text/plain", 0), Vec::new()),
    };
    let _gone = socket.write_all(text.as_bytes()).await;
    if !is_head {
        let _gone = socket.write_all(&body).await;
    }
    let _gone = socket.flush().await;
    if path == "/stall.glb" {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

async fn house(database: &TestDatabase, allowed: &[&str]) -> House {
    let rules: Vec<HostRule> = allowed.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
    House::with(database.address(), |options| {
        options.fetch.allowed_hosts = rules;
        options.fetch.stall = Duration::from_millis(700);
        options.fetch.total = Duration::from_secs(20);
    })
    .await
}

async fn ingest(house: &House, url: &str) -> plinth_service::Result<plinth_service::models::Uploaded> {
    let request = IngestModel { url: Some(url.to_owned()), render_settings: None };
    house.service.ingest_model(&house.caller, request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_url_becomes_a_model() {
    let (database, server) = (TestDatabase::sqlite(), Server::start().await);
    let house = house(&database, &[&server.address]).await;
    let made = ingest(&house, &server.url("chair.glb")).await.unwrap();
    let model = house.service.model(&house.caller, made.result.model_id.as_str()).await.unwrap();
    assert_eq!(model.row.original_name, "chair.glb");
    for path in ["hop.glb", "no-head.glb", "object?X-Amz-Signature=1"] {
        let again = ingest(&house, &server.url(path)).await.unwrap();
        assert_eq!(again.result.duplicate, Some(true), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_fetched_has_the_code_that_says_why() {
    let (database, server) = (TestDatabase::sqlite(), Server::start().await);
    let house = house(&database, &[&server.address]).await;
    let cases = [
        ("missing.glb", ErrorCode::UrlError),
        ("page.glb", ErrorCode::InvalidContentType),
        ("nonsense.glb", ErrorCode::IngestFailed),
        ("huge.glb", ErrorCode::FileTooLarge),
        ("cut.glb", ErrorCode::DownloadFailed),
        ("stall.glb", ErrorCode::DownloadTimeout),
        ("loop.glb", ErrorCode::UrlError),
        ("inside.glb", ErrorCode::BlockedHost),
        ("metadata.glb", ErrorCode::BlockedHost),
        ("file.glb", ErrorCode::InvalidUrlScheme),
    ];
    for (path, expected) in cases {
        assert_eq!(code(ingest(&house, &server.url(path)).await), expected, "{path}");
    }
    assert_eq!(code(ingest(&house, "http://nothing.invalid/x.glb").await), ErrorCode::DnsError);
    assert_eq!(code(ingest(&house, "not a url").await), ErrorCode::InvalidUrl);
    assert_eq!(code(ingest(&house, "ftp://example.org/x.glb").await), ErrorCode::InvalidUrlScheme);
    let none = IngestModel { url: None, render_settings: None };
    assert_eq!(code(house.service.ingest_model(&house.caller, none).await), ErrorCode::UrlRequired);
    let left = std::fs::read_dir(house.folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("plinth-incoming"));
    assert_eq!(left.count(), 0, "nothing half-fetched stays behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_one_packet_reaches_a_private_host() {
    let (database, server) = (TestDatabase::sqlite(), Server::start().await);
    let house = house(&database, &[]).await;
    let port = server.address.rsplit(':').next().unwrap();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "good@127.0.0.1",
        "127.0.0.1.",
        "１２７.0.0.1",
    ];
    for host in hosts {
        let url = format!("http://{host}:{port}/chair.glb");
        assert_eq!(code(ingest(&house, &url).await), ErrorCode::BlockedHost, "{url}");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}
