//! Tests of downloads from URLs, with real HTTP servers on this machine.

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plinth_service::{FetchOptions, HostRule, Names};
use plinth_spec::ErrorCode;
use plinth_spec::wire::IngestModel;
use plinth_testkit::{Reply, TestDatabase, Visit, Web, glb_with_triangle};
use serde_json::json;

use crate::test_service::{TestService, code};

/// A timeout that is too long to be reached in a test.
const NEVER: Duration = Duration::from_hours(1);

fn answer(visit: &Visit) -> Reply {
    let glb = glb_with_triangle("fetched");
    let length = glb.len() as u64;
    let is_head = visit.method == "HEAD";
    match visit.path.as_str() {
        "/chair.glb" | "/st%C3%BChle.glb" => Reply::model(glb),
        "/gzip.glb" => Reply::model(with_gzip(&glb)).with_header("Content-Encoding", "gzip"),
        "/brotli.glb" => Reply::model(glb).with_header("Content-Encoding", "br"),
        "/object?X-Amz-Signature=1" if is_head => Reply::new("500 Never", "text/plain", ""),
        "/object?X-Amz-Signature=1" => Reply::new("200 OK", "binary/octet-stream", glb),
        "/no-head.glb" if is_head => Reply::new("405 No", "text/plain", ""),
        "/no-head.glb" => Reply::new("200 OK", "application/octet-stream", glb),
        "/page.glb" => Reply::new("200 OK", "text/html; charset=utf-8", "<p/>"),
        "/nonsense.glb" => Reply::model("nonsense"),
        "/packed.glb" => Reply::model([0x1f, 0x8b, 8, 0]).with_header("Content-Encoding", "gzip"),
        "/huge.glb" => Reply::model("").saying_length((1 << 30) + 1),
        "/cut.glb" => Reply::model(glb).saying_length(length + 10),
        "/stall.glb" => Reply::model(&glb[..10]).saying_length(length).hanging(),
        "/drip.glb" => Reply::model([0]).saying_no_length().repeated(u64::MAX, Duration::from_millis(50)),
        "/hop.glb" => Reply::redirect("/chair.glb"),
        "/unescaped.glb" => Reply::redirect("/stühle.glb"),
        "/loop.glb" => Reply::redirect("/loop.glb"),
        "/nowhere.glb" => Reply::new("302 Found", "text/plain", ""),
        "/metadata.glb" => Reply::redirect("http://169.254.169.254/latest"),
        "/named.glb" => Reply::redirect("http://inside.example/x.glb"),
        "/file.glb" => Reply::redirect("file:///etc/passwd"),
        _ => Reply::missing(),
    }
}

fn with_gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn test_service(
    database: &TestDatabase,
    allowed: &[String],
    change: impl FnOnce(&mut FetchOptions),
) -> TestService {
    let rules: Vec<HostRule> = allowed.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
    TestService::with(database.address(), |options| {
        options.fetch.allowed_hosts = rules;
        change(&mut options.fetch);
    })
    .await
}

async fn ingest(test_service: &TestService, url: &str) -> plinth_service::Result<plinth_service::models::Uploaded> {
    let request = IngestModel { url: Some(url.to_owned()), render_settings: None };
    test_service.service.ingest_model(&test_service.caller, request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_url_becomes_a_model() {
    let (database, server) = (TestDatabase::sqlite(), Web::start(answer));
    let test_service = test_service(&database, &[server.address().to_string()], |_options| {}).await;
    let made = ingest(&test_service, &server.url("/chair.glb")).await.unwrap();
    let model = test_service.service.model(&test_service.caller, made.result.model_id.as_str()).await.unwrap();
    assert_eq!(model.row.original_name, "chair.glb");
    for path in ["/hop.glb", "/unescaped.glb", "/no-head.glb", "/object?X-Amz-Signature=1", "/gzip.glb"] {
        let again = ingest(&test_service, &server.url(path)).await.unwrap();
        assert_eq!(again.result.duplicate, Some(true), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_downloads_return_the_matching_error_code() {
    let (database, server) = (TestDatabase::sqlite(), Web::start(answer));
    let names = |_name: &str| vec![IpAddr::from([10, 0, 0, 1])];
    let test_service = test_service(&database, &[server.address().to_string()], |options| {
        options.names = Names::Given(Arc::new(names));
    })
    .await;
    let cases = [
        ("/missing.glb", ErrorCode::UrlError),
        ("/page.glb", ErrorCode::InvalidContentType),
        ("/nonsense.glb", ErrorCode::IngestFailed),
        ("/packed.glb", ErrorCode::IngestFailed),
        ("/brotli.glb", ErrorCode::InvalidContentType),
        ("/huge.glb", ErrorCode::FileTooLarge),
        ("/cut.glb", ErrorCode::DownloadFailed),
        ("/loop.glb", ErrorCode::UrlError),
        ("/nowhere.glb", ErrorCode::UrlError),
        ("/metadata.glb", ErrorCode::BlockedHost),
        ("/named.glb", ErrorCode::BlockedHost),
        ("/file.glb", ErrorCode::InvalidUrlScheme),
    ];
    for (path, expected) in cases {
        assert_eq!(code(ingest(&test_service, &server.url(path)).await), expected, "{path}");
    }
    let none = IngestModel { url: None, render_settings: None };
    assert_eq!(code(test_service.service.ingest_model(&test_service.caller, none).await), ErrorCode::UrlRequired);
    let left = std::fs::read_dir(test_service.folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("plinth-incoming"));
    assert_eq!(left.count(), 0, "partial downloads are deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_not_requested_without_the_credits_for_its_render() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let server = Web::start(answer);
        let test_service = test_service(&database, &[server.address().to_string()], |_options| {}).await;
        let render_settings = Some(json!({"length": 60}));
        let request = IngestModel { url: Some(server.url("/chair.glb")), render_settings };
        let rejected = test_service.service.ingest_model(&test_service.caller, request).await;
        assert_eq!((code(rejected), server.visits()), (ErrorCode::NoCredits, 0));
    }
}

/// Tests each timeout separately. The other timeouts are too long to be reached, and the server never closes a
/// connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_timeout_ends_a_download() {
    let soon = Duration::from_millis(400);
    let silent = Web::start(|_visit| Reply::model("").hanging().saying_length(1));
    let server = Web::start(answer);
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}/x.glb", deaf.local_addr().unwrap());
    let signed = |url: String| format!("{url}?X-Amz-Signature=1");
    for (url, limits, expected) in [
        (signed(silent.url("/x.glb")), [NEVER, soon, NEVER], ErrorCode::DownloadTimeout),
        (server.url("/stall.glb"), [NEVER, soon, NEVER], ErrorCode::DownloadTimeout),
        (server.url("/drip.glb"), [NEVER, NEVER, soon], ErrorCode::DownloadTimeout),
        (server.url("/stall.glb"), [NEVER, NEVER, soon], ErrorCode::DownloadTimeout),
        (deaf.clone(), [soon, NEVER, NEVER], ErrorCode::Timeout),
        (signed(deaf), [NEVER, soon, NEVER], ErrorCode::DownloadTimeout),
    ] {
        let (database, allowed) = (TestDatabase::sqlite(), "127.0.0.1".to_owned());
        let test_service = test_service(&database, &[allowed], |options| {
            [options.answer, options.stall, options.total] = limits;
        })
        .await;
        assert_eq!(code(ingest(&test_service, &url).await), expected, "{url} {limits:?}");
    }
}

#[test]
fn a_download_may_pause_for_45_seconds_and_take_10_minutes() {
    let options = FetchOptions::default();
    assert_eq!((options.stall, options.total), (Duration::from_secs(45), Duration::from_mins(10)));
    assert!(options.answer < options.stall);
}

/// The first DNS lookup, which the check makes, returns the address of one server. Later lookups return the address of
/// another server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_connects_to_the_checked_address() {
    let checked = Web::start(answer);
    let port = checked.address().port();
    let later = Web::start_at(&format!("127.0.0.2:{port}"), answer);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let names = move |_name: &str| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        vec![IpAddr::from([127, 0, 0, if first { 1 } else { 2 }])]
    };
    let database = TestDatabase::sqlite();
    let test_service = test_service(&database, &["rebound.example".to_owned()], |options| {
        options.names = Names::Given(Arc::new(names));
    })
    .await;
    // No HEAD request is sent to a presigned link, so the download makes one connection and one lookup.
    let made = ingest(&test_service, &format!("http://rebound.example:{port}/object?X-Amz-Signature=1")).await;
    assert!(made.unwrap().is_new);
    assert_eq!((asked.load(Ordering::SeqCst), checked.visits(), later.visits()), (1, 1, 0));
}

/// The first DNS lookup, which the check makes, returns a public address. Later lookups return a loopback address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dns_rebinding_to_a_private_address_reaches_no_server() {
    let inside = Web::start(answer);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let names = move |_name: &str| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        vec![if first { "2001:4860:4860::8888".parse().unwrap() } else { IpAddr::from([127, 0, 0, 1]) }]
    };
    let database = TestDatabase::sqlite();
    let test_service = test_service(&database, &[], |options| {
        options.names = Names::Given(Arc::new(names));
        // The error depends on whether this machine has a route to the public address.
        options.answer = Duration::from_millis(400);
    })
    .await;
    let url = format!("http://rebound.example:{}/object?X-Amz-Signature=1", inside.address().port());
    let rejected = code(ingest(&test_service, &url).await);
    assert!(matches!(rejected, ErrorCode::UrlError | ErrorCode::Timeout), "{rejected:?}");
    assert_eq!(code(ingest(&test_service, &url).await), ErrorCode::BlockedHost);
    assert_eq!((asked.load(Ordering::SeqCst), inside.visits()), (2, 0));
}
