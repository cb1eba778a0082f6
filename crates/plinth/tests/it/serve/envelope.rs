//! What every answer has, and what a malformed request gets.

use std::collections::BTreeSet;

use plinth_testkit::{Answer, Client};
use reqwest::Method;

use super::endpoints::UNKNOWN;
use super::server::{EMAIL, Place, Served};

#[tokio::test]
async fn answers_name_the_request_and_what_is_left_of_the_limit() {
    let place = Place::alone();
    let server = place.serve(&["--no-worker", "--rate-limit-per-minute", "3"]);
    let client = Client::new(&server.base, &place.account(EMAIL));
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
async fn what_is_malformed_is_refused_in_the_envelope() {
    let served = Served::alone();
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
        assert_eq!(raw("/renders", kind, body).await.refusal(), (400, "bad_request"), "{body}");
    }
    let deep: &'static str = "[".repeat(100_000).leak();
    assert_eq!(raw("/renders", "application/json", deep).await.refusal(), (400, "bad_request"));
    assert_eq!(raw("/renders", "application/json", "").await.refusal(), (400, "model_id_required"));
    assert_eq!(raw("/models", "application/json", "{}").await.refusal(), (400, "upload_failed"));
    assert_eq!(raw("/models", "multipart/form-data; boundary=x", "nonsense").await.refusal(), (400, "upload_failed"));
    assert_eq!(raw("/models", "multipart/form-data", "--x--").await.refusal(), (400, "upload_failed"));
    assert_eq!(raw("/overlays", "text/plain", "").await.refusal(), (400, "bad_request"));
    assert_eq!(raw("/assets/envs", "multipart/form-data; boundary=x", "--x").await.refusal(), (400, "bad_request"));
}
