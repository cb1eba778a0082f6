//! Tests of logs, metrics and health.

use std::time::{Duration, Instant};

use plinth_testkit::{Client, Form, glb_with_sphere};
use serde_json::{Value, json};

use super::on_both;
use super::server::{EMAIL, Installation, Served, Server};
use crate::niceness;

/// Starts a server that serves metrics at a free port. Also returns the address of the metrics.
fn serve_metrics(installation: &Installation, args: &[&str]) -> (Server, String) {
    let server = installation.serve(&[&["--metrics-listen", "127.0.0.1:0", "--log-format", "json"], args].concat());
    // The server logs this line before it prints the address at which it serves. Earlier servers may have logged text.
    let log = installation.log();
    let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.rfind(|line| line["message"] == "metrics are served").unwrap();
    (server, line["address"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn metrics_have_a_separate_listener() {
    let installation = Installation::with_sqlite();
    let (server, address) = serve_metrics(&installation, &["--no-worker"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    client.upload("chair", Some(json!({"quality": "share", "length": 3}))).await.data();
    client.upload("table", None).await.data();
    assert_eq!(client.get("/metrics").await.status, 404);
    let text = client.http.get(format!("http://{address}/metrics")).send().await.unwrap().text().await.unwrap();
    for line in [
        "plinth_queue_renders{status=\"pending\"} 2",
        "plinth_queue_renders{status=\"video-processing\"} 0",
        "plinth_queue_packagings 0",
        "plinth_workers{state=\"claiming\"} 0",
        "plinth_workers{state=\"lost\"} 0",
        "plinth_database_up 1",
        "plinth_credits_moved_total{type=\"render\"} 3",
        "plinth_http_requests_total{method=\"POST\",route=\"/v1/models\",status=\"201\"} 2",
        "plinth_http_request_seconds_count{method=\"POST\",route=\"/v1/models\"} 2",
        "plinth_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// An orchestrator would restart a server whose liveness check has to wait for a connection like all clients.
#[tokio::test]
async fn liveness_is_checked_beside_metrics_while_clients_hold_all_connections() {
    let installation = Installation::with_sqlite();
    let (server, address) = serve_metrics(&installation, &["--no-worker", "--max-connections", "1"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    let _held = std::net::TcpStream::connect(server.base.trim_start_matches("http://")).unwrap();
    let answer = client.http.get(format!("http://{address}/livez")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.text().await.unwrap()), (200, "alive\n".to_owned()));
}

/// While the database is stopped, the process still serves its own counters, and `NaN` instead of the number of jobs.
#[tokio::test]
async fn metrics_are_served_without_the_database() {
    let mut served = Served::with_postgres_and_s3().await;
    served.server.end();
    let (server, address) = serve_metrics(&served.installation, &["--no-worker"]);
    let client = Client::new(&server.base, &served.client.token);
    client.upload("chair", None).await.data();
    let scrape = async || {
        let answer = client.http.get(format!("http://{address}/metrics")).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (_, before) = scrape().await;
    assert!(before.contains("plinth_queue_renders{status=\"pending\"} 1"), "{before}");
    drop(served.installation.postgres.take());
    let asked = Instant::now();
    let (status, text) = scrape().await;
    assert!(status == 200 && asked.elapsed() < Duration::from_secs(8), "{status} {:?}", asked.elapsed());
    for line in [
        "plinth_database_up 0",
        "plinth_queue_renders{status=\"pending\"} NaN",
        "plinth_workers{state=\"claiming\"} NaN",
        "plinth_http_requests_total{method=\"POST\",route=\"/v1/models\",status=\"201\"} 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// Each counter must exist before its first event. Otherwise, its rate would be unknown until the second event.
#[tokio::test]
async fn counters_of_a_worker_begin_with_zero() {
    let installation = Installation::with_sqlite();
    let (server, address) = serve_metrics(&installation, &[]);
    let (http, begin) = (Client::new(&server.base, "").http, Instant::now());
    let lines = [
        "plinth_worker_claims_total{kind=\"render\"} 0",
        "plinth_worker_claims_total{kind=\"package\"} 0",
        "plinth_worker_failures_total{code=\"timeout\"} 0",
        "plinth_worker_failures_total{code=\"packaging\"} 0",
        "plinth_worker_encoder_failures_total 0",
    ];
    loop {
        let text = http.get(format!("http://{address}/metrics")).send().await.unwrap().text().await.unwrap();
        let missing = lines.iter().find(|line| !text.contains(**line));
        let Some(missing) = missing else { break };
        assert!(begin.elapsed() < Duration::from_mins(1), "{missing}\n{text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn log_lines_identify_requests_and_contain_no_secrets(served: Served) {
    let Served { server, installation, client } = served;
    server.end();
    let before = installation.log().len();
    let server = installation.serve(&["--no-worker", "--log-format", "json", "--log-level", "debug"]);
    let client = Client::new(&server.base, &client.token);
    let made = client.upload("canary", None).await;
    let model = made.text("modelId");
    let link = client.get(&format!("/models/{model}/file-url")).await.text("url");
    assert_eq!(client.http.get(&link).send().await.unwrap().status(), 200);
    let staged = client.post("/models/create-upload-url", json!({})).await;
    let account = client.get("/account").await;
    server.end();
    let log = installation.log()[before..].to_owned();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let id = account.headers["x-request-id"].to_str().unwrap();
    let of_request: Vec<_> =
        lines.iter().filter(|l| l["span"]["request.id"] == id && l["message"] == "answered").collect();
    let [line] = of_request.as_slice() else { panic!("expected one line: {log}") };
    assert_eq!((&line["http.method"], &line["http.route"]), (&json!("GET"), &json!("/v1/account")));
    assert_eq!((&line["http.status"], &line["account.id"]), (&json!(200), &account.data()["id"]));
    assert!(line["duration_ms"].is_u64() && line["token.id"].is_string());
    let signature = link.split("ignature=").nth(1).or_else(|| link.split("sig=").nth(1)).unwrap();
    let secret = client.token.trim_start_matches("plinth_sk_").to_owned();
    for secret in [secret.as_str(), signature, &staged.text("ticket"), EMAIL] {
        assert!(secret.len() > 8 && !log.contains(secret), "{secret}\n{log}");
    }
}

on_both! { log_lines_identify_requests_and_contain_no_secrets stopping_during_a_check_leaves_nothing }

#[tokio::test]
async fn health_reports_a_lost_database() {
    let mut served = Served::with_postgres_and_s3().await;
    let health = served.client.http.get(format!("{}/v1/health", served.server.base)).send().await.unwrap();
    assert_eq!(health.status(), 200);
    let body: Value = serde_json::from_slice(&health.bytes().await.unwrap()).unwrap();
    let well = json!({"status": "ok", "database": "ok", "store": "ok", "version": env!("CARGO_PKG_VERSION")});
    assert_eq!(body, json!({"data": well}));
    drop(served.installation.postgres.take());
    let asked = Instant::now();
    let health = served.client.http.get(format!("{}/api/v1/health", served.server.base)).send().await.unwrap();
    assert_eq!(health.status(), 503);
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    let body: Value = serde_json::from_slice(&health.bytes().await.unwrap()).unwrap();
    assert_eq!((&body["data"]["status"], &body["data"]["database"]), (&json!("degraded"), &json!("unreachable")));
    assert_eq!(served.client.get("/account").await.rejection(), (500, "internal"));
    // A malformed key is rejected without a database query.
    let token = &served.client.token;
    let mistyped = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    for wrong in ["nonsense", "plinth_sk_short", &mistyped] {
        assert_eq!(served.client(wrong).get("/account").await.rejection(), (401, "unauthorized"), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_reports_a_lost_store() {
    let served = Served::with_sqlite();
    let begin = Instant::now();
    let health = async || {
        let asked = served.client.http.get(format!("{}/v1/health", served.server.base)).send().await.unwrap();
        let status = asked.status().as_u16();
        (status, serde_json::from_slice::<Value>(&asked.bytes().await.unwrap()).unwrap())
    };
    let body = |status: &str, store: &str| json!({"data": {"status": status, "database": "ok", "store": store, "version": env!("CARGO_PKG_VERSION")}});
    let objects = served.installation.objects();
    std::fs::rename(&objects, served.installation.folder.path().join("elsewhere")).unwrap();
    std::fs::write(&objects, b"where a folder should be").unwrap();
    // The result of an earlier check of the store is reused for 5 s.
    while health().await == (200, body("ok", "ok")) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the store is checked again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let gone = Instant::now();
    assert_eq!(health().await, (200, body("degraded", "unreachable")));
    std::fs::remove_file(&objects).unwrap();
    std::fs::rename(served.installation.folder.path().join("elsewhere"), &objects).unwrap();
    assert_eq!(health().await, (200, body("degraded", "unreachable")), "the store is checked at most every 5 s");
    while health().await != (200, body("ok", "ok")) {
        assert!(gone.elapsed() < Duration::from_secs(20), "the store is checked again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(gone.elapsed() > Duration::from_secs(4), "not before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_is_alive_but_not_ready_and_answers_until_it_has_drained() {
    let installation = Installation::with_sqlite();
    let server = installation.serve(&["--no-worker", "--drain-seconds", "3"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    let ask = async |path: &str| {
        let answer = client.http.get(format!("{}{path}", server.base)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(ask("/livez").await, (200, "alive\n".to_owned()));
    assert_eq!(ask("/readyz").await, (200, "ready\n".to_owned()));
    server.signal("TERM");
    let begin = Instant::now();
    while ask("/readyz").await.0 == 200 {
        assert!(begin.elapsed() < Duration::from_secs(2), "the server is not ready as soon as it is told to stop");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ask("/readyz").await, (503, "the server is stopping".to_owned()));
    assert_eq!(ask("/livez").await.0, 200);
    assert_eq!(client.get("/account").await.status, 200, "requests are still answered");
    let (_said, code) = server.end();
    assert_eq!(code, Some(143), "a second signal stops at once");
    assert!(!installation.log().contains("/livez"), "health checks are not logged");
}

/// Returns the process that checks a file for a server.
pub(super) async fn check_of(server: &Server) -> String {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < Duration::from_secs(30), "no check was started");
        let path = format!("/proc/{0}/task", server.pid());
        let tasks = std::fs::read_dir(path).unwrap().filter_map(Result::ok);
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        for child in children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            let command = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if command.contains("check-file") {
                return child;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A server that is stopped during the check of an uploaded model responds with a retryable error and stores no files.
async fn stopping_during_a_check_leaves_nothing(served: Served) {
    let served = served.again(|installation| installation.set("PLINTH_SHUTDOWN_SECONDS", "5"));
    let Served { client, mut server, installation } = served;
    for is_stopped_alone in [true, false] {
        // The model is large, so that the server can be stopped before the check ends.
        let form = Form::default().file("file", "sphere.glb", &glb_with_sphere(600));
        let uploading = Client::new(&server.base, &client.token);
        let upload = tokio::spawn(async move { uploading.form("/models", form).await });
        let check = check_of(&server).await;
        let signal = |name: &str| std::process::Command::new("kill").args(["-s", name, &check]).status().unwrap();
        if is_stopped_alone {
            let begin = Instant::now();
            while niceness(&check) != niceness("self") + 5 {
                assert!(begin.elapsed() < Duration::from_secs(10), "checks leave the processors to the server");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // The check hangs until it is killed.
            assert!(signal("STOP").success());
        } else {
            // A service manager sends the signal to all processes.
            assert!(signal("TERM").success());
        }
        let (_said, code) = server.end();
        assert_eq!(code, Some(0));
        let answer = upload.await.unwrap();
        assert_eq!((answer.rejection(), answer.header("retry-after")), ((500, "upload_failed"), "5"));
        assert!(!std::fs::exists(format!("/proc/{check}")).unwrap(), "the check is still running");
        let incoming = std::fs::read_dir(installation.folder.path().join("data/incoming")).unwrap().count();
        assert_eq!(incoming, 0, "received files are deleted");
        assert!(!std::fs::exists(installation.objects().join("models")).unwrap(), "nothing is stored");
        server = installation.serve(&["--no-worker", "--rate-limit-per-minute", "1000000"]);
    }
    let client = Client::new(&server.base, &client.token);
    assert_eq!(client.get("/models").await.body["meta"]["total"], 0);
    assert_eq!(client.upload("chair", None).await.status, 201);
}

#[tokio::test]
async fn a_server_is_not_ready_without_its_database() {
    let mut served = Served::with_postgres_and_s3().await;
    let ask = async |path: &str| {
        served.client.http.get(format!("{}{path}", served.server.base)).send().await.unwrap().status().as_u16()
    };
    assert_eq!((ask("/livez").await, ask("/readyz").await), (200, 200));
    drop(served.installation.postgres.take());
    assert_eq!((ask("/livez").await, ask("/readyz").await), (200, 503));
}

fn migrate_creates_the_tables_and_reports_it(installation: &Installation) {
    let migrate = |flags: &[&str]| {
        let done = installation.program().arg("migrate").args(flags).output().unwrap();
        (done.status.code(), crate::text(&done.stdout) + &crate::text(&done.stderr))
    };
    let (code, printed) = migrate(&["--check"]);
    assert!(code == Some(1) && printed.contains("there are no tables yet; run plinth migrate"), "{printed}");
    let (code, printed) = migrate(&[]);
    assert!(code == Some(0) && printed.starts_with("The tables were created with version "), "{printed}");
    let (code, printed) = migrate(&[]);
    assert!(code == Some(0) && printed.ends_with(" already.\n"), "{printed}");
    assert_eq!(migrate(&["--check"]).0, Some(0));
    installation.serve(&["--no-worker"]).end();
}

#[test]
fn migrate_makes_the_tables_of_sqlite() {
    migrate_creates_the_tables_and_reports_it(&Installation::with_sqlite());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrate_makes_the_tables_of_postgres() {
    migrate_creates_the_tables_and_reports_it(&Installation::with_postgres_and_s3().await);
}
