//! What holds for all endpoints: tokens, scopes, limits, envelopes, headers.

use plinth_spec::wire::Scope;
use plinth_testkit::on_both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{self, Answer, Server};

/// Method and path of every guarded endpoint, from the document itself.
fn endpoints() -> Vec<(Method, String, String)> {
    let document = serde_json::to_value(plinth_api::document()).unwrap();
    let mut out = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let (Ok(method), Some(id)) = (method.to_uppercase().parse(), operation["operationId"].as_str()) {
                let path = path.replace("{path}", "master.m3u8").replace("{modelId}", "k3Jd92LmQx7a");
                out.push((method, path.replace("{id}", "k3Jd92LmQx7a"), id.to_owned()));
            }
        }
    }
    out.retain(|(_, _, id)| id != "get_health");
    assert!(out.len() > 30, "{}", out.len());
    out
}

async fn every_endpoint_refuses_missing_and_wrong_tokens(address: &str) {
    let server = Server::start(address).await;
    for (method, path, id) in endpoints() {
        for token in [None, Some("nonsense"), Some("plinth_sk_0000000000000000000000000000000000000")] {
            let mut request = server.http.request(method.clone(), format!("{}/v1{path}", server.base));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let answer = Answer::of(request.send().await.unwrap()).await;
            assert_eq!(answer.refusal(), (401, "unauthorized"), "{id}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
    }
}

async fn every_changing_endpoint_needs_the_scope_render(address: &str) {
    let server = Server::start(address).await;
    let account = server.service.find_account(server::EMAIL).await.unwrap().id;
    let reader = server::key(&server.service, account, &[Scope::Read]).await;
    let reading = ["quote", "check_hash", "resolve_overlay"];
    for (method, path, id) in endpoints() {
        let request = server.http.request(method.clone(), format!("{}/v1{path}", server.base)).bearer_auth(&reader);
        let answer = Answer::of(request.send().await.unwrap()).await;
        let is_refused = answer.status == 403;
        let is_reading = method == Method::GET || reading.contains(&id.as_str());
        assert_eq!(is_refused, !is_reading, "{id}");
        if is_refused {
            assert_eq!(answer.refusal(), (403, "insufficient_scope"));
        }
    }
}

async fn strangers_learn_nothing_of_another_workspaces_things(address: &str) {
    let server = Server::start(address).await;
    let made = server.upload("chair", None).await;
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    let stranger = server::account(&server.service, "eve@example.org", &[Scope::Read, Scope::Render]).await;
    for (method, path, id) in endpoints() {
        if !path.contains("k3Jd92LmQx7a") || path.starts_with("/overlays") || path.starts_with("/assets") {
            continue;
        }
        let real = if path.starts_with("/models") { &model } else { &render };
        let ask = async |path: String| {
            let request = server.http.request(method.clone(), format!("{}/v1{path}", server.base));
            let request =
                request.bearer_auth(&stranger).header("content-type", "application/json").body("{\"title\":\"x\"}");
            Answer::of(request.send().await.unwrap()).await
        };
        let (unknown, foreign) = (ask(path.clone()).await, ask(path.replace("k3Jd92LmQx7a", real)).await);
        assert_eq!(unknown.status, 404, "{id}");
        assert_eq!((foreign.status, foreign.body), (unknown.status, unknown.body), "{id}");
    }
}

async fn answers_name_the_request_and_what_is_left_of_the_limit(address: &str) {
    let server = Server::start_with(address, |options| options.requests_per_minute = 3).await;
    let mut ids = std::collections::BTreeSet::new();
    for left in ["2", "1", "0"] {
        let answer = server.get("/account").await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            (&answer.headers["ratelimit-limit"], &answer.headers["ratelimit-remaining"]),
            (&"3".parse().unwrap(), &left.parse().unwrap())
        );
        ids.insert(answer.headers["x-request-id"].to_str().unwrap().to_owned());
    }
    let over = server.get("/account").await;
    assert_eq!(over.refusal(), (429, "rate_limited"));
    let wait: u32 = over.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(over.headers["ratelimit-remaining"], "0");
    ids.insert(over.headers["x-request-id"].to_str().unwrap().to_owned());
    assert_eq!(ids.len(), 4);
    let open = server.http.get(format!("{}/v1/health", server.base)).send().await.unwrap();
    assert_eq!(open.status(), 200, "health is not counted");
}

async fn what_is_malformed_is_refused_in_the_envelope(address: &str) {
    let server = Server::start(address).await;
    assert_eq!(server.get("/nothing").await.refusal(), (404, "not_found"));
    assert_eq!(server.send(Method::PUT, "/models", json!({})).await.refusal(), (405, "method_not_allowed"));
    let raw = async |path: &str, kind: &str, body: &'static str| {
        let request = server.request(Method::POST, path).header("content-type", kind).body(body);
        Answer::of(request.send().await.unwrap()).await
    };
    for (kind, body) in [
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", "{\"modelId\": 5}"),
        ("text/plain", "{}"),
        ("application/xml", "<a/>"),
    ] {
        assert_eq!(raw("/renders", kind, body).await.refusal(), (400, "bad_request"), "{body}");
    }
    assert_eq!(raw("/renders", "application/json", "").await.refusal(), (400, "model_id_required"));
    assert_eq!(raw("/models", "application/json", "{}").await.refusal(), (400, "upload_failed"));
    assert_eq!(raw("/models", "multipart/form-data; boundary=x", "nonsense").await.refusal(), (400, "upload_failed"));
    assert_eq!(raw("/overlays", "text/plain", "").await.refusal(), (400, "bad_request"));
    for query in ["limit=0", "limit=101", "limit=x", "offset=-1", "cursor=x", "updatedSince=x", "status=x"] {
        assert_eq!(server.get(&format!("/renders?{query}")).await.refusal(), (400, "bad_request"), "{query}");
        assert_eq!(server.get(&format!("/models?{query}")).await.refusal(), (400, "bad_request"), "{query}");
    }
    assert_eq!(server.get("/models/x%2f..%2fy").await.refusal(), (404, "model_not_found"));
}

async fn no_answer_grants_browsers_access(address: &str) {
    let server = Server::start(address).await;
    let request = server.request(Method::OPTIONS, "/models").header("origin", "https://evil.example");
    let answer = request.header("access-control-request-method", "POST").send().await.unwrap();
    assert!(!answer.headers().keys().any(|name| name.as_str().starts_with("access-control")));
}

async fn health_and_the_legacy_base_answer(address: &str) {
    let server = Server::start(address).await;
    let health = Answer::of(server.http.get(format!("{}/v1/health", server.base)).send().await.unwrap()).await;
    assert_eq!(health.data()["status"], "ok");
    assert_eq!(health.data()["database"], "ok");
    let legacy = server.http.get(format!("{}/api/v1/account", server.base)).bearer_auth(&server.token);
    let legacy = Answer::of(legacy.send().await.unwrap()).await;
    assert_eq!(legacy.body, server.get("/account").await.body);
    assert_eq!(legacy.data()["credits"], 100);
    server.service.db().close().await;
    let down = Answer::of(server.http.get(format!("{}/v1/health", server.base)).send().await.unwrap()).await;
    assert_eq!((down.status.as_u16(), &down.body["data"]["status"]), (503, &Value::from("degraded")));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        every_endpoint_refuses_missing_and_wrong_tokens
        every_changing_endpoint_needs_the_scope_render
        strangers_learn_nothing_of_another_workspaces_things
        answers_name_the_request_and_what_is_left_of_the_limit
        what_is_malformed_is_refused_in_the_envelope
        no_answer_grants_browsers_access
        health_and_the_legacy_base_answer
    }
}
