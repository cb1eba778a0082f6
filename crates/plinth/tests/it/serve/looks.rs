//! Tests of looks over HTTP.

use plinth_spec::limits;
use plinth_testkit::Client;
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::Served;

const BOB: &str = "bob@example.org";

async fn save(client: &Client, name: &str, settings: Value) -> String {
    let saved = client.post("/looks", json!({"name": name, "renderSettings": settings})).await;
    assert_eq!(saved.status, 201, "{saved:?}");
    saved.text("id")
}

async fn a_look_is_saved_changed_ordered_and_deleted(served: Served) {
    let client = &served.client;
    let built_in = client.get("/looks").await.data().as_array().unwrap().clone();
    assert!(built_in.len() == 12 && built_in.iter().all(|look| look["isBuiltIn"] == true), "{built_in:?}");
    let settings = json!({"bgColor": "#102030", "quality": "share", "length": 1});
    let id = save(client, "  Night ", settings.clone()).await;
    let look = client.get(&format!("/looks/{id}")).await;
    let updated = look.data()["updatedAt"].clone();
    let expected = json!({"id": id, "name": "Night", "description": "", "renderSettings": settings, "isBuiltIn": false,
        "isStart": false, "updatedAt": updated});
    assert_eq!(look.data(), &expected);
    assert!(updated.is_string());
    let listed = client.get("/looks").await;
    assert_eq!((&listed.data()[0], listed.data().as_array().unwrap().len()), (&expected, 13));

    let model = client.upload("chair", None).await.text("modelId");
    let order = json!({"modelId": model, "renderSettings": look.data()["renderSettings"]});
    assert_eq!(client.post("/renders", order).await.data()["renderSettings"], settings);

    let change = async |body: Value| client.send(Method::PATCH, &format!("/looks/{id}"), body).await;
    let changed = change(json!({"name": "Day", "renderSettings": {"bgColor": "#ffffff"}, "isStart": true})).await;
    let data = changed.data();
    assert_eq!(
        (changed.status, &data["name"], &data["renderSettings"], &data["isStart"]),
        (200, &json!("Day"), &json!({"bgColor": "#ffffff"}), &json!(true))
    );
    assert_eq!(change(json!({"isStart": false})).await.data()["isStart"], false);
    assert_eq!(change(json!({"isStart": true})).await.data()["isStart"], true);

    let delete = async || client.send(Method::DELETE, &format!("/looks/{id}"), json!({})).await;
    assert_eq!(delete().await.data(), &json!({"id": id, "deleted": true}));
    assert_eq!(delete().await.rejection(), (404, "not_found"));
    assert_eq!(client.get("/looks").await.data().as_array().unwrap(), &built_in, "no look is the start");
}

async fn invalid_looks_are_rejected(served: Served) {
    let client = &served.client;
    let id = save(client, "Night", json!({})).await;
    save(client, "Day", json!({})).await;
    let long = "n".repeat(limits::LOOK_NAME_CHARS + 1);
    let bad = |code| (400, code);
    for (body, expected) in [
        (json!({}), bad("bad_request")),
        (json!({"name": " "}), bad("bad_request")),
        (json!({"name": 5}), bad("bad_request")),
        (json!({"name": long}), bad("bad_request")),
        (json!({"name": "a\nb"}), bad("bad_request")),
        (json!({"name": "Day"}), bad("bad_request")),
        (json!({"name": "New", "renderSettings": {"bgcolor": "#ffffff"}}), bad("invalid_settings")),
        (json!({"name": "New", "renderSettings": []}), bad("invalid_settings")),
        (json!({"name": "New", "renderSettings": {"preview": true}}), bad("invalid_settings")),
        (json!({"name": "New", "renderSettings": {"length": 121}}), (422, "invalid_length")),
    ] {
        assert_eq!(client.post("/looks", body.clone()).await.rejection(), expected, "{body}");
        let changed = client.send(Method::PATCH, &format!("/looks/{id}"), body.clone()).await;
        assert_eq!(changed.rejection(), expected, "{body}");
    }
    for null in ["name", "renderSettings", "isStart"] {
        let changed = client.send(Method::PATCH, &format!("/looks/{id}"), json!({null: null})).await;
        assert_eq!(changed.rejection(), bad("bad_request"), "{null}");
    }
    assert_eq!(client.get(&format!("/looks/{id}")).await.text("name"), "Night");
}

async fn looks_of_plinth_can_only_be_the_start(served: Served) {
    let client = &served.client;
    let path = format!("/looks/{}", client.get("/looks").await.data()[0]["id"].as_str().unwrap());
    for body in [json!({"name": "Mine"}), json!({"renderSettings": {}})] {
        assert_eq!(client.send(Method::PATCH, &path, body).await.rejection(), (403, "forbidden"));
    }
    assert_eq!(client.send(Method::DELETE, &path, json!({})).await.rejection(), (403, "forbidden"));
    assert_eq!(client.send(Method::PATCH, &path, json!({"isStart": true})).await.data()["isStart"], true);
    let is_start = client
        .get("/looks")
        .await
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|look| look["isStart"] == true)
        .collect::<Vec<_>>();
    assert_eq!(is_start.iter().filter(|is| **is).count(), 1);
    assert_eq!(client.send(Method::PATCH, &path, json!({"isStart": false})).await.data()["isStart"], false);
}

async fn looks_belong_to_their_workspace_and_have_a_maximum_number(served: Served) {
    let client = &served.client;
    let id = save(client, "0", json!({})).await;
    served.installation.account(BOB);
    let stranger = served.client(&served.installation.key(BOB, &[]));
    assert_eq!(stranger.get("/looks").await.data().as_array().unwrap().len(), 12);
    assert_eq!(stranger.get(&format!("/looks/{id}")).await.rejection(), (404, "not_found"));
    for (method, body) in [(Method::PATCH, json!({"name": "x"})), (Method::DELETE, json!({}))] {
        let answer = stranger.send(method, &format!("/looks/{id}"), body).await;
        assert_eq!(answer.rejection(), (404, "not_found"));
    }
    for number in 1..limits::LOOKS {
        save(client, &number.to_string(), json!({})).await;
    }
    let more = client.post("/looks", json!({"name": "one more"})).await;
    assert_eq!(more.rejection(), (429, "limit_reached"));
}

on_both! {
    a_look_is_saved_changed_ordered_and_deleted invalid_looks_are_rejected looks_of_plinth_can_only_be_the_start
    looks_belong_to_their_workspace_and_have_a_maximum_number
}
