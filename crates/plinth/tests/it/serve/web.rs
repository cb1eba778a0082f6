//! The web as it is: other methods, other paths, odd heads, odd texts.

use std::collections::{BTreeMap, BTreeSet};

use plinth_testkit::{Answer, Form, glb_with_triangle, png};
use reqwest::Method;
use serde_json::{Value, json};

use super::endpoints::{Endpoint, UNKNOWN, endpoints};
use super::on_both;
use super::raw::{get, send};
use super::server::{Place, Served};

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
async fn every_address_takes_its_methods_and_no_other() {
    let served = Served::alone();
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
                    assert_eq!(answer.refusal(), (405, "method_not_allowed"));
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
async fn addresses_that_lead_nowhere_say_so_in_the_envelope() {
    let served = Served::alone();
    let (base, token) = (&served.client.base, &served.client.token);
    for path in [
        "/v1",
        "/v1/",
        "/v1//models",
        "//v1/models",
        "/V1/models",
        "/v1/models/",
        "/v2/models",
        "/api/models",
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
    // Signed links: what was not signed is not looked for.
    for path in ["/_o/", "/_o/models/x.glb", "/_o/..%2fplinth.db?exp=9999999999&type=a&disp=b&sig=00", "/_o/%ff"] {
        let answer = get(base, token, path, "");
        assert!([400, 403, 404].contains(&answer.status) && !answer.code().is_empty(), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn nothing_is_granted_to_browsers() {
    let served = Served::alone();
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
    assert_eq!(Answer::to(request).await.refusal(), (401, "unauthorized"), "a cookie is no key");
    let legacy = client.http.get(format!("{}/api/v1/account", client.base)).bearer_auth(&client.token);
    assert_eq!(Answer::to(legacy).await.body, client.get("/account").await.body);
}

#[tokio::test]
async fn odd_heads_are_refused_and_hurt_nobody() {
    let served = Served::alone();
    let (base, token) = (&served.client.base, &served.client.token);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let line = |name: &str, length: usize| format!("{name}: {}\r\n", "x".repeat(length));
    let account = |more: &str| get(base, token, "/v1/account", more);
    assert_eq!(account("").status, 200);
    assert_eq!(account("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").status, 200, "a body on GET");
    assert_eq!(account(&line("X-Long", 8 << 10)).status, 200);
    assert_eq!(account("Accept: image/png\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\n").status, 200, "it is no file");
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
        ("a line without end", account(&line("X-Long", 500 << 10)), &[431][..]),
        ("very many lines", account(&line("X-Many", 1).repeat(1000)), &[431]),
        ("a path without end", get(base, token, &format!("/v1/models/{}", "x".repeat(500 << 10)), ""), &[414, 431]),
        ("two lengths", post(&format!("{json}Content-Length: 2\r\nContent-Length: 3\r\n"), "{}"), &[400]),
        ("a length that is none", post(&format!("{json}Content-Length: -1\r\n"), "{}"), &[400]),
        ("chunks that are none", post(&format!("{json}Transfer-Encoding: chunked\r\n"), "zz\r\n"), &[400]),
        ("another coding", post(&format!("{json}Transfer-Encoding: gzip\r\n"), "{}"), &[400]),
        ("a line break in a header", account("X: a\r\n b\r\n"), &[400]),
        ("NUL in a header", account("X: a\0b\r\n"), &[400]),
        ("no HTTP", send(base, b"nonsense\r\n\r\n"), &[400]),
        ("HTTP/2 without asking", send(base, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &[0, 400, 505]),
    ] {
        assert!(statuses.contains(&answer.status), "{why}: {answer:?}");
    }
    // Both a length and chunks: what follows the chunks is no second request.
    let smuggled = format!(
        "{json}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/account HTTP/1.1\r\nHost: x\r\n{bearer}"
    );
    let answer = post(&smuggled, "");
    assert_eq!(
        format!("{}{}", answer.head, answer.body).to_ascii_lowercase().matches("http/1.1 ").count(),
        1,
        "{answer:?}"
    );
    assert_eq!(account("").status, 200, "it is still there");
    let known: Vec<&str> = account("").head.leak().lines().collect();
    assert!(!known.iter().any(|line| line.starts_with("server:") || line.starts_with("x-powered-by:")), "{known:?}");
}

/// Texts that databases, headers or files do not take as they are.
const ODD: [&str; 8] = [
    "a\0b",
    "a\u{1f}b",
    "a\r\nSet-Cookie: x=1",
    "\u{202e}gpj.exe",
    "😀",
    "'; DROP TABLE models; --",
    "\u{feff}",
    "%s%n",
];

async fn odd_texts_in_addresses_are_refused_or_found_nowhere(served: Served) {
    let client = &served.client;
    for text in ODD {
        let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for query in [
            "models?tags=",
            "models?status=",
            "models?cursor=",
            "models?updatedSince=",
            "renders?model=",
            "renders?status=",
            "purchases?limit=",
            "overlays?layer=",
        ] {
            let answer = client.get(&format!("/{query}{encoded}")).await;
            assert!([200, 400].contains(&answer.status), "{query}{encoded}: {answer:?}");
        }
        for path in ["models/", "renders/", "renders/x/hls/", "overlays/", "assets/envs/"] {
            let answer = client.send(Method::DELETE, &format!("/{path}{encoded}"), json!({})).await;
            assert!([404, 405].contains(&answer.status), "{path}{encoded}: {answer:?}");
        }
    }
}

async fn odd_texts_in_bodies_are_refused_or_kept(served: Served) {
    let client = &served.client;
    served.place.admin(&["credits", "grant", super::server::EMAIL, "10000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let path = format!("/models/{model}");
    for text in ODD {
        let kept = client.send(Method::PATCH, &path, json!({"title": text, "tags": [text]})).await;
        if kept.status == 200 {
            assert_eq!(client.get(&path).await.data()["title"], text.trim());
        } else {
            assert_eq!(kept.refusal(), (400, "bad_request"), "{text:?}");
        }
        for (path, body) in [
            ("/renders", json!({"modelId": text})),
            (
                "/renders",
                json!({"modelId": model, "renderSettings": {"animation": text, "bgImageId": text, "envId": text}}),
            ),
            (
                "/renders",
                json!({"modelId": model, "renderSettings": {"hiddenMeshNames": [text], "materialEdits": {text: {}}}}),
            ),
            ("/renders", json!({"modelId": model, "renderSettings": {text: 1}})),
            ("/models/finalize", json!({"ticket": text, "filename": text})),
            ("/models/finalize", json!({"ticket": "x".repeat(40), "filename": format!("{text}.glb")})),
            ("/models/ingest", json!({"url": text})),
            ("/models/check-hash", json!({"sha256": text})),
            ("/overlays/resolve", json!({"sha256": text, "layer": text})),
            ("/quote", json!({"renders": [{"quality": text}]})),
        ] {
            let answer = client.post(path, body.clone()).await;
            assert!([201, 400, 404].contains(&answer.status), "{path} {body}: {answer:?}");
        }
        let form = Form::default().file("file", "a.png", &png(7)).text("name", text);
        for path in ["/overlays", "/assets/textures"] {
            let answer = client.form(path, form.clone()).await;
            assert!([200, 201, 400].contains(&answer.status), "{path} {text:?}: {answer:?}");
        }
    }
}

/// Names of files come back as they are, without a line or parameter of their own.
async fn odd_names_of_files_stay_names(served: Served) {
    let client = &served.client;
    let long = "x".repeat(4096);
    for name in ["a\tb", "%00", "..\\..\\x", "../../x", "'; x=y", "\u{202e}x", "😀 ü", ";filename=y", &long] {
        let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
        let made = client.form("/models", form).await;
        if made.status != 201 {
            assert_eq!(made.refusal().0, 400, "{name}");
            continue;
        }
        let path = format!("/models/{}/file", made.text("modelId"));
        let file = client.request(Method::GET, &path).send().await.unwrap();
        let said = file.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert!(said.starts_with("attachment; filename=\"") && said.matches('"').count() == 2, "{said}");
        assert!(said.matches(';').count() <= 2 && !said.contains("/x") && !said.contains("\\x"), "{said}");
        let link = client.get(&format!("{path}-url")).await.text("url");
        let by_link = client.http.get(link).send().await.unwrap();
        assert_eq!(
            (by_link.status().as_u16(), by_link.headers()["content-disposition"].to_str().unwrap()),
            (200, said.as_str())
        );
    }
}

/// The rest of the path is a name of this packaging, or nothing.
async fn streaming_files_are_those_of_the_packaging(served: Served) {
    let id = served.finished().await;
    let eve = served.client(&served.place.account("eve@example.org"));
    let other = served.finished_of(&eve).await;
    let (base, token) = (served.client.base.as_str(), served.client.token.as_str());
    for name in super::backstage::PACKAGING {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{name}"), "");
        assert_eq!((answer.status, answer.body.as_str()), (200, "0123456789"), "{name}");
        assert_eq!(get(base, &eve.token, &format!("/v1/renders/{id}/hls/{name}"), "").code(), "render_not_found");
    }
    for path in [
        "",
        ".",
        "..",
        "../video",
        "../1/video.mp4",
        "%2e%2e/video.mp4",
        "..%2fvideo.mp4",
        "..%2f..%2fvideo.mp4",
        "%2e%2e%2f%2e%2e%2fposter.png",
        "%252e%252e/video.mp4",
        "..\\video.mp4",
        "..%5cvideo.mp4",
        "540p/../master.m3u8",
        "540p/./0.m4s",
        "540p//0.m4s",
        "/master.m3u8",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "master.m3u8/",
        "master.m3u8%00",
        "master.m3u8%00.jpg",
        "master.m3u8;x",
        "MASTER.M3U8",
        "540p",
        "540p/",
        "missing.m3u8",
        "540p/1.m4s",
        "a/b/c.m4s",
        "video.mp4",
        "http://169.254.169.254/x.mp4",
        "%ff.mp4",
    ] {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{path}"), "");
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}: {answer:?}");
    }
    for path in [
        format!("../../{other}/hls/master.m3u8"),
        format!("..%2f..%2f{other}%2fhls%2fmaster.m3u8"),
        format!("../../../{other}/1/hls/1/master.m3u8"),
    ] {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{path}"), "");
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}: {answer:?}");
    }
    assert_eq!(get(base, token, &format!("/v1/renders/{UNKNOWN}/hls/master.m3u8"), "").code(), "render_not_found");
}

#[tokio::test]
async fn answers_name_the_request_and_what_is_left_of_the_limit() {
    let place = Place::alone();
    let server = place.serve(&["--no-worker", "--rate-limit-per-minute", "3"]);
    let client = plinth_testkit::Client::new(&server.base, &place.account("ada@example.org"));
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

on_both! {
odd_texts_in_addresses_are_refused_or_found_nowhere odd_texts_in_bodies_are_refused_or_kept odd_names_of_files_stay_names streaming_files_are_those_of_the_packaging }
