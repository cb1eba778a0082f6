//! Tests of flags, environment variables and the configuration file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plinth_service::models::Upload;
use plinth_spec::limits;
use plinth_testkit::{Answer, Client, glb_with_triangle};
use serde_json::{Value, json};

use super::backstage::Backstage;
use super::server::{EMAIL, Installation, Served};
use crate::{plinth, text};

#[tokio::test]
async fn a_flag_overrides_a_variable_which_overrides_the_file() {
    let limit = async |installation: &Installation, args: &[&str]| {
        let server = installation.serve(&[&["--no-worker"], args].concat());
        let token = installation.key("admin@plinth.local", &[]);
        let answer = Client::new(&server.base, &token).get("/account").await;
        let limit = answer.headers["ratelimit-limit"].to_str().unwrap().to_owned();
        server.end();
        limit
    };
    let installation = Installation::with_sqlite();
    assert_eq!(limit(&installation, &[]).await, "300");
    std::fs::write(installation.folder.path().join("plinth.toml"), "rate_limit_per_minute = 7\n").unwrap();
    assert_eq!(limit(&installation, &[]).await, "7");
    let installation = installation.set("PLINTH_RATE_LIMIT_PER_MINUTE", "8");
    assert_eq!(limit(&installation, &[]).await, "8");
    assert_eq!(limit(&installation, &["--rate-limit-per-minute", "9"]).await, "9");
}

#[test]
fn a_variable_that_is_not_utf_8_is_an_error() {
    let installation = Installation::with_sqlite();
    for name in ["PLINTH_RATE_LIMIT_PER_MINUTE", "PLINTH_DATABASE_URL_FILE", "PLINTH_CONFIG"] {
        let done = installation.program().arg("migrate").env(name, OsStr::from_bytes(b"8\xff")).output().unwrap();
        let output = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{name}: {output}");
        assert!(output.contains(&format!("{name} must be UTF-8")), "{output}");
    }
}

#[tokio::test]
async fn the_file_lists_credit_packs() {
    let installation = Installation::with_sqlite();
    let pack = "[[products]]\nid = \"small\"\nname = \"Small\"\ncredits = 500\nprice_cents = 900\nprice_reference = \"price_1\"\n";
    std::fs::write(installation.folder.path().join("plinth.toml"), pack).unwrap();
    let server = installation.serve(&["--no-worker"]);
    let client = Client::new(&server.base, &installation.account("ada@example.org"));
    let expected = json!([
        {"id": "small", "name": "Small", "credits": 500, "priceCents": 900, "currency": "usd", "stripePriceId": "price_1"}
    ]);
    assert_eq!(client.get("/products").await.data(), &expected);
}

#[test]
fn the_documentation_has_the_configuration_of_the_code() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let table = text(&plinth(&["settings", "--configuration"]).stdout);
    let missing: Vec<&str> = table.lines().filter(|line| !page.contains(line)).collect();
    assert!(table.lines().count() > 20 && missing.is_empty(), "run `make generate`; missing: {missing:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_have_the_configured_prefix() {
    let served = Served::with_sqlite();
    let before = served.client.token.clone();
    assert!(before.starts_with("plinth_sk_"), "{before}");
    let change = |installation: Installation| {
        installation.set("PLINTH_TOKEN_PREFIX", "acme").set("PLINTH_LEGACY_TOKEN_PREFIX", "plinth")
    };
    let served = served.again(change);
    let current = served.installation.account("bob@example.org");
    let legacy = served.installation.key(EMAIL, &["--legacy-prefix"]);
    assert!(current.starts_with("acme_sk_") && legacy.starts_with("plinth_sk_"), "{current} {legacy}");
    for token in [&before, &current, &legacy] {
        for base in ["/v1", "/api/v1"] {
            let asked = served.client.http.get(format!("{}{base}/account", served.client.base)).bearer_auth(token);
            assert_eq!(Answer::to(asked).await.status, 200, "{base} {token}");
        }
    }
    for token in [current.replace("acme", "plinth"), before.replace("plinth", "acme")] {
        assert_eq!(served.client(&token).get("/account").await.rejection(), (401, "unauthorized"), "{token}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_uploads_a_day_are_free() {
    let served = Served::with_sqlite();
    assert_eq!(limits::FREE_UPLOADS_PER_DAY, 100);
    let backstage = Backstage::of(&served).await;
    for number in 1..=98 {
        let mut file = backstage.service.incoming_model(&backstage.caller, None).await.unwrap();
        file.write(&glb_with_triangle(&number.to_string())).await.unwrap();
        let upload = Upload { file, name: "a.glb".to_owned(), settings: None };
        backstage.service.upload_model(&backstage.caller, upload).await.unwrap();
    }
    for name in ["99", "100"] {
        assert_eq!(served.client.upload(name, None).await.status, 201, "{name}");
    }
    assert_eq!(served.client.upload("101", None).await.rejection(), (429, "upload_limit"));
    assert_eq!(served.client.upload("101", Some(json!({"quality": "share", "length": 1}))).await.status, 201);
}

/// `PLINTH_RENDER_TIMEOUT_SECONDS` limits renders only. The hardware probe of a starting worker has its own time limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_render_may_take_as_long_as_configured() {
    let installation =
        Installation::with_sqlite().set("PLINTH_RENDER_TIMEOUT_SECONDS", "1").set("PLINTH_ADAPTER", "cpu");
    let server = installation.serve(&["--worker-slots", "1", "--rate-limit-per-minute", "1000000"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    installation.admin(&["credits", "grant", EMAIL, "1000"]);
    let made = client.upload("chair", Some(json!({"quality": "4k", "length": 20}))).await;
    let path = format!("/renders/{}", made.text("renderId"));
    let end = Instant::now() + Duration::from_mins(2);
    let render = loop {
        let asked = client.request(reqwest::Method::GET, &path).send().await;
        let render =
            Answer::of(asked.unwrap_or_else(|gone| panic!("{gone}: the server ended: {}", installation.log()))).await;
        if ["done", "error"].contains(&render.text("status").as_str()) {
            break render.data().clone();
        }
        assert!(Instant::now() < end, "it does not end: {render:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((&render["status"], &render["failureCode"]), (&json!("error"), &json!("timeout")), "{render}");
    assert_eq!(client.get("/account").await.data()["paid"], 1100, "refunded");
    assert_eq!(client.http.get(format!("{}/v1/health", client.base)).send().await.unwrap().status(), 200);
    assert_eq!(server.end().1, Some(0), "{}", installation.log());
}

/// Returns the text and the JSON that `plinth doctor` prints, and its exit code.
fn doctor(installation: &Installation, args: &[&str]) -> (String, Value, Option<i32>) {
    let start = |json: &[&str]| {
        let mut program = installation.program();
        program.env("PLINTH_ADAPTER", "cpu").arg("doctor").args(args).args(json);
        program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Both processes run concurrently, because they wait long for a missing database.
    let [plain, json] = [start(&[]), start(&["--json"])].map(|child| child.wait_with_output().unwrap());
    assert_eq!(plain.status.code(), json.status.code());
    let output = [&plain.stdout[..], &plain.stderr, &json.stdout, &json.stderr].map(text).concat();
    assert!(!output.contains("secret"), "{output}");
    (text(&plain.stdout) + &text(&plain.stderr), serde_json::from_slice(&json.stdout).unwrap(), plain.status.code())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_database_and_storage() {
    let line = |report: &str, name: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned());
        line.unwrap_or_else(|| panic!("no line about the {name}: {report}"))
    };
    let installation = Installation::with_sqlite();
    let (report, json, code) = doctor(&installation, &[]);
    assert_eq!((code, &json["ready"]), (Some(0), &json!(true)), "{report}");
    assert!(line(&report, "database").starts_with("SQLite, does not exist yet"), "{report}");
    assert!(line(&report, "storage").starts_with("local files, does not exist yet"), "{report}");
    assert!(!installation.folder.path().join("data").exists(), "doctor creates nothing");
    let served = Served::on(installation);
    let (report, json, code) = doctor(&served.installation, &[]);
    assert_eq!((code, &json["ready"]), (Some(0), &json!(true)), "{report}");
    assert_eq!(
        (line(&report, "database"), line(&report, "storage")),
        ("SQLite, works".into(), "local files, works".into())
    );
    let kinds = (&json["database"], &json["storage"]);
    let works = |kind: &str| json!({"kind": kind, "status": "ok"});
    assert_eq!(kinds, (&works("SQLite"), &works("local files")));
}

#[test]
fn doctor_does_not_take_what_it_cannot_access_for_missing() {
    let (report, json, code) = doctor(&Installation::with_sqlite().with_data_below_a_file(), &[]);
    assert_eq!((code, &json["ready"]), (Some(1), &json!(false)), "{report} {json}");
    for part in ["database", "storage"] {
        assert!(json[part]["error"].is_string() && json[part]["cure"].is_string(), "{report} {json}");
    }
}

#[test]
fn doctor_says_how_to_fix_a_database_that_does_not_respond() {
    let installation = Installation::with_sqlite();
    let (report, json, code) = doctor(&installation, &["--database-url", "postgres://a:secret@127.0.0.1:1/x"]);
    assert_eq!((code, &json["ready"]), (Some(1), &json!(false)), "{report} {json}");
    let database = report.lines().find(|line| line.starts_with("database")).unwrap();
    assert!(database.contains("start it") || database.contains("--database-url"), "{report}");
    assert!(json["database"]["error"].is_string(), "{json}");
}
