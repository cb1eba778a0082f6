//! Tests of time windows: free uploads, replays, staged files.

use std::time::Duration;

use plinth_service::models::Upload;
use plinth_testkit::{Answer, Client, Reply, Web, glb_with_triangle};
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
    // The settings differ, because a request with equal settings would replay the request before it.
    for (length, minutes, key, replays) in [(1, 29, Some("a"), true), (2, 31, Some("b"), false), (3, 1, None, false)] {
        let settings = json!({"quality": "share", "length": length});
        let then = Backstage::ago(&served, MINUTE * minutes).await;
        let earlier = then.order(&model, &settings, key).await;
        let now = order(client, &model, &settings, key).await;
        assert_eq!(now.status, if replays { 200 } else { 201 }, "{minutes} minutes: {now:?}");
        assert_eq!(now.text("id") == earlier, replays);
        assert_eq!(now.data().get("deduped"), replays.then_some(&json!(true)));
    }
    let paid = async || client.get("/account").await.data()["paid"].as_i64().unwrap();
    assert_eq!(paid().await, 100 - (1 + 2 + 3) - (2 + 3), "three renders were created in the past, and two now");
    // The order of the members of the settings does not matter. Different settings create another render.
    let first = order(client, &model, &json!({"length": 1, "quality": "share"}), Some("a")).await;
    assert_eq!((first.status, &first.data()["deduped"]), (200, &json!(true)));
    let other = order(client, &model, &json!({"quality": "share", "length": 4}), Some("a")).await;
    assert_eq!((other.status, other.data().get("deduped"), paid().await), (201, None, 100 - 11 - 4));
}

/// Spec, Create-render rules, 5: an identical request within a few seconds is a replay, whatever its key.
async fn an_identical_request_within_seconds_is_a_replay(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let paid = async || client.get("/account").await.data()["paid"].as_i64().unwrap();
    let settings = json!({"quality": "share", "length": 5});
    let first = order(client, &model, &settings, None).await;
    let again = order(client, &model, &settings, None).await;
    assert_eq!((first.status, first.data().get("deduped"), paid().await), (201, None, 95));
    let mut expected = first.data().clone();
    expected["deduped"] = json!(true);
    assert_eq!((again.status, again.data(), paid().await), (200, &expected, 95));
    // A request with another model or other settings is a different request.
    let other = client.upload("table", None).await.text("modelId");
    assert_eq!(order(client, &other, &settings, None).await.status, 201);
    assert_eq!(order(client, &model, &json!({"quality": "share", "length": 6}), None).await.status, 201);
    assert_eq!(paid().await, 95 - 5 - 6);
    // An additional idempotency key does not make the request a different one.
    let settings = json!({"quality": "share", "length": 7});
    let first = order(client, &model, &settings, Some("A")).await;
    assert_eq!((first.status, first.data().get("deduped")), (201, None));
    let mut expected = first.data().clone();
    expected["deduped"] = json!(true);
    for key in [Some("B"), None, Some("A")] {
        let again = order(client, &model, &settings, key).await;
        assert_eq!((again.status, again.data()), (200, &expected), "{key:?}");
    }
    assert_eq!(paid().await, 95 - 5 - 6 - 7, "charged once");
}

/// Equal items of one batch are separate renders. A second batch that is equal replays the first one, item by item.
async fn an_identical_batch_within_seconds_is_a_replay(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let item = |length: u32| json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
    let body = json!({"renders": [item(2), item(3), item(2)]}).to_string();
    let post = async |key: &str| {
        let request = client.request(Method::POST, "/renders/batch").header("content-type", "application/json");
        Answer::to(request.header("idempotency-key", key).body(body.clone())).await
    };
    let first = post("A").await;
    let rows = first.data().as_array().unwrap().clone();
    assert_eq!((first.status, rows.len()), (201, 3));
    assert!(rows.iter().all(|row| row.get("deduped").is_none()), "{rows:?}");
    assert_ne!(rows[0]["id"], rows[2]["id"]);
    let expected: Vec<Value> = rows
        .into_iter()
        .map(|mut row| {
            row["deduped"] = json!(true);
            row
        })
        .collect();
    let again = post("B").await;
    assert_eq!((again.status, again.data()), (201, &Value::Array(expected)));
    assert_eq!(client.get("/account").await.data()["paid"], 100 - 2 - 3 - 2, "charged once");
    assert_eq!(client.get("/renders?limit=1").await.body["meta"]["total"], 1 + 3);
}

async fn a_replay_does_not_need_the_model(served: Served) {
    let client = &served.client;
    let made = client.upload("chair", None).await;
    let (model, path) = (made.text("modelId"), format!("/models/{}", made.text("modelId")));
    let settings = json!({"quality": "share", "length": 1});
    // The first render is ten minutes old, so only the key can make the next request a replay.
    let earlier = Backstage::ago(&served, MINUTE * 10).await.order(&model, &settings, Some("k")).await;
    let first = order(client, &model, &settings, Some("k")).await;
    assert_eq!((first.status, first.text("id"), &first.data()["deduped"]), (200, earlier, &json!(true)));
    let replays = async |what: &str| {
        let again = order(client, &model, &settings, Some("k")).await;
        assert_eq!((again.status, &again.body), (200, &first.body), "{what}");
        for (settings, key) in
            [(&settings, Some("another")), (&settings, None), (&json!({"quality": "share", "length": 2}), Some("k"))]
        {
            let rejected = order(client, &model, settings, key).await;
            assert_eq!(rejected.rejection(), (404, "model_not_found"), "{what}: {settings} {key:?}");
        }
    };
    assert_eq!(client.send(Method::PATCH, &format!("{path}/archive"), json!({})).await.status, 200);
    replays("archived").await;
    assert_eq!(client.send(Method::DELETE, &path, json!({})).await.status, 200);
    replays("deleted").await;
    assert_eq!(client.get("/account").await.data()["paid"], 99, "charged once");
}

async fn failed_and_cancelled_renders_are_not_replayed(served: Served) {
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
    // A dismissed render keeps its error message. It has no failure code, because only renders in the state `error`
    // have one.
    let dismissed = client.send(Method::PATCH, &format!("/renders/{}/dismiss", failed.text("id")), json!({})).await;
    assert_eq!(dismissed.data(), &json!({"id": failed.text("id"), "dismissed": true}));
    let again = client.send(Method::PATCH, &format!("/renders/{}/dismiss", failed.text("id")), json!({})).await;
    assert_eq!(again.rejection(), (400, "bad_request"));
    let now = client.get(&format!("/renders/{}", failed.text("id"))).await;
    assert_eq!((&now.data()["status"], &now.data()["failureCode"]), (&json!("failed"), &Value::Null));
    assert!(now.data()["updatedAt"].as_str() > shown.data()["updatedAt"].as_str(), "each change updates updatedAt");
    // Both failed renders were refunded. The first and the third render are charged.
    assert_eq!(client.get("/account").await.data()["paid"], 100 - 9 - 1);
}

async fn free_uploads_are_counted_over_a_day(served: Served) {
    let web = Web::start(|visit| Reply::model(glb_with_triangle(visit.path.trim_matches('/'))));
    let served = served.again(|installation| {
        installation
            .set("PLINTH_FREE_UPLOADS_PER_DAY", "2")
            .set("PLINTH_INGEST_ALLOW_HOSTS", &web.address().to_string())
            .set("PLINTH_INGEST_LIMIT_PER_10_MINUTES", "1000")
    });
    let client = &served.client;
    for (name, ago) in [("long-ago", 24 * HOUR + MINUTE), ("within-the-day", 23 * HOUR)] {
        let then = Backstage::ago(&served, ago).await;
        let mut file = then.service.incoming_model(&then.caller, None).await.unwrap();
        file.write(&glb_with_triangle(name)).await.unwrap();
        let upload = Upload { file, name: "a.glb".to_owned(), settings: None };
        then.service.upload_model(&then.caller, upload).await.unwrap();
    }
    let stage = async |name: &str| {
        let ticket = client.post("/models/create-upload-url", json!({})).await;
        let put = client.http.put(ticket.text("url")).body(glb_with_triangle(name)).send().await.unwrap();
        assert!(put.status().is_success());
        json!({"ticket": ticket.text("ticket"), "filename": "a.glb"})
    };
    let (staged, staged_again) = (stage("staged").await, stage("second").await);
    let second = client.upload("second", None).await;
    assert_eq!(second.status, 201);
    let ingest = async |name: &str| client.post("/models/ingest", json!({"url": web.url(&format!("/{name}"))})).await;
    let finalize = async |staged: &Value| client.post("/models/finalize", staged.clone()).await;
    assert_eq!(client.upload("third", None).await.rejection(), (429, "upload_limit"));
    assert_eq!(client.post("/models/create-upload-url", json!({})).await.rejection(), (429, "upload_limit"));
    assert_eq!(ingest("third").await.rejection(), (429, "upload_limit"));
    assert_eq!(finalize(&staged).await.rejection(), (429, "upload_limit"));
    assert_eq!(client.get("/models?limit=1").await.body["meta"]["total"], 3, "no model was created");
    // Billed uploads do not count toward the limit of free uploads. Another account has its own limit.
    assert_eq!(client.upload("third", Some(json!({"quality": "share", "length": 1}))).await.status, 201);
    assert_eq!(
        client.upload("third", None).await.rejection(),
        (429, "upload_limit"),
        "the model has no preview yet, so the upload would create one"
    );
    let mut paid = staged;
    paid["renderSettings"] = json!({"quality": "share", "length": 1});
    assert_eq!(finalize(&paid).await.status, 201);
    let bob = served.client(&served.installation.account("bob@example.org"));
    assert_eq!(bob.upload("third", None).await.status, 201);
    // An upload that returns an existing preview does not count toward the limit. This holds for all kinds of upload.
    let (model, render) = (second.text("modelId"), second.text("renderId"));
    let expected = json!({"modelId": model, "renderId": render, "duplicate": true});
    for again in [client.upload("second", None).await, ingest("second").await, finalize(&staged_again).await] {
        assert_eq!((again.status, again.data()), (200, &expected));
    }
    let served = served.again(|installation| installation.set("PLINTH_FREE_UPLOADS_PER_DAY", "0"));
    let carol = served.client(&served.installation.account("carol@example.org"));
    assert_eq!(carol.upload("third", None).await.rejection(), (429, "upload_limit"));
}

async fn staged_files_that_are_not_finalized_are_removed_after_two_days(served: Served) {
    let mut staged = Vec::new();
    for ago in [48 * HOUR + 2 * MINUTE, 47 * HOUR] {
        let then = Backstage::ago(&served, ago).await;
        let made = then.service.create_upload_url(&then.caller, Some(60)).await.unwrap();
        let name = made.url.split("staged/").nth(1).unwrap().split('?').next().unwrap();
        let file = served.installation.objects().join("staged").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, glb_with_triangle("staged")).unwrap();
        staged.push((file, json!({"ticket": made.ticket, "filename": "a.glb"})));
    }
    let [(old, old_ticket), (young, young_ticket)] = staged.try_into().unwrap();
    // The restart runs the cleanup.
    let served = served.again(|installation| installation);
    while old.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let client = &served.client;
    assert_eq!(client.post("/models/finalize", old_ticket).await.rejection(), (404, "not_found"));
    assert_eq!(client.post("/models/finalize", young_ticket).await.status, 201);
    assert!(!young.exists(), "a finalized file is removed at once");
}

on_both! {
    a_key_replays_for_half_an_hour an_identical_request_within_seconds_is_a_replay
    an_identical_batch_within_seconds_is_a_replay a_replay_does_not_need_the_model
    failed_and_cancelled_renders_are_not_replayed free_uploads_are_counted_over_a_day
    staged_files_that_are_not_finalized_are_removed_after_two_days
}
