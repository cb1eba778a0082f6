//! Credits over HTTP: many at a time, and clients that go away.

use plinth_testkit::{Answer, Client};
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::{EMAIL, Served};

/// The balance, which must be the sum of all entries. Looked at again while requests of others still change it.
async fn balance(client: &Client) -> i64 {
    loop {
        let before = client.get("/account").await.data()["total"].as_i64().unwrap();
        let sum = sum_of_entries(client).await;
        let after = client.get("/account").await.data()["total"].as_i64().unwrap();
        if before == after {
            assert_eq!(before, sum);
            return sum;
        }
    }
}

async fn sum_of_entries(client: &Client) -> i64 {
    let (mut sum, mut offset) = (0, 0);
    loop {
        let page = client.get(&format!("/purchases?limit=100&offset={offset}")).await;
        let rows = page.body["data"].as_array().unwrap().clone();
        sum += rows.iter().map(|row| row["credits"].as_i64().unwrap()).sum::<i64>();
        offset += rows.len();
        if offset as u64 >= page.body["meta"]["total"].as_u64().unwrap() {
            return sum;
        }
    }
}

async fn fifty_at_once_under_one_key_are_one_render(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 2}}).to_string();
    let posts = (0..50).map(|_| {
        let request = client.request(Method::POST, "/renders").header("idempotency-key", "one");
        let request = request.header("content-type", "application/json").body(body.clone());
        tokio::spawn(async move { Answer::of(request.send().await.unwrap()).await })
    });
    let (mut created, mut ids) = (0, std::collections::BTreeSet::new());
    for post in posts.collect::<Vec<_>>() {
        let answer = post.await.unwrap();
        created += usize::from(answer.status == 201);
        assert_eq!(answer.data()["deduped"] == json!(true), answer.status == 200);
        ids.insert(answer.text("id"));
    }
    assert_eq!((created, ids.len()), (1, 1));
    assert_eq!(balance(client).await, 98);
}

async fn clients_that_go_away_leave_the_ledger_exact(served: Served) {
    let client = &served.client;
    served.place.admin(&["credits", "grant", EMAIL, "1000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let mut gone = Vec::new();
    for number in 0..200_u64 {
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 1}});
        let request = client.request(Method::POST, "/renders").header("idempotency-key", number.to_string());
        let request = request.header("content-type", "application/json").body(body.to_string());
        // Each is given up at another moment of its way.
        let patience = std::time::Duration::from_micros(number * 97 % 20_000);
        gone.push(tokio::spawn(async move { tokio::time::timeout(patience, request.send()).await.is_err() }));
    }
    for one in gone {
        one.await.unwrap();
    }
    // The server answers after whatever it had begun: each render that is there was charged, and nothing else was.
    let batch: Vec<Value> = (0..2).map(|_| json!({"modelId": model, "renderSettings": {"length": 0.25}})).collect();
    assert_eq!(client.post("/renders/batch", json!({"renders": batch})).await.status, 201);
    let (left, renders) = loop {
        let left = balance(client).await;
        let renders = client.get("/renders?limit=1").await.body["meta"]["total"].as_i64().unwrap();
        if balance(client).await == left {
            break (left, renders);
        }
    };
    // One free preview, two of one credit each, the others of one credit each.
    assert_eq!(1100 - left, renders - 1);
}

async fn cancelling_gives_back_to_the_pool_charged(served: Served) {
    let client = &served.client;
    served.place.admin(&["credits", "grant", EMAIL, "30", "--pool", "free"]);
    served.place.admin(&["credits", "grant", EMAIL, "-90"]);
    let model = client.upload("chair", None).await.text("modelId");
    let order =
        async |settings: Value| client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
    let strict = order(json!({"strictCredits": true})).await;
    assert_eq!(strict.refusal(), (402, "no_credits"));
    let free = order(json!({})).await;
    assert_eq!((free.status, &free.data()["isPreview"]), (201, &json!(true)));
    assert_eq!(free.data()["renderSettings"]["preview"], true);
    let id = free.text("id");
    let cancelled = client.post(&format!("/renders/{id}/cancel"), json!({})).await;
    assert_eq!(cancelled.data(), &json!({"id": id, "cancelled": true, "refundedCredits": 24}));
    assert_eq!(client.post(&format!("/renders/{id}/cancel"), json!({})).await.refusal(), (409, "render_started"));
    let render = client.get(&format!("/renders/{id}")).await;
    assert_eq!((&render.data()["status"], &render.data()["errorMessage"]), (&json!("failed"), &json!("Cancelled")));
    let account = client.get("/account").await;
    assert_eq!((&account.data()["paid"], &account.data()["free"]), (&json!(10), &json!(30)));
    assert_eq!(client.send(Method::DELETE, &format!("/renders/{id}"), json!({})).await.data()["deleted"], true);
    assert_eq!(client.get(&format!("/renders/{id}")).await.refusal(), (404, "render_not_found"));
    balance(client).await;
}

on_both! {
    fifty_at_once_under_one_key_are_one_render clients_that_go_away_leave_the_ledger_exact
    cancelling_gives_back_to_the_pool_charged
}
