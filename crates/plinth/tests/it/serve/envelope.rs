//! Tests of the response envelope, and of malformed requests.

use std::collections::BTreeSet;

use plinth_testkit::{Answer, Client, Form, glb_with_triangle, png, sha256_hex};
use reqwest::Method;
use serde_json::{Value, json};

use super::endpoints::UNKNOWN;
use super::server::{EMAIL, Installation, Served};

#[tokio::test]
async fn responses_have_a_request_id_and_rate_limit_headers() {
    let installation = Installation::with_sqlite();
    let server = installation.serve(&["--no-worker", "--rate-limit-per-minute", "3"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    let mut ids = BTreeSet::new();
    for (left, status) in [("2", 200), ("1", 404), ("0", 400), ("0", 429)] {
        let answer = match status {
            404 => client.get(&format!("/models/{UNKNOWN}")).await,
            400 => client.get("/models?limit=0").await,
            _ => client.get("/account").await,
        };
        assert_eq!(
            (answer.status, answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")),
            (status, "3", left)
        );
        let (reset, wait) = (answer.header("ratelimit-reset"), answer.header("retry-after"));
        assert!((1..=60).contains(&reset.parse::<u32>().unwrap()), "{answer:?}");
        assert_eq!(wait, if status == 429 { reset } else { "" });
        ids.insert(answer.header("x-request-id").to_owned());
    }
    for path in ["/health", "/openapi.json", "/nothing"] {
        let answer = Answer::to(client.http.get(format!("{}/v1{path}", client.base))).await;
        assert!(answer.status != 429 && answer.header("ratelimit-limit").is_empty(), "{path} is not counted");
        ids.insert(answer.header("x-request-id").to_owned());
    }
    assert!(ids.len() == 7 && ids.iter().all(|id| !id.is_empty()), "{ids:?}");
}

#[tokio::test]
async fn malformed_requests_get_an_error_in_the_envelope() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let raw = async |path: &str, kind: &str, body: &'static str| {
        Answer::to(client.request(Method::POST, path).header("content-type", kind).body(body)).await
    };
    for (kind, body) in [
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", "null"),
        ("application/json", "{\"modelId\": 5}"),
        ("application/json", "{\"modelId\": \"\\ud800\"}"),
        ("application/json; charset=utf-16", "\u{feff}{}"),
        ("text/plain", "{}"),
        ("application/xml", "<a/>"),
        ("application/x-www-form-urlencoded", "modelId=x"),
        ("", "{}"),
    ] {
        assert_eq!(raw("/renders", kind, body).await.rejection(), (400, "bad_request"), "{body}");
    }
    let deep: &'static str = "[".repeat(100_000).leak();
    assert_eq!(raw("/renders", "application/json", deep).await.rejection(), (400, "bad_request"));
    assert_eq!(raw("/renders", "application/json", "").await.rejection(), (400, "model_id_required"));
    assert_eq!(raw("/models", "application/json", "{}").await.rejection(), (400, "bad_request"));
    assert_eq!(raw("/models", "multipart/form-data; boundary=x", "nonsense").await.rejection(), (400, "upload_failed"));
    assert_eq!(raw("/models", "multipart/form-data", "--x--").await.rejection(), (400, "upload_failed"));
    assert_eq!(raw("/overlays", "text/plain", "").await.rejection(), (400, "bad_request"));
    for path in ["/models", "/overlays", "/assets/textures", "/assets/envs"] {
        let without_type = |body: &'static str| Answer::to(client.request(Method::POST, path).body(body));
        assert_eq!(without_type("").await.rejection(), (400, "no_file"), "{path}");
        assert_eq!(without_type("x").await.rejection(), (400, "bad_request"), "{path}");
    }
    assert_eq!(raw("/assets/envs", "multipart/form-data; boundary=x", "--x").await.rejection(), (400, "bad_request"));
}

/// A body must be a JSON object. An array of the values of its members is rejected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_not_a_valid_body() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let overlay = client.form("/overlays", Form::default().file("file", "a.png", &png(1))).await;
    assert_eq!(overlay.status, 200);
    let ticket = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(ticket.text("url")).body(glb_with_triangle("staged")).send().await.unwrap();
    assert!(put.status().is_success());
    let settings = json!({"quality": "share", "length": 1});
    let order = json!({"modelId": model, "renderSettings": settings});
    let patched = format!("/models/{model}");
    let bodies = [
        (Method::POST, "/models/ingest", json!(["http://127.0.0.1:1/a.glb", settings])),
        (Method::POST, "/models/create-upload-url", json!([600])),
        (Method::POST, "/models/create-upload-url", json!([])),
        (Method::POST, "/models/finalize", json!([ticket.text("ticket"), "a.glb", settings])),
        (Method::POST, "/models/check-hash", json!([sha256_hex(&glb_with_triangle("chair"))])),
        (Method::PATCH, patched.as_str(), json!(["A title", "A code", ["tag"]])),
        (Method::POST, "/renders", json!([model, settings])),
        (Method::POST, "/renders/batch", json!([[order]])),
        (Method::POST, "/renders/batch", json!({"renders": [[model, settings]]})),
        (Method::POST, "/overlays/resolve", json!([sha256_hex(&png(1)), "background"])),
        (Method::POST, "/quote", json!([[{}]])),
        (Method::POST, "/quote", json!([[settings]])),
    ];
    let before = client.get(&patched).await;
    let mut wrong = Vec::new();
    for (method, path, body) in bodies {
        let answer = client.send(method, path, body.clone()).await;
        if (answer.status, &answer.body["error"]["code"]) != (400, &json!("bad_request")) {
            wrong.push(format!("{path} {body}: {} {}", answer.status, answer.body));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(client.get(&patched).await.data(), before.data());
    assert_eq!(client.get("/models?status=any").await.body["meta"]["total"], 1);
    assert_eq!(client.get("/account").await.data()["paid"], 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_in_a_form_must_be_text() {
    let served = Served::with_sqlite();
    let form = Form::default().file("file", "a.glb", &glb_with_triangle("a"));
    let mut body = form.text("renderSettings", "{\"animation\": \"@@\"}").body();
    let at = body.windows(2).rposition(|pair| pair == b"@@").unwrap();
    // Invalid UTF-8 is rejected, too.
    body[at..at + 2].fill(0xff);
    let request = served.client.request(Method::POST, "/models").header("content-type", Form::content_type());
    assert_eq!(Answer::to(request.body(body)).await.rejection(), (400, "invalid_settings"));
    assert_eq!(served.client.get("/models").await.body["meta"]["total"], 0, "no model was created");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_openapi_document_is_public_and_equals_the_printed_one() {
    let served = Served::with_sqlite();
    let printed: Value = serde_json::from_slice(&crate::plinth(&["openapi"]).stdout).unwrap();
    assert_eq!(printed["openapi"], "3.1.0");
    for base in ["/v1", "/api/v1"] {
        let answer = Answer::to(served.client.http.get(format!("{}{base}/openapi.json", served.client.base))).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{base}");
        assert_eq!(answer.body, printed, "{base}");
    }
}
