//! Tests that the OpenAPI document declares the headers of responses.

use plinth_testkit::{Client, header};
use reqwest::{Method, Response};
use serde_json::Value;

use super::server::{EMAIL, Installation, Served};

/// Headers that HTTP itself needs. OpenAPI documents do not declare them.
const OF_HTTP: [&str; 4] = ["connection", "content-length", "content-type", "date"];

/// Asserts that the document declares a response and all its headers. `path` is that of the operation.
fn assert_declared(document: &Value, path: &str, response: &Response) {
    let status = response.status().as_u16().to_string();
    let declared = &document["paths"][path]["get"]["responses"][&status];
    assert!(declared.is_object(), "{path}: {status}");
    for name in response.headers().keys().filter(|name| !OF_HTTP.contains(&name.as_str())) {
        assert!(declared["headers"].get(name.as_str()).is_some(), "{path} {status}: {name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_declares_the_headers_of_responses() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let document = client.get("/openapi.json").await.body;
    let render = served.finished().await;
    let model = client.get(&format!("/renders/{render}")).await.text("modelId");
    let video = client.get_with(&format!("/renders/{render}/video"), "accept", "*/*").await;
    let etag = header(video.headers(), "etag");
    for (path, name, value, status) in [
        ("/health", "accept", "*/*", 200),
        ("/account", "accept", "*/*", 200),
        // The request has two keys.
        ("/account", "authorization", "Bearer other", 401),
        ("/renders", "accept", "*/*", 200),
        ("/renders/{id}", "accept", "*/*", 200),
        ("/renders/{id}/bundle", "accept", "*/*", 200),
        ("/renders/{id}/dataset", "accept", "*/*", 404),
        ("/renders/{id}/poster", "accept", "*/*", 200),
        ("/renders/{id}/video", "range", "bytes=0-1", 206),
        ("/renders/{id}/video", "if-none-match", etag, 304),
        ("/renders/{id}/video", "if-match", "\"other\"", 412),
        ("/renders/{id}/video", "range", "bytes=999999-", 416),
        ("/models/{modelId}/file", "accept", "*/*", 200),
        ("/models/{modelId}/file", "range", "bytes=0-1", 206),
        ("/models/{modelId}/file", "if-none-match", "*", 304),
    ] {
        let response = client.get_with(&path.replace("{id}", &render).replace("{modelId}", &model), name, value).await;
        assert_eq!(response.status(), status, "{path} {name}: {value}");
        assert_declared(&document, path, &response);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_declares_the_headers_of_rate_limited_responses() {
    let installation = Installation::with_sqlite();
    let server = installation.serve(&["--no-worker", "--rate-limit-per-minute", "1"]);
    let client = Client::new(&server.base, &installation.account(EMAIL));
    let document = client.get("/openapi.json").await.body;
    for status in [200, 429] {
        let response = client.request(Method::GET, "/account").send().await.unwrap();
        assert_eq!(response.status(), status);
        assert_declared(&document, "/account", &response);
    }
}
