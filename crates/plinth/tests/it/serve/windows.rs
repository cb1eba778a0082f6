//! What holds for a while: free uploads, replays, staged files.

use std::time::Duration;

use plinth_service::models::Upload;
use plinth_testkit::{Answer, Client, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::Backstage;
use super::on_both;
use super::server::Served;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

async fn order(client: &Client, model: &str, settings: &Value, key: Option<&str>) -> Answer {
    let body = json!({"modelId": model, "renderSettings": settings}).to_string();
    let request = client.request(Method::POST, "/renders").header("content-type", "application/json").body(body);
    Answer::to(match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    })
    .await
}

async fn a_key_replays_for_half_an_hour(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let settings = json!({"quality": "share", "length": 1});
    for (minutes, key, replays) in [(29, Some("a"), true), (31, Some("b"), false), (1, None, false)] {
        let then = Backstage::ago(&served, MINUTE * minutes).await;
        let earlier = then.order(&model, &settings, key).await;
        let now = order(client, &model, &settings, key).await;
        assert_eq!(now.status, if replays { 200 } else { 201 }, "{minutes} minutes: {now:?}");
        assert_eq!(now.text("id") == earlier, replays);
        assert_eq!(now.data().get("deduped").is_some(), replays);
    }
    assert_eq!(client.get("/account").await.data()["paid"], 100 - 3 - 2, "three then, two now");
    // The same settings in another order are the same; other settings are another render.
    let first = order(client, &model, &json!({"length": 1, "quality": "share"}), Some("a")).await;
    assert_eq!(first.data()["deduped"], true);
    assert_eq!(order(client, &model, &json!({"quality": "share", "length": 2}), Some("a")).await.status, 201);
    // A resubmit without a key within a few seconds.
    let plain = json!({"quality": "share", "length": 3});
    let (one, two) = (order(client, &model, &plain, None).await, order(client, &model, &plain, None).await);
    assert_eq!((one.status, two.status, two.text("id")), (201, 200, one.text("id")));
    assert_eq!(order(client, &model, &plain, Some("c")).await.status, 201, "a key of its own is another request");
}

async fn what_came_to_nothing_is_not_replayed(served: Served) {
    let client = &served.client;
    let made = client.upload("chair", Some(json!({"quality": "share", "length": 9}))).await;
    let model = made.text("modelId");
    let backstage = Backstage::of(&served).await;
    let _the_first_one = backstage.claim(&made.text("renderId")).await;
    let settings = json!({"quality": "share", "length": 1});
    let again = async || order(client, &model, &settings, Some("k")).await;
    let cancelled = again().await.text("id");
    assert_eq!(client.post(&format!("/renders/{cancelled}/cancel"), json!({})).await.status, 200);
    let failed = again().await;
    assert_eq!(failed.status, 201);
    let claim = backstage.claim(&failed.text("id")).await;
    let code = plinth_spec::FailureCode::RendererCrash;
    backstage.service.fail_render(&claim, code, "it\0 fell\nover").await.unwrap().unwrap();
    let shown = client.get(&format!("/renders/{}", failed.text("id"))).await;
    let (status, message, code) =
        (&shown.data()["status"], &shown.data()["errorMessage"], &shown.data()["failureCode"]);
    assert_eq!((status, message, code), (&json!("error"), &json!("it fell"), &json!("renderer_crash")));
    let third = again().await;
    assert_eq!(third.status, 201);
    // A dismissed one keeps its words; its code is for errors only.
    let dismissed = client.send(Method::PATCH, &format!("/renders/{}/dismiss", failed.text("id")), json!({})).await;
    assert_eq!(dismissed.data(), &json!({"id": failed.text("id"), "dismissed": true}));
    let again = client.send(Method::PATCH, &format!("/renders/{}/dismiss", failed.text("id")), json!({})).await;
    assert_eq!(again.refusal(), (400, "bad_request"));
    let now = client.get(&format!("/renders/{}", failed.text("id"))).await;
    assert_eq!((&now.data()["status"], &now.data()["failureCode"]), (&json!("failed"), &Value::Null));
    assert!(now.data()["updatedAt"].as_str() > shown.data()["updatedAt"].as_str(), "each change shows");
    // Both failures gave their credit back: what is charged is the first render and the third.
    assert_eq!(client.get("/account").await.data()["paid"], 100 - 9 - 1);
}

async fn free_uploads_are_counted_over_a_day(served: Served) {
    let served = served.again(|place| place.set("PLINTH_FREE_UPLOADS_PER_DAY", "2"));
    let client = &served.client;
    for (name, ago) in [("long ago", 24 * HOUR + MINUTE), ("within the day", 23 * HOUR)] {
        let then = Backstage::ago(&served, ago).await;
        let mut file = then.service.incoming_model().unwrap();
        file.write(&glb_with_triangle(name)).await.unwrap();
        let upload = Upload { file, name: "a.glb".to_owned(), settings: None };
        then.service.upload_model(&then.caller, upload).await.unwrap();
    }
    let ticket = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(ticket.text("url")).body(glb_with_triangle("staged")).send().await.unwrap();
    assert!(put.status().is_success());
    assert_eq!(client.upload("the second", None).await.status, 201);
    assert_eq!(client.upload("the third", None).await.refusal(), (429, "upload_limit"));
    assert_eq!(client.post("/models/create-upload-url", json!({})).await.refusal(), (429, "upload_limit"));
    let ingest = client.post("/models/ingest", json!({"url": "https://example.org/x.glb"})).await;
    assert_eq!(ingest.refusal(), (429, "upload_limit"));
    let finalize = json!({"ticket": ticket.text("ticket"), "filename": "a.glb"});
    assert_eq!(client.post("/models/finalize", finalize.clone()).await.refusal(), (429, "upload_limit"));
    // What is paid for is no free upload, and another account has its own.
    assert_eq!(client.upload("the third", Some(json!({"quality": "share", "length": 1}))).await.status, 201);
    let mut paid = finalize;
    paid["renderSettings"] = json!({"quality": "share", "length": 1});
    assert_eq!(client.post("/models/finalize", paid).await.status, 201);
    let bob = served.client(&served.place.account("bob@example.org"));
    assert_eq!(bob.upload("the third", None).await.status, 201);
}

async fn staged_files_that_nobody_finalizes_go_after_two_days(served: Served) {
    let mut staged = Vec::new();
    for ago in [48 * HOUR + 2 * MINUTE, 47 * HOUR] {
        let then = Backstage::ago(&served, ago).await;
        let made = then.service.create_upload_url(&then.caller, Some(60)).await.unwrap();
        let name = made.url.split("staged/").nth(1).unwrap().split('?').next().unwrap();
        let file = served.place.objects().join("staged").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, glb_with_triangle("staged")).unwrap();
        staged.push((file, json!({"ticket": made.ticket, "filename": "a.glb"})));
    }
    let [(old, old_ticket), (young, young_ticket)] = staged.try_into().unwrap();
    // It is looked for at the start.
    let served = served.again(|place| place);
    while old.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let client = &served.client;
    assert_eq!(client.post("/models/finalize", old_ticket).await.refusal(), (404, "not_found"));
    assert_eq!(client.post("/models/finalize", young_ticket).await.status, 201);
    assert!(!young.exists(), "a finalized one goes at once");
}

on_both! {
    a_key_replays_for_half_an_hour what_came_to_nothing_is_not_replayed free_uploads_are_counted_over_a_day
    staged_files_that_nobody_finalizes_go_after_two_days
}
