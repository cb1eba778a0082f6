//! Tests of models that the server downloads from URLs. Private addresses must not be accessible.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plinth_testkit::{Answer, Form, HOSTS_INSIDE, Reply, Visit, Web, glb_with_sphere, glb_with_triangle};
use serde_json::json;

use super::on_both;
use super::operation::check_of;
use super::server::{EMAIL, Installation, Served, Server};
use crate::{copy_of_program, replace_program};

/// Serves a model at all paths that have no other response. A path below `/to/` redirects to its remainder.
fn answer(visit: &Visit) -> Reply {
    match visit.path.as_str() {
        "/page" => Reply::new("200 OK", "text/html", "<p>"),
        "/gone" => Reply::missing(),
        "/broken" => Reply::model("glTF but not really"),
        "/other%20chair.glb?version=1" => Reply::new("200 OK", "binary/octet-stream", glb_with_triangle("other")),
        path => match path.strip_prefix("/to/") {
            Some(target) => Reply::redirect(target),
            None => Reply::model(glb_with_triangle("fetched")),
        },
    }
}

/// Restarts the server with a configuration that allows downloads from these hosts.
fn allowing(served: Served, hosts: &[&Web], change: impl FnOnce(Installation) -> Installation) -> Served {
    let hosts: Vec<String> = hosts.iter().map(|web| web.address().to_string()).collect();
    served.again(|installation| {
        let installation = installation.set("PLINTH_INGEST_ALLOW_HOSTS", &hosts.join(","));
        change(installation.set("PLINTH_INGEST_LIMIT_PER_10_MINUTES", "1000"))
    })
}

async fn ingest(served: &Served, url: &str) -> Answer {
    served.client.post("/models/ingest", json!({"url": url})).await
}

/// URLs and the error codes of their downloads. `PORT` stands for the port of a private server. A URL with an empty
/// code is public: its download may fail in any way, as long as it does not access a private address.
const ODD: [(&str, &str); 20] = [
    ("http:\\\\127.0.0.1:PORT\\a.glb", "blocked_host"),
    ("http:127.0.0.1:PORT/a.glb", "blocked_host"),
    ("HTTP://127.0.0.1:PORT/a.glb", "blocked_host"),
    (" http://127.0.0.1:PORT/a.glb\n", "blocked_host"),
    ("http://127.0.0.1\t:PORT/a.glb", "blocked_host"),
    ("ht\ntp://127.0.0.1:PORT/a.glb", "blocked_host"),
    ("http://example.org:80@127.0.0.1:PORT/a.glb", "blocked_host"),
    ("http://example.org#@127.0.0.1:PORT/a.glb", ""),
    ("http://127.0.0.1:22/a.glb", "blocked_host"),
    ("http://127.0.0.1:6379/a.glb", "blocked_host"),
    ("file:///etc/passwd", "invalid_url_scheme"),
    ("ftp://127.0.0.1/a.glb", "invalid_url_scheme"),
    ("gopher://127.0.0.1:PORT/_x", "invalid_url_scheme"),
    ("data:model/gltf-binary,x", "invalid_url_scheme"),
    ("http://[fe80::1%25eth0]/a.glb", "invalid_url"),
    ("http://127.0.0.1:99999/a.glb", "invalid_url"),
    ("http://", "invalid_url"),
    ("//127.0.0.1:PORT/a.glb", "invalid_url"),
    ("nonsense", "invalid_url"),
    ("http://nothing.invalid/a.glb", "dns_error"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_url_reaches_private_addresses() {
    let served = allowing(Served::with_sqlite(), &[], |installation| installation);
    let inner = Web::start(answer);
    let port = inner.address().port().to_string();
    let mut cases: Vec<(String, &str)> = Vec::new();
    for host in HOSTS_INSIDE {
        cases.push((format!("http://{host}:{port}/a.glb"), "blocked_host"));
        cases.push((format!("https://{host}:{port}/a.glb?X-Amz-Signature=1"), "blocked_host"));
    }
    cases.extend(ODD.map(|(url, code)| (url.replace("PORT", &port), code)));
    for (url, code) in &cases {
        let answer = ingest(&served, url).await;
        assert_eq!(answer.status, 400, "{url}: {answer:?}");
        assert!(code.is_empty() || answer.rejection().1 == *code, "{url}: {answer:?}");
    }
    for body in [json!({}), json!({"url": ""}), json!({"url": null})] {
        assert_eq!(served.client.post("/models/ingest", body).await.rejection(), (400, "url_required"));
    }
    assert_eq!(inner.visits(), 0, "somebody came");
}

async fn an_allowed_host_is_accepted_but_its_redirects_are_checked(served: Served) {
    let (door, inner) = (Web::start(answer), Web::start(answer));
    let served = allowing(served, &[&door], |installation| installation);
    let made = ingest(&served, &door.url("/other%20chair.glb?version=1")).await;
    assert_eq!(made.status, 201);
    let model = served.client.get(&format!("/models/{}", made.text("modelId"))).await;
    assert_eq!(model.data()["originalName"], "other chair.glb");
    let billed = json!({"url": door.url("/a.glb"), "renderSettings": {"quality": "share", "length": 3}});
    let billed = served.client.post("/models/ingest", billed).await;
    let render = served.client.get(&format!("/renders/{}", billed.text("renderId"))).await;
    assert_eq!((billed.status, &render.data()["isSystemPreview"]), (201, &json!(false)));
    let again = ingest(&served, &door.url("/b.glb?X-Amz-Signature=1")).await;
    assert_eq!((again.status, &again.data()["duplicate"]), (200, &json!(true)), "the same file");
    assert_eq!(ingest(&served, &door.url(&format!("/to/{}", door.url("/c.glb")))).await.status, 200, "a redirect");
    let inside = inner.url("/a.glb");
    let mapped = inside.replace("127.0.0.1", "[::ffff:127.0.0.1]");
    for (path, rejection) in [
        (format!("/to/{inside}"), (400, "blocked_host")),
        (format!("/to/{mapped}"), (400, "blocked_host")),
        (format!("/to/{}", door.url(&format!("/to/{inside}"))), (400, "blocked_host")),
        ("/to/http://169.254.169.254/latest/meta-data".to_owned(), (400, "blocked_host")),
        ("/to/file:///etc/passwd".to_owned(), (400, "invalid_url_scheme")),
        ("/to/gopher://127.0.0.1:1/_x".to_owned(), (400, "invalid_url_scheme")),
        ("/page".to_owned(), (400, "invalid_content_type")),
        ("/gone".to_owned(), (400, "url_error")),
        ("/broken".to_owned(), (422, "ingest_failed")),
    ] {
        assert_eq!(ingest(&served, &door.url(&path)).await.rejection(), rejection, "{path}");
    }
    let around = (0..6).fold(door.url("/a.glb"), |url, _| door.url(&format!("/to/{url}")));
    assert_eq!(ingest(&served, &around).await.rejection(), (400, "url_error"), "too many redirects");
    assert_eq!(inner.visits(), 0, "somebody came");
}

/// Only certificates that the system trusts are accepted, and redirects from HTTPS to HTTP are not followed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_needs_a_trusted_certificate() {
    let (plain, known, unknown) = (Web::start(answer), Web::start_tls(answer), Web::start_tls(answer));
    let served = allowing(Served::with_sqlite(), &[&plain, &known, &unknown], |installation| {
        let file = installation.folder.path().join("certificates.pem");
        std::fs::write(&file, known.certificate()).unwrap();
        installation.set("SSL_CERT_FILE", file.to_str().unwrap())
    });
    assert_eq!(ingest(&served, &known.url("/a.glb")).await.status, 201);
    assert_eq!(ingest(&served, &plain.url(&format!("/to/{}", known.url("/a.glb")))).await.status, 200);
    let visits = plain.visits();
    for url in [
        unknown.url("/a.glb"),
        unknown.url("/a.glb?X-Amz-Signature=1"),
        known.url(&format!("/to/{}", unknown.url("/a.glb"))),
        known.url(&format!("/to/{}", plain.url("/a.glb"))),
        // The certificate is valid for the IP address only, so the host name is rejected.
        known.url("/a.glb").replace("127.0.0.1", "localhost"),
        known.url("/a.glb").replace("https", "http"),
    ] {
        let rejection = ingest(&served, &url).await;
        let code = if url.contains("localhost") { "blocked_host" } else { "url_error" };
        assert_eq!(rejection.rejection(), (400, code), "{url}");
    }
    assert_eq!(plain.visits(), visits, "no redirect from HTTPS to HTTP was followed");
}

/// Authorities of a file replace those of the system, unless a folder names these, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorities_of_a_file_and_of_a_folder_are_trusted_together() {
    let (own, of_system) = (Web::start_tls(answer), Web::start_tls(answer));
    let served = allowing(Served::with_sqlite(), &[&own, &of_system], |installation| {
        let files = installation.folder.path();
        let (file, folder) = (files.join("own.pem"), files.join("authorities"));
        std::fs::write(&file, own.certificate()).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("system.pem"), of_system.certificate()).unwrap();
        let installation = installation.set("SSL_CERT_FILE", file.to_str().unwrap());
        installation.set("SSL_CERT_DIR", folder.to_str().unwrap())
    });
    assert_eq!(ingest(&served, &own.url("/a.glb")).await.status, 201);
    assert_eq!(ingest(&served, &of_system.url("/a.glb")).await.status, 200, "the same model");
}

/// A proxy from an environment variable would bypass all checks of addresses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_of_the_environment_are_not_used() {
    let (door, proxy) = (Web::start(answer), Web::start(answer));
    let served = allowing(Served::with_sqlite(), &[&door], |installation| {
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            .into_iter()
            .fold(installation, |installation, name| installation.set(name, &proxy.url("")))
    });
    assert_eq!(ingest(&served, &door.url("/a.glb")).await.status, 201);
    assert_eq!(ingest(&served, &proxy.url("/a.glb")).await.rejection(), (400, "blocked_host"));
    assert_eq!((door.visits(), proxy.visits()), (2, 0));
}

/// Presigned links of object stores are valid for GET only, so the server must not send a HEAD request to them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presigned_links_are_not_probed() {
    let probes = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&probes);
    let store = Web::start(move |visit| match visit.method.as_str() {
        "HEAD" => {
            counter.fetch_add(1, Ordering::SeqCst);
            Reply::missing()
        }
        _ => Reply::new("200 OK", "binary/octet-stream", glb_with_triangle(&visit.path)),
    });
    let served = allowing(Served::with_sqlite(), &[&store], |installation| installation);
    for query in ["X-Amz-Signature=1", "x-amz-signature=1", "X-Goog-Signature=1", "sig=1", "Signature=1&Expires=2"] {
        assert_eq!(ingest(&served, &store.url(&format!("/a.glb?{query}"))).await.status, 201, "{query}");
    }
    assert_eq!(probes.load(Ordering::SeqCst), 0);
    assert_eq!(ingest(&served, &store.url("/a.glb?version=1")).await.rejection(), (400, "url_error"));
    assert_eq!(probes.load(Ordering::SeqCst), 1);
}

async fn ingests_have_an_additional_limit(served: Served) {
    for _ in 0..20 {
        assert_eq!(ingest(&served, "nonsense").await.rejection(), (400, "invalid_url"));
    }
    let answer = ingest(&served, "nonsense").await;
    assert_eq!(answer.rejection(), (429, "rate_limited"));
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    assert_eq!(served.client.get("/account").await.status, 200, "other requests are not limited");
    let other = served.client(&served.installation.key(EMAIL, &[]));
    let answer = other.post("/models/ingest", json!({"url": "nonsense"})).await;
    assert_eq!(answer.rejection(), (400, "invalid_url"), "another key has its own limit");
}

on_both! { an_allowed_host_is_accepted_but_its_redirects_are_checked ingests_have_an_additional_limit }

/// This test takes long, because the timeout of the service cannot be configured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_without_a_response_is_408() {
    // The listener never accepts its connections, so they stay in its queue.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let served = Served::with_sqlite().again(|installation| installation.set("PLINTH_INGEST_ALLOW_HOSTS", &address));
    let answer = ingest(&served, &format!("http://{address}/a.glb")).await;
    assert_eq!(answer.rejection(), (408, "timeout"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_download_is_rejected() {
    let glb = glb_with_triangle("cut");
    let cut = Reply::model(&glb[..glb.len() / 2]).saying_length(glb.len() as u64);
    let door = Web::start(move |_visit| cut.clone());
    let served = allowing(Served::with_sqlite(), &[&door], |installation| installation);
    for path in ["/a.glb", "/a.glb?X-Amz-Signature=1"] {
        assert_eq!(ingest(&served, &door.url(path)).await.rejection(), (400, "download_failed"), "{path}");
    }
    assert_eq!(served.client.get("/models").await.body["meta"]["total"], 0, "nothing was stored");
}

/// Kills the check of the file that a request sends, and returns the response.
async fn with_killed_check(server: &Server, request: impl Future<Output = Answer> + Send + 'static) -> Answer {
    let answer = tokio::spawn(request);
    let check = check_of(server).await;
    assert!(std::process::Command::new("kill").args(["-s", "KILL", &check]).status().unwrap().success());
    answer.await.unwrap()
}

/// If the child process that checks a file crashes, the response is an internal error, because the file may be valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crashed_check_is_500() {
    // The model is large, so that its check can be killed before it ends.
    let glb = glb_with_sphere(600);
    let large = Reply::model(glb.clone());
    let door = Web::start(move |_visit| large.clone());
    let served = allowing(Served::with_sqlite(), &[&door], |installation| installation);
    let (client, server) = (&served.client, &served.server);
    let settings = json!({"quality": "share", "length": 1});
    for has_settings in [false, true] {
        let form = Form::default().file("file", "sphere.glb", &glb);
        let form = if has_settings { form.text("renderSettings", &settings.to_string()) } else { form };
        let sender = client.clone();
        let answer = with_killed_check(server, async move { sender.form("/models", form).await }).await;
        assert_eq!(answer.rejection(), (500, "upload_failed"));
    }
    for body in [json!({"url": door.url("/a.glb")}), json!({"url": door.url("/a.glb"), "renderSettings": settings})] {
        let sender = client.clone();
        let answer = with_killed_check(server, async move { sender.post("/models/ingest", body).await }).await;
        assert_eq!(answer.rejection(), (500, "ingest_failed"));
    }
    assert_eq!(client.get("/models?status=any").await.data(), &json!([]));
    assert_eq!(client.get("/renders").await.data(), &json!([]));
    assert_eq!(client.get("/account").await.data()["paid"], 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_program_was_replaced_checks_files_with_its_own_version() {
    let installation = Installation::with_sqlite();
    let program = copy_of_program(installation.folder.path());
    let served = Served::on(installation.with_build(Some(program.clone())));
    replace_program(&program);
    assert_eq!(served.client.upload("chair", None).await.status, 201);
}
