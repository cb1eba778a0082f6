//! Renders, quotes and credits over HTTP.

use plinth_db::ledger;
use plinth_testkit::on_both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

async fn create_render_is_201_and_its_replay_200_deduped(address: &str) {
    let server = Server::start(address).await;
    let model = server.upload("chair", None).await.text("modelId");
    let body = json!({"modelId": model, "renderSettings": {"bgAlign": "top-left", "length": 1}});
    let create = async |key: &str| {
        let request = server.request(Method::POST, "/renders").header("idempotency-key", key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        Answer::of(request.send().await.unwrap()).await
    };
    let first = create("key").await;
    assert_eq!(first.status, 201);
    let id = first.text("id");
    let settings = json!({"bgAlign": "left", "length": 1});
    let expected =
        json!({"id": id, "modelId": model, "status": "pending", "isPreview": false, "renderSettings": settings});
    assert_eq!(first.data(), &expected);
    let again = create("key").await;
    assert_eq!((again.status.as_u16(), again.text("id")), (200, id.clone()));
    assert_eq!(again.data()["deduped"], true);
    assert_ne!(create("other").await.text("id"), id);
    let shown = server.get(&format!("/renders/{id}")).await;
    for (name, value) in [
        ("fileSize", Value::Null),
        ("errorMessage", Value::Null),
        ("failureCode", Value::Null),
        ("unlockedAt", Value::Null),
        ("datasetZipSize", Value::Null),
        ("hlsStatus", json!("pending")),
        ("hlsReady", json!(false)),
        ("warnings", json!([])),
    ] {
        assert_eq!(shown.data().get(name), Some(&value), "{name}");
    }
    let cancelled = server.post(&format!("/renders/{id}/cancel"), json!({})).await;
    assert_eq!(cancelled.data(), &json!({"id": id, "cancelled": true, "refundedCredits": 4}));
    let purchases = server.get("/purchases").await;
    assert_eq!(purchases.body["meta"], json!({"total": 4, "offset": 0, "limit": 50}));
    assert_eq!(
        (&purchases.body["data"][0]["type"], &purchases.body["data"][0]["credits"]),
        (&json!("refund"), &json!(4))
    );
}

async fn a_batch_answers_with_its_rows(address: &str) {
    let server = Server::start(address).await;
    let model = server.upload("chair", None).await.text("modelId");
    let item = json!({"modelId": model, "renderSettings": {"length": 1}});
    let made = server.post("/renders/batch", json!({"renders": [item, item]})).await;
    assert_eq!((made.status.as_u16(), made.data().as_array().unwrap().len()), (201, 2));
    assert_eq!(server.post("/renders/batch", json!({"renders": []})).await.refusal(), (400, "renders_required"));
    let many = json!({"renders": vec![item; 101]});
    assert_eq!(server.post("/renders/batch", many).await.refusal(), (400, "too_many"));
    let list = server.get("/renders?status=pending&limit=2").await;
    assert_eq!(list.body["meta"], json!({"total": 3, "offset": 0, "limit": 2}));
}

async fn quotes_and_products_are_told(address: &str) {
    let server = Server::start(address).await;
    let quote = server.post("/quote", json!({"renders": [{"quality": "4k"}, {"effect": "dataset"}]})).await;
    assert_eq!(
        quote.data(),
        &json!({
            "creditsRequired": 136, "creditsAvailable": 100, "sufficient": false,
            "breakdown": [{"quality": "4k", "length": 6.0, "credits": 96}, {"datasetQuality": "100x800", "credits": 40}],
        })
    );
    assert_eq!(server.post("/quote", json!({"renders": vec![json!({}); 101]})).await.refusal(), (400, "too_many"));
    let bad = json!({"renders": [{"quality": "huge"}]});
    assert_eq!(server.post("/quote", bad).await.refusal(), (400, "invalid_settings"));
    assert_eq!(server.get("/products").await.body, json!({"data": []}));
}

async fn clients_that_go_away_leave_the_ledger_exact(address: &str) {
    let server = Server::start(address).await;
    let model = server.upload("chair", None).await.text("modelId");
    let mut clients = Vec::new();
    for n in 0..200u64 {
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 1, "rotateY": n % 90}});
        let request = server.request(Method::POST, "/renders").header("content-type", "application/json");
        let request = request.header("idempotency-key", n.to_string()).body(body.to_string());
        clients.push(tokio::spawn(tokio::time::timeout(std::time::Duration::from_millis(n % 40), request.send())));
    }
    for client in clients {
        let _gone_or_answered = client.await.unwrap();
    }
    // Whatever was begun is carried to its end.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let mut conn = server.service.db().read().await.unwrap();
    assert_eq!(ledger::find_unbalanced(&mut conn).await.unwrap(), []);
    drop(conn);
    let renders = server.get("/renders?limit=1").await.body["meta"]["total"].as_u64().unwrap() - 1;
    let paid = server.get("/account").await.data()["paid"].as_u64().unwrap();
    assert_eq!(paid, 100 - renders, "each render that exists was charged, and no other");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        create_render_is_201_and_its_replay_200_deduped
        a_batch_answers_with_its_rows
        quotes_and_products_are_told
        clients_that_go_away_leave_the_ledger_exact
    }
}
