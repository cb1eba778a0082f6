//! Every endpoint with other tenants' things, and for callers who lost their right.

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::form::Form;
use super::on_both;
use super::server::{EMAIL, Served};

/// Stands for an identifier that nothing has.
const UNKNOWN: &str = "k3Jd92LmQx7a";

/// Method, path and operation of every guarded endpoint, from the served document.
async fn endpoints(client: &Client) -> Vec<(Method, String, String)> {
    let document: Value = client.get("/openapi.json").await.body;
    let mut out = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let (Ok(method), Some(id)) = (method.to_uppercase().parse(), operation["operationId"].as_str()) {
                let path = path.replace("{modelId}", UNKNOWN).replace("{id}", UNKNOWN).replace("{path}", "master.m3u8");
                out.push((method, path, id.to_owned()));
            }
        }
    }
    out.retain(|(_, _, id)| id != "get_health");
    assert!(out.len() > 30, "{}", out.len());
    out
}

async fn ask(client: &Client, method: &Method, path: &str) -> Answer {
    client.send(method.clone(), path, json!({"title": "x"})).await
}

async fn callers_without_a_right_are_refused_everywhere(served: Served) {
    let place = &served.place;
    let team = place.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    let closed = place.admin(&["workspace", "create", "Closed", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    for email in ["member@example.org", "suspended@example.org"] {
        place.admin(&["account", "create", email]);
    }
    for id in [&team, &closed] {
        place.admin(&["workspace", "add", id, "member@example.org", "--role", "editor"]);
    }
    let removed = place.key("member@example.org", &["--workspace", &team]);
    let viewer = place.key("member@example.org", &["--workspace", &closed]);
    let of_closed = place.key(EMAIL, &["--workspace", &closed]);
    let suspended = place.key("suspended@example.org", &[]);
    let revoked = place.admin(&["key", "create", "--account", EMAIL]);
    for token in [&removed, &viewer, &of_closed, &suspended] {
        assert_eq!(served.client(token).get("/account").await.status, 200);
    }
    place.admin(&["workspace", "remove", &team, "member@example.org"]);
    place.admin(&["account", "suspend", "suspended@example.org"]);
    place.admin(&["key", "revoke", revoked["id"].as_str().unwrap()]);
    place.admin(&["workspace", "delete", &closed]);
    let callers = [
        (removed, (403, "forbidden")),
        (of_closed, (403, "forbidden")),
        (suspended, (403, "forbidden")),
        (place.key(EMAIL, &["--expires-in", "0"]), (401, "token_expired")),
        (revoked["token"].as_str().unwrap().to_owned(), (401, "unauthorized")),
        ("plinth_sk_nonsense".to_owned(), (401, "unauthorized")),
    ];
    for (method, path, id) in endpoints(&served.client).await {
        for (token, refusal) in &callers {
            let answer = ask(&served.client(token), &method, &path).await;
            assert_eq!(answer.refusal(), *refusal, "{id}");
        }
    }
}

async fn strangers_learn_nothing(served: Served) {
    let ada = &served.client;
    let png = {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbaImage::new(2, 2).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    };
    let made = ada.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    let overlay = ada.form("/overlays", Form::default().file("file", "a.png", &png).text("layer", "background")).await;
    let texture = ada.form("/assets/textures", Form::default().file("file", "a.png", &png)).await;
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    let (overlay, texture) = (overlay.text("id"), texture.text("id"));
    let eve = served.client(&served.place.account("eve@example.org"));
    for (method, path, id) in endpoints(ada).await.into_iter().filter(|(_, path, _)| path.contains(UNKNOWN)) {
        let of_ada = match path.split('/').nth(1).unwrap() {
            "models" => &model,
            "renders" => &render,
            "overlays" => &overlay,
            _ => &texture,
        };
        let (unknown, foreign) =
            (ask(&eve, &method, &path).await, ask(&eve, &method, &path.replace(UNKNOWN, of_ada)).await);
        assert_eq!(unknown.status, 404, "{id}");
        if id == "delete_overlay" {
            // Spec, Overlays: the one exception.
            assert_eq!(foreign.refusal(), (403, "forbidden"));
        } else {
            assert_eq!((foreign.status, foreign.body), (unknown.status, unknown.body), "{id}");
        }
    }
    // What lists and look-ups say of her things.
    let detail = ada.get(&format!("/models/{model}")).await;
    for path in ["/models?status=any", "/renders", "/assets/textures", "/assets/envs", "/overlays"] {
        assert_eq!(eve.get(path).await.data(), &json!([]), "{path}");
    }
    assert_eq!(eve.get(&format!("/renders?model={model}")).await.data(), &json!([]));
    let hash = json!({"sha256": detail.data()["sha256"]});
    assert_eq!(ada.post("/models/check-hash", hash.clone()).await.data()["exists"], true);
    assert_eq!(eve.post("/models/check-hash", hash).await.data(), &json!({"exists": false, "modelId": null}));
    let order = json!({"modelId": model});
    assert_eq!(eve.post("/renders", order).await.refusal(), (404, "model_not_found"));
    // And she can do nothing to them: they are as they were.
    assert_eq!(ada.get(&format!("/models/{model}")).await.data(), detail.data());
    // A published overlay is everybody's to use and nobody's to remove.
    served.place.admin(&["overlay", "publish", &overlay]);
    assert_eq!(eve.get("/overlays").await.data()[0]["isSystem"], true);
    for client in [ada, &eve] {
        assert_eq!(ask(client, &Method::DELETE, &format!("/overlays/{overlay}")).await.refusal(), (403, "forbidden"));
    }
}

on_both! { callers_without_a_right_are_refused_everywhere strangers_learn_nothing }
