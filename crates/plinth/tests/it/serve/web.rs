//! Tests of HTTP details: unsupported methods and paths, CORS, unusual headers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plinth_testkit::Answer;
use reqwest::Method;
use serde_json::{Value, json};

use super::endpoints::{Endpoint, endpoints};
use super::raw::{get, send, trickle};
use super::server::Served;

const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];

#[tokio::test]
async fn every_path_accepts_only_its_methods() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let mut taken: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Endpoint { method, path, .. } in endpoints(client).await {
        let methods = taken.entry(path).or_default();
        if method == Method::GET {
            methods.insert("HEAD".to_owned());
        }
        methods.insert(method.to_string());
    }
    for (path, taken) in &taken {
        for method in METHODS {
            let answer = client.send(method.clone(), path, json!({})).await;
            let is_taken = taken.contains(method.as_str());
            assert_eq!(answer.status == 405, !is_taken, "{method} {path}");
            if !is_taken {
                if method != Method::HEAD {
                    assert_eq!(answer.rejection(), (405, "method_not_allowed"));
                }
                let allowed: BTreeSet<String> =
                    answer.header("allow").split(',').map(|m| m.trim().to_owned()).collect();
                assert_eq!(allowed, *taken, "{method} {path}");
            }
        }
        if taken.contains("GET") {
            let (head, get) = (client.request(Method::HEAD, path), client.request(Method::GET, path));
            let (head, get) = (Answer::to(head).await, Answer::to(get).await);
            assert_eq!((head.status, &head.body), (get.status, &Value::Null), "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        }
    }
}

#[tokio::test]
async fn unknown_paths_get_an_error_in_the_envelope() {
    let served = Served::with_sqlite();
    let (base, token) = (&served.client.base, &served.client.token);
    for path in [
        "/v1",
        "/v1/",
        "/v1//models",
        "/v1/models/",
        "/v1/nothing",
        "/v1/renders/x/y/z",
        "/v1/renders/%ff",
        "/v1/models/%ff/file",
        "/v1/../v1/models",
        "/v1/%6dodels%00",
    ] {
        for key in [token.as_str(), "nonsense"] {
            let answer = get(base, key, path, "");
            let is_guarded = path.contains("%ff") && key == "nonsense";
            let expected = if is_guarded { (401, "unauthorized") } else { (404, "not_found") };
            assert_eq!((answer.status, answer.code().as_str()), expected, "{path}: {answer:?}");
            assert!(answer.head.contains("content-type: application/json"), "{path}: {answer:?}");
        }
    }
    // The web UI serves all other paths.
    for path in ["//v1/models", "/V1/models", "/v2/models", "/api/models"] {
        let answer = get(base, token, path, "");
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
        assert!(answer.head.contains("content-type: text/html"), "{path}: {answer:?}");
    }
    // The signature of a link is checked before its file is looked up.
    for path in ["/_o/models/x.glb", "/_o/..%2fplinth.db?exp=9999999999&type=a&disp=b&sig=00", "/_o/%ff"] {
        let answer = get(base, token, path, "");
        assert!([400, 403, 404].contains(&answer.status) && !answer.code().is_empty(), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn there_are_no_cors_headers() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let grants = |answer: &Answer| answer.headers.keys().any(|name| name.as_str().starts_with("access-control"));
    for base in ["/v1", "/api/v1"] {
        for Endpoint { method, path, id } in endpoints(client).await {
            let address = format!("{}{base}{path}", client.base);
            let with_origin = |method: Method| {
                client
                    .http
                    .request(method, &address)
                    .bearer_auth(&client.token)
                    .header("origin", "https://evil.example")
            };
            let asked = with_origin(Method::OPTIONS).header("access-control-request-method", method.as_str());
            let asked = Answer::to(asked.header("access-control-request-headers", "authorization")).await;
            assert!(asked.status == 405 && !grants(&asked), "{id}: {asked:?}");
            let answer = Answer::to(with_origin(method)).await;
            assert!(answer.status < 500 && !grants(&answer), "{id}: {answer:?}");
        }
    }
    let request =
        client.http.get(format!("{}/v1/account", client.base)).header("cookie", format!("token={}", client.token));
    assert_eq!(Answer::to(request).await.rejection(), (401, "unauthorized"), "a cookie does not replace a key");
    let legacy = client.http.get(format!("{}/api/v1/account", client.base)).bearer_auth(&client.token);
    assert_eq!(Answer::to(legacy).await.body, client.get("/account").await.body);
}

#[tokio::test]
async fn malformed_headers_are_rejected_without_side_effects() {
    let served = Served::with_sqlite();
    let (base, token) = (&served.client.base, &served.client.token);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let line = |name: &str, length: usize| format!("{name}: {}\r\n", "x".repeat(length));
    let account = |more: &str| get(base, token, "/v1/account", more);
    assert_eq!(account("").status, 200);
    assert_eq!(account("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").status, 200, "a body on GET");
    assert_eq!(account(&line("X-Long", 8 << 10)).status, 200);
    assert_eq!(
        account("Accept: image/png\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\n").status,
        200,
        "the response is not a file"
    );
    let twice = account(&bearer);
    assert_eq!((twice.status, twice.code().as_str()), (401, "unauthorized"), "two keys");
    assert_eq!(account(&bearer.replace("Bearer", "Basic")).status, 401);
    let keys = "Idempotency-Key: a\r\nIdempotency-Key: b\r\n";
    assert_eq!(account(keys).status, 200);
    let post = |head: &str, body: &str| {
        let head = format!("POST /v1/quote HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{bearer}{head}\r\n{body}");
        send(base, head.as_bytes())
    };
    let json = "Content-Type: application/json\r\n";
    assert_eq!(post(&format!("{json}Content-Length: 2\r\n"), "{}").code(), "renders_required");
    for (why, answer, statuses) in [
        ("a very long header", account(&line("X-Long", 500 << 10)), &[431][..]),
        ("very many headers", account(&line("X-Many", 1).repeat(1000)), &[431]),
        ("a very long path", get(base, token, &format!("/v1/models/{}", "x".repeat(500 << 10)), ""), &[414, 431]),
        (
            "two Content-Length headers",
            post(&format!("{json}Content-Length: 2\r\nContent-Length: 3\r\n"), "{}"),
            &[400],
        ),
        ("an invalid Content-Length", post(&format!("{json}Content-Length: -1\r\n"), "{}"), &[400]),
        ("invalid chunks", post(&format!("{json}Transfer-Encoding: chunked\r\n"), "zz\r\n"), &[400]),
        ("another coding", post(&format!("{json}Transfer-Encoding: gzip\r\n"), "{}"), &[400]),
        ("a line break in a header", account("X: a\r\n b\r\n"), &[400]),
        ("NUL in a header", account("X: a\0b\r\n"), &[400]),
        ("no HTTP", send(base, b"nonsense\r\n\r\n"), &[400]),
        ("HTTP/2 without negotiation", send(base, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &[0, 400, 505]),
    ] {
        assert!(statuses.contains(&answer.status), "{why}: {answer:?}");
    }
    // If a request has both a length and chunked encoding, the data after its chunks must not be processed as a second
    // request.
    let smuggled = format!(
        "{json}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/account HTTP/1.1\r\nHost: x\r\n{bearer}"
    );
    let answer = post(&smuggled, "");
    assert_eq!(
        format!("{}{}", answer.head, answer.body).to_ascii_lowercase().matches("http/1.1 ").count(),
        1,
        "{answer:?}"
    );
    assert_eq!(account("").status, 200, "the server still works");
    let known: Vec<&str> = account("").head.leak().lines().collect();
    assert!(!known.iter().any(|line| line.starts_with("server:") || line.starts_with("x-powered-by:")), "{known:?}");
}

/// A client without a key that sends its body slowly can keep its connection open only for seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_is_aborted() {
    const MOST: Duration = Duration::from_secs(40);
    let served = Served::with_sqlite();
    let head = |path: &str, kind: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: 10000\r\n\r\n")
    };
    let asked = [
        head("/sign-in", "application/x-www-form-urlencoded"),
        head("/v1/models", "multipart/form-data; boundary=x"),
        head("/v1/quote", "application/json"),
        head("/nowhere", "text/plain"),
    ];
    let asked = asked.map(|head| {
        let base = served.server.base.clone();
        tokio::task::spawn_blocking(move || trickle(&base, &head, MOST))
    });
    for took in asked {
        let took = took.await.unwrap();
        assert!(took < MOST / 2, "{took:?}");
    }
}
