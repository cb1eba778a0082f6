//! Files in and out: staged uploads, links, ranges, names.

use plinth_testkit::glb_with_triangle;
use reqwest::Method;
use serde_json::json;

use super::form::Form;
use super::on_both;
use super::server::Served;

async fn a_staged_upload_becomes_a_model(served: Served) {
    let client = &served.client;
    let staged = client.post("/models/create-upload-url?expires=5", json!({})).await;
    assert_eq!(
        (staged.status, &staged.data()["expiresIn"], &staged.data()["maxBytes"]),
        (201, &json!(60), &json!(1 << 30))
    );
    let (url, ticket) = (staged.text("url"), staged.text("ticket"));
    let finalize = json!({"ticket": ticket, "filename": "chair.glb", "renderSettings": {"quality": "share"}});
    assert_eq!(client.post("/models/finalize", finalize.clone()).await.refusal(), (404, "not_found"));
    let glb = glb_with_triangle("staged");
    let put = client.http.put(&url).body(glb.clone()).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.status());
    let wrong = json!({"ticket": ticket, "filename": "chair.zip"});
    assert_eq!(client.post("/models/finalize", wrong).await.refusal(), (400, "invalid_format"));
    assert_eq!(
        client.post("/models/finalize", json!({"ticket": "x", "filename": "a.glb"})).await.refusal(),
        (400, "bad_request")
    );
    let made = client.post("/models/finalize", finalize.clone()).await;
    assert_eq!((made.status, &made.data()["duplicate"]), (201, &json!(null)));
    assert_eq!(client.post("/models/finalize", finalize).await.refusal(), (404, "not_found"), "a ticket is used once");
    // Without the token: the link is the capability.
    let link = client.get(&format!("/models/{}/file-url?expires=999999999", made.text("modelId"))).await;
    assert_eq!(link.data()["expiresIn"], 604_800);
    let url = link.text("url");
    let got = client.http.get(&url).send().await.unwrap();
    assert!(got.headers()["content-disposition"].to_str().unwrap().contains("chair.glb"));
    assert_eq!(got.headers()["content-type"], "model/gltf-binary");
    assert_eq!(got.bytes().await.unwrap(), glb);
    let other = client.http.put(&url).body("x").send().await.unwrap().status();
    assert!(other.is_client_error(), "a link to read does not write: {other}");
    let at = url.rfind(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).unwrap();
    let digit = if url.as_bytes()[at] == b'0' { "1" } else { "0" };
    let changed = format!("{}{digit}{}", &url[..at], &url[at + 1..]);
    let refused = client.http.get(changed).send().await.unwrap().status();
    assert!(refused.is_client_error(), "{refused}");
}

async fn a_model_is_downloaded_in_parts(served: Served) {
    let client = &served.client;
    let made = client.upload("chair ü; 1", None).await;
    let path = format!("/models/{}/file", made.text("modelId"));
    let glb = glb_with_triangle("chair ü; 1");
    let ask = async |method: Method, range: &'static str| {
        let request = client.request(method, &path).header("range", range);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.headers().clone(), answer.bytes().await.unwrap())
    };
    let (status, headers, bytes) = ask(Method::GET, "bytes=0-").await;
    assert_eq!((status, bytes.as_ref()), (206, glb.as_slice()));
    let name = headers["content-disposition"].to_str().unwrap();
    assert!(name.starts_with("attachment; ") && name.contains("filename*=UTF-8''chair%20%C3%BC%3B%201.glb"), "{name}");
    let (status, headers, bytes) = ask(Method::GET, "bytes=-4").await;
    assert_eq!((status, bytes.as_ref()), (206, &glb[glb.len() - 4..]));
    assert_eq!(
        headers["content-range"].to_str().unwrap(),
        format!("bytes {}-{}/{}", glb.len() - 4, glb.len() - 1, glb.len())
    );
    assert_eq!(ask(Method::GET, "bytes=99999999-").await.0, 416);
    let (status, headers, bytes) = ask(Method::HEAD, "").await;
    assert_eq!((status, bytes.len()), (200, 0));
    assert_eq!(headers["content-length"].to_str().unwrap(), glb.len().to_string());
}

async fn both_bases_and_nothing_for_browsers(served: Served) {
    let client = &served.client;
    for base in ["/v1", "/api/v1"] {
        let request = client.http.get(format!("{}{base}/account", client.base)).bearer_auth(&client.token);
        let answer = request.header("origin", "https://evil.example").send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert!(!answer.headers().keys().any(|name| name.as_str().starts_with("access-control")));
        let asked = client.http.request(Method::OPTIONS, format!("{}{base}/account", client.base));
        let asked = asked.header("origin", "https://evil.example").send().await.unwrap();
        assert!(!asked.headers().keys().any(|name| name.as_str().starts_with("access-control")));
    }
    assert_eq!(client.get("/nowhere").await.refusal(), (404, "not_found"));
    assert_eq!(client.send(Method::PUT, "/account", json!({})).await.refusal(), (405, "method_not_allowed"));
    let request = client.request(Method::POST, "/quote").header("content-type", "text/plain").body("x");
    assert_eq!(super::client::Answer::of(request.send().await.unwrap()).await.refusal(), (400, "bad_request"));
}

async fn uploads_are_checked_in_their_own_process(served: Served) {
    let client = &served.client;
    let upload =
        async |name: &str, bytes: &[u8]| client.form("/models", Form::default().file("file", name, bytes)).await;
    assert_eq!(upload("a.glb", b"glTF but not really").await.refusal(), (422, "upload_failed"));
    assert_eq!(upload("a.gltf", b"{}").await.refusal(), (400, "invalid_format"));
    assert_eq!(upload("a.zip", b"PK\x05\x06").await.refusal(), (422, "upload_failed"));
    assert_eq!(upload("a.glb", b"").await.refusal(), (400, "no_file"));
    let made = upload("a.glb", &glb_with_triangle("a b")).await;
    let detail = client.get(&format!("/models/{}", made.text("modelId"))).await;
    assert_eq!(detail.data()["meshNames"], json!(["a_b"]));
    let again = upload("other.glb", &glb_with_triangle("a b")).await;
    assert_eq!((again.status, &again.data()["duplicate"]), (200, &json!(true)));
    assert_eq!(again.data()["renderId"], made.data()["renderId"], "the free preview that it has");
}

on_both! {
    a_staged_upload_becomes_a_model a_model_is_downloaded_in_parts both_bases_and_nothing_for_browsers
    uploads_are_checked_in_their_own_process
}
