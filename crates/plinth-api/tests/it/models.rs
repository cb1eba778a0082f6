//! Models and assets over HTTP.

use plinth_testkit::{glb_with_triangle, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::form::Form;
use crate::server::{Answer, Server};

async fn an_upload_is_201_and_the_same_file_200_duplicate(address: &str) {
    let server = Server::start(address).await;
    let first = server.upload("chair", None).await;
    assert_eq!(first.status, 201);
    assert_eq!(first.data().get("duplicate"), None);
    let again = server.upload("chair", Some(r#"{"quality": "share"}"#)).await;
    assert_eq!((again.status.as_u16(), &again.data()["duplicate"]), (200, &Value::Bool(true)));
    let model = server.get(&format!("/models/{}", first.text("modelId"))).await;
    let detail = model.data();
    assert_eq!((&detail["originalName"], &detail["status"]), (&json!("chair.glb"), &json!("active")));
    assert_eq!((&detail["title"], &detail["meshNames"]), (&Value::Null, &json!(["chair"])));
    assert_eq!(detail["renders"].as_array().unwrap().len(), 2);
    let list = server.get("/models?limit=1").await;
    assert_eq!(list.body["meta"], json!({"total": 1, "offset": 0, "limit": 1}));
    assert_eq!(list.body["data"][0]["animationCount"], 0);
    let cursor = server.get("/models?cursor=").await;
    assert_eq!(cursor.body["meta"], json!({"limit": 50, "nextCursor": null}));
}

async fn settings_may_come_after_the_file_and_a_missing_file_is_named(address: &str) {
    let server = Server::start(address).await;
    let form = Form::default().text("other", "ignored").file("file", "x.glb", &glb_with_triangle("x"));
    let form = form.text("renderSettings", "{\"length\": 1}");
    let made = server.form("/models", form).await;
    assert_eq!(made.status, 201);
    let render = server.get(&format!("/renders/{}", made.text("renderId"))).await;
    assert_eq!(render.data()["renderSettings"], json!({"length": 1}));
    assert_eq!(server.form("/models", Form::default().text("a", "b")).await.refusal(), (400, "no_file"));
    assert_eq!(server.upload("y", Some("{")).await.refusal(), (400, "invalid_settings"));
    assert_eq!(server.upload("y", Some("{\"length\": 121}")).await.refusal(), (422, "invalid_length"));
    let broken = Form::default().file("file", "x.glb", b"nonsense");
    assert_eq!(server.form("/models", broken).await.refusal(), (422, "upload_failed"));
    let text = Form::default().file("file", "x.gltf", b"{}");
    assert_eq!(server.form("/models", text).await.refusal(), (400, "invalid_format"));
}

async fn a_staged_file_is_put_by_its_link_and_finalized(address: &str) {
    let server = Server::start(address).await;
    let staged = server.post("/models/create-upload-url?expires=30", json!({})).await;
    assert_eq!(staged.status, 201);
    assert_eq!((&staged.data()["expiresIn"], &staged.data()["maxBytes"]), (&json!(60), &json!(1 << 30)));
    let url = staged.text("url");
    let body = json!({"ticket": staged.text("ticket"), "filename": "x.glb"});
    assert_eq!(server.post("/models/finalize", body.clone()).await.refusal(), (404, "not_found"));
    assert_eq!(server.post("/models/finalize", json!({"filename": "x.glb"})).await.refusal(), (400, "bad_request"));
    let put = server.http.put(&url).body(glb_with_triangle("x")).send().await.unwrap();
    assert_eq!(put.status(), 200);
    let read = Answer::of(server.http.get(&url).send().await.unwrap()).await;
    assert_eq!(read.refusal(), (403, "forbidden"), "a link to put does not read");
    let made = server.post("/models/finalize", body).await;
    assert_eq!(made.status, 201);
}

async fn a_models_file_comes_whole_in_part_or_by_link(address: &str) {
    let server = Server::start(address).await;
    let id = server.upload("stühle", None).await.text("modelId");
    let glb = glb_with_triangle("stühle");
    let whole = server.request(Method::GET, &format!("/models/{id}/file")).send().await.unwrap();
    assert_eq!(whole.headers()["content-type"], "model/gltf-binary");
    assert_eq!(whole.headers()["content-length"], glb.len().to_string().as_str());
    assert!(whole.headers()["content-disposition"].to_str().unwrap().ends_with("filename*=UTF-8''st%C3%BChle.glb"));
    assert_eq!(whole.bytes().await.unwrap(), glb);
    let link = server.get(&format!("/models/{id}/file-url?expires=99999999")).await;
    assert_eq!(link.data()["expiresIn"], 604_800);
    let url = link.text("url");
    let part = server.http.get(&url).header("range", "bytes=0-3").send().await.unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.headers()["content-range"], format!("bytes 0-3/{}", glb.len()).as_str());
    assert_eq!(part.headers()["x-content-type-options"], "nosniff");
    assert_eq!(part.text().await.unwrap(), "glTF");
    for (from, to) in [("sig=", "sig=0"), ("exp=", "exp=9"), (id.as_str(), "k3Jd92LmQx7a")] {
        let changed = server.http.get(url.replacen(from, to, 1)).send().await.unwrap();
        assert_eq!(Answer::of(changed).await.refusal(), (403, "forbidden"), "{from}");
    }
    let put = server.http.put(&url).body("x").send().await.unwrap();
    assert_eq!(Answer::of(put).await.refusal(), (403, "forbidden"));
}

async fn edits_and_states_follow_the_rules(address: &str) {
    let server = Server::start(address).await;
    let id = server.upload("chair", None).await.text("modelId");
    let path = format!("/models/{id}");
    let edited = server.send(Method::PATCH, &path, json!({"title": "Chair", "tags": ["Red", "red"]})).await;
    assert_eq!(edited.data(), &json!({"id": id, "title": "Chair", "sku": null, "tags": ["red"]}));
    for bad in [json!({}), json!({"tags": "red"}), json!({"tags": null}), json!({"title": 5})] {
        assert_eq!(server.send(Method::PATCH, &path, bad).await.refusal(), (400, "bad_request"));
    }
    let archived = server.send(Method::PATCH, &format!("{path}/archive"), json!({})).await;
    assert_eq!(archived.data(), &json!({"id": id, "archived": true}));
    let again = server.send(Method::PATCH, &format!("{path}/archive"), json!({})).await;
    assert_eq!(again.refusal(), (404, "model_not_found"));
    let back = server.send(Method::PATCH, &format!("{path}/unarchive"), json!({})).await;
    assert_eq!(back.data(), &json!({"id": id, "archived": false}));
    let hash = server.get(&path).await.text("sha256");
    let found = server.post("/models/check-hash", json!({"sha256": hash})).await;
    assert_eq!(found.data(), &json!({"exists": true, "modelId": id}));
    assert_eq!(server.post("/models/check-hash", json!({})).await.refusal(), (400, "sha256_required"));
    let gone = server.send(Method::DELETE, &path, json!({})).await;
    assert_eq!(gone.data(), &json!({"id": id, "deleted": true}));
    assert_eq!(server.get(&path).await.refusal(), (404, "model_not_found"));
}

async fn an_ingest_is_limited_apart_from_other_requests(address: &str) {
    let server = Server::start_with(address, |options| options.ingests_per_10_minutes = 1).await;
    let ingest = async || server.post("/models/ingest", json!({"url": "http://127.0.0.1/x.glb"})).await;
    assert_eq!(ingest().await.refusal(), (400, "blocked_host"));
    let over = ingest().await;
    assert_eq!(over.refusal(), (429, "rate_limited"));
    assert!(over.headers.contains_key("retry-after"));
}

async fn textures_and_overlays_are_stored_and_deleted(address: &str) {
    let server = Server::start(address).await;
    // A PNG of one pixel.
    let png: Vec<u8> = [
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154",
        "78da6364f8cf500f00038601805a347d6b0000000049454e44ae426082",
    ]
    .concat()
    .as_bytes()
    .chunks(2)
    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
    .collect();
    let form = || Form::default().file("file", "a.png", &png);
    let made = server.form("/assets/textures", form().text("name", "Wood")).await;
    assert_eq!(made.status, 201, "{made:?}");
    let again = server.form("/assets/textures", form()).await;
    assert_eq!((again.status.as_u16(), &again.data()["deduped"]), (200, &json!(true)));
    let rows = server.get("/assets/textures").await;
    assert_eq!((&rows.data()[0]["name"], &rows.data()[0]["width"]), (&json!("Wood"), &json!(1)));
    let id = made.text("id");
    let gone = server.send(Method::DELETE, &format!("/assets/textures/{id}"), json!({})).await;
    assert_eq!(gone.data(), &json!({"id": id, "deleted": true}));
    let overlay = server.form("/overlays", form().text("layer", "decal")).await;
    assert_eq!(overlay.status, 200);
    let id = overlay.text("id");
    assert_eq!(overlay.data(), &json!({"id": id, "layer": "decal", "alignment": "left", "name": "a.png"}));
    assert_eq!(server.form("/overlays", form().text("layer", "sky")).await.refusal(), (400, "bad_request"));
    let gone = server.send(Method::DELETE, &format!("/overlays/{id}"), json!({})).await;
    assert_eq!(gone.data(), &json!({"id": id, "deleted": true}));
    assert_eq!(server.form("/assets/envs", form()).await.refusal(), (400, "no_file"));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        an_upload_is_201_and_the_same_file_200_duplicate
        settings_may_come_after_the_file_and_a_missing_file_is_named
        a_staged_file_is_put_by_its_link_and_finalized
        a_models_file_comes_whole_in_part_or_by_link
        edits_and_states_follow_the_rules
        an_ingest_is_limited_apart_from_other_requests
        textures_and_overlays_are_stored_and_deleted
    }
}
