//! Tests of credits over HTTP with many concurrent requests and with clients that disconnect.

use plinth_testkit::{Answer, Client, Reply, Web, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::{EMAIL, Served};

/// Returns the balance, which must be the sum of all entries. Reads both again if a concurrent request has changed the
/// balance in between.
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

async fn fifty_concurrent_requests_with_one_key_create_one_render(served: Served) {
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

async fn disconnecting_clients_leave_the_ledger_consistent(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "1000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let mut gone = Vec::new();
    for number in 0..200_u64 {
        // The requests differ in their length, but all cost one credit.
        let length = (number + 1) as f64 / 200.0;
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
        let request = client.request(Method::POST, "/renders").header("idempotency-key", number.to_string());
        let request = request.header("content-type", "application/json").body(body.to_string());
        // Each client disconnects after a different time.
        let patience = std::time::Duration::from_micros(number * 97 % 20_000);
        gone.push(tokio::spawn(async move { tokio::time::timeout(patience, request.send()).await.is_err() }));
    }
    for one in gone {
        one.await.unwrap();
    }
    // The server completes the transactions that it has started, so every render is charged, and nothing else is.
    let batch: Vec<Value> = (0..2).map(|_| json!({"modelId": model, "renderSettings": {"length": 0.25}})).collect();
    assert_eq!(client.post("/renders/batch", json!({"renders": batch})).await.status, 201);
    let (left, renders) = loop {
        let left = balance(client).await;
        let renders = client.get("/renders?limit=1").await.body["meta"]["total"].as_i64().unwrap();
        if balance(client).await == left {
            break (left, renders);
        }
    };
    // All renders cost one credit, except the free preview.
    assert_eq!(1100 - left, renders - 1);
}

async fn cancelling_refunds_the_pool_that_was_charged(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "30", "--pool", "free"]);
    served.installation.admin(&["credits", "grant", EMAIL, "-90"]);
    let model = client.upload("chair", None).await.text("modelId");
    let order =
        async |settings: Value| client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
    let strict = order(json!({"strictCredits": true})).await;
    assert_eq!(strict.rejection(), (402, "no_credits"));
    let free = order(json!({})).await;
    assert_eq!((free.status, &free.data()["isPreview"]), (201, &json!(true)));
    assert_eq!(free.data()["renderSettings"]["preview"], true);
    let id = free.text("id");
    let cancelled = client.post(&format!("/renders/{id}/cancel"), json!({})).await;
    assert_eq!(cancelled.data(), &json!({"id": id, "cancelled": true, "refundedCredits": 24}));
    assert_eq!(client.post(&format!("/renders/{id}/cancel"), json!({})).await.rejection(), (409, "render_started"));
    let render = client.get(&format!("/renders/{id}")).await;
    assert_eq!((&render.data()["status"], &render.data()["errorMessage"]), (&json!("failed"), &json!("Cancelled")));
    let account = client.get("/account").await;
    assert_eq!((&account.data()["paid"], &account.data()["free"]), (&json!(10), &json!(30)));
    assert_eq!(client.send(Method::DELETE, &format!("/renders/{id}"), json!({})).await.data()["deleted"], true);
    assert_eq!(client.get(&format!("/renders/{id}")).await.rejection(), (404, "render_not_found"));
    balance(client).await;
}

async fn cancelling_a_preview_refunds_nothing(served: Served) {
    let client = &served.client;
    let first = client.upload("chair", None).await;
    let (model, id) = (first.text("modelId"), first.text("renderId"));
    let cancelled = client.post(&format!("/renders/{id}/cancel"), json!({})).await;
    assert_eq!(
        (cancelled.status, cancelled.data()),
        (200, &json!({"id": id, "cancelled": true, "refundedCredits": 0}))
    );
    let entries = client.get("/purchases").await;
    let kinds: Vec<&Value> = entries.data().as_array().unwrap().iter().map(|row| &row["type"]).collect();
    assert_eq!(kinds, [&json!("signup_bonus")], "nothing moved");
    assert_eq!(balance(client).await, 100);
    // The model has no preview any more, so an upload of the same file creates a new one.
    let again = client.upload("chair", None).await;
    let fresh = again.text("renderId");
    let expected = json!({"modelId": model, "renderId": fresh, "duplicate": true});
    assert_eq!((again.status, again.data()), (200, &expected));
    assert_ne!(fresh, id);
    let shown = client.get(&format!("/renders/{fresh}")).await;
    let (status, is_preview) = (&shown.data()["status"], &shown.data()["isSystemPreview"]);
    assert_eq!((status, is_preview), (&json!("pending"), &json!(true)));
}

/// Paid credits pay for as many items of a batch as possible. Free credits pay for another item of the same batch.
async fn a_batch_is_paid_from_both_pools(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "-95"]);
    served.installation.admin(&["credits", "grant", EMAIL, "10", "--pool", "free"]);
    let model = client.upload("chair", None).await.text("modelId");
    let item = |length: u32| json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
    let made = client.post("/renders/batch", json!({"renders": [item(4), item(3)]})).await;
    let rows = made.data().as_array().unwrap();
    let row = |at: usize, is_preview: bool| json!({"id": rows[at]["id"], "modelId": model, "status": "pending", "isPreview": is_preview});
    assert_eq!((made.status, made.data()), (201, &json!([row(0, false), row(1, true)])));
    for (at, is_preview, settings) in [
        (0, false, json!({"quality": "share", "length": 4})),
        (1, true, json!({"quality": "share", "length": 3, "preview": true})),
    ] {
        let shown = client.get(&format!("/renders/{}", rows[at]["id"].as_str().unwrap())).await;
        let members = (&shown.data()["isPreview"], &shown.data()["isSystemPreview"], &shown.data()["renderSettings"]);
        assert_eq!(members, (&json!(is_preview), &json!(false), &settings));
    }
    let account = client.get("/account").await;
    assert_eq!((&account.data()["paid"], &account.data()["free"]), (&json!(1), &json!(7)));
    balance(client).await;
}

/// Only the paid pool pays for the render of an upload. This holds for all three kinds of upload.
async fn an_upload_without_credits_for_its_render_is_rejected(served: Served) {
    let web = Web::start(|_visit| Reply::model(glb_with_triangle("fetched")));
    let served = served.again(|installation| installation.set("PLINTH_INGEST_ALLOW_HOSTS", &web.address().to_string()));
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "1000", "--pool", "free"]);
    let staged = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(staged.text("url")).body(glb_with_triangle("staged")).send().await.unwrap();
    assert!(put.status().is_success());
    let ticket = staged.text("ticket");
    let finalize = async |settings: &Value| {
        let body = json!({"ticket": ticket, "filename": "a.glb", "renderSettings": settings});
        client.post("/models/finalize", body).await
    };
    let ingest = async |settings: &Value| {
        client.post("/models/ingest", json!({"url": web.url("/a.glb"), "renderSettings": settings})).await
    };
    // The first render costs more than both pools together, the second more than the paid pool alone.
    for settings in [json!({"quality": "4k", "length": 120}), json!({"quality": "4k", "length": 7})] {
        for rejected in
            [finalize(&settings).await, ingest(&settings).await, client.upload("sent", Some(settings.clone())).await]
        {
            assert_eq!(rejected.rejection(), (402, "no_credits"), "{settings}");
        }
    }
    assert_eq!(client.get("/models?status=any").await.data(), &json!([]), "no model is created without its render");
    let covered = json!({"quality": "share", "length": 3});
    let made = finalize(&covered).await;
    assert_eq!((made.status, made.data().get("duplicate")), (201, None), "the ticket is still valid");
    assert_eq!(ingest(&covered).await.status, 201);
    let account = client.get("/account").await;
    assert_eq!((&account.data()["paid"], &account.data()["free"]), (&json!(94), &json!(1000)));
    balance(client).await;
}

on_both! {
    fifty_concurrent_requests_with_one_key_create_one_render disconnecting_clients_leave_the_ledger_consistent
    cancelling_refunds_the_pool_that_was_charged cancelling_a_preview_refunds_nothing a_batch_is_paid_from_both_pools
    an_upload_without_credits_for_its_render_is_rejected
}
