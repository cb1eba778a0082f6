//! Tests of creating, reading, quoting, cancelling and deleting renders.

use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;
use plinth_testkit::Answer;
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::{Backstage, content};
use super::on_both;
use super::server::{EMAIL, Served};

async fn a_render_is_created_charged_and_shown(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let sent = json!({"bgAlign": "top-right", "videoLength": 1, "translateY": 0.5});
    let made = client.post("/renders", json!({"modelId": model, "renderSettings": sent})).await;
    let id = made.text("id");
    let settings = json!({"bgAlign": "right", "length": 1, "translateY": 0.5});
    let expected =
        json!({"id": id, "modelId": model, "status": "pending", "isPreview": false, "renderSettings": settings});
    assert_eq!((made.status, made.data()), (201, &expected));
    let shown = client.get(&format!("/renders/{id}")).await;
    let created = &shown.data()["createdAt"];
    let expected = json!({"id": id, "modelId": model, "status": "pending", "renderSettings": settings, "fileSize": null,
        "errorMessage": null, "failureCode": null, "hasWebVariant": false, "hasThumb": false, "isPreview": false,
        "isSystemPreview": false, "unlockedAt": null, "hlsStatus": "pending", "hlsReady": false, "datasetZipSize": null,
        "warnings": [], "progress": 0.0, "createdAt": created, "updatedAt": created});
    assert_eq!(shown.data(), &expected);
    assert_eq!(client.get("/renders?limit=1").await.body["data"], json!([expected]));
    let paid = async || client.get("/account").await.data()["paid"].as_i64().unwrap();
    let mut left = paid().await;
    assert_eq!(left, 96, "a second of standard costs 4");
    served.installation.admin(&["credits", "grant", EMAIL, "10000"]);
    left += 10_000;
    // The default length is six seconds. Each quality has its price per second, with a minimum of one credit. Datasets
    // have fixed prices.
    for (settings, cost) in [
        (Value::Null, 24),
        (json!({"quality": "share"}), 6),
        (json!({"quality": "share", "length": 0.1}), 1),
        (json!({"quality": "4k", "length": 2.5}), 40),
        (json!({"quality": "pro", "length": 1}), 64),
        (json!({"output": "dataset", "datasetQuality": "100x800"}), 40),
        (json!({"effect": "dataset", "datasetQuality": "196x1024", "coverage": "sphere"}), 160),
        (json!({"output": "dataset", "datasetQuality": "400x2048"}), 640),
    ] {
        let item = settings.as_object().cloned().unwrap_or_default();
        let quote = client.post("/quote", json!({"renders": [item]})).await;
        assert_eq!(quote.data()["creditsRequired"], cost, "{settings}");
        let made = client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
        left -= cost;
        assert_eq!((made.status, paid().await), (201, left), "{settings}");
    }
    let last = client.get("/purchases?limit=1").await.data()[0].clone();
    for (name, value) in [("type", json!("render")), ("credits", json!(-640)), ("priceCents", json!(0))] {
        assert_eq!(last[name], value, "{name}");
    }
    for (body, rejection) in [
        (json!({}), (400, "model_id_required")),
        (json!({"modelId": ""}), (400, "model_id_required")),
        (json!({"modelId": "k3Jd92LmQx7a"}), (404, "model_not_found")),
        (json!({"modelId": model, "renderSettings": "{}"}), (400, "invalid_settings")),
        (json!({"modelId": model, "renderSettings": {"preview": true}}), (400, "invalid_settings")),
        (json!({"modelId": model, "renderSettings": {"length": 121}}), (422, "invalid_length")),
    ] {
        assert_eq!(client.post("/renders", body.clone()).await.rejection(), rejection, "{body}");
    }
    client.send(Method::PATCH, &format!("/models/{model}/archive"), json!({})).await.data();
    let rejected = client.post("/renders", json!({"modelId": model})).await;
    assert_eq!(rejected.rejection(), (404, "model_not_found"), "archived");
}

async fn a_batch_is_all_or_nothing(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let item = |length: f64| json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
    let post = async |items: Vec<Value>| {
        let body = json!({"renders": items}).to_string();
        let request = client.request(Method::POST, "/renders/batch").header("content-type", "application/json");
        Answer::to(request.header("idempotency-key", "batch").body(body)).await
    };
    let state = async || {
        let paid = client.get("/account").await.data()["paid"].as_i64().unwrap();
        (paid, client.get("/renders?limit=1").await.body["meta"]["total"].as_i64().unwrap())
    };
    let first = post(vec![item(1.0), item(1.0), item(2.0)]).await;
    let rows = first.data().as_array().unwrap().clone();
    assert_eq!((first.status, rows.len(), state().await), (201, 3, (96, 4)));
    assert_ne!(rows[0]["id"], rows[1]["id"], "equal items of a batch are separate renders");
    let expected = json!({"id": rows[0]["id"], "modelId": model, "status": "pending", "isPreview": false});
    assert_eq!(rows[0], expected);
    // Each item replays the render of the same item in the first batch. New items create renders.
    let again = post(vec![item(1.0), item(1.0), item(3.0)]).await;
    let replayed = again.data().as_array().unwrap();
    assert_eq!((again.status, &replayed[0]["id"], &replayed[1]["id"]), (201, &rows[0]["id"], &rows[1]["id"]));
    assert_eq!((&replayed[0]["deduped"], &replayed[2].get("deduped")), (&json!(true), &None));
    assert_eq!(state().await, (93, 5));
    for (bad, rejection) in [
        (json!({"modelId": model, "renderSettings": {"quality": "4k"}}), (402, "no_credits")),
        (json!({"modelId": "k3Jd92LmQx7a"}), (404, "model_not_found")),
        (json!({}), (400, "model_id_required")),
        (json!({"modelId": model, "renderSettings": {"zoom": 9}}), (400, "invalid_settings")),
        (json!({"modelId": model, "renderSettings": {"length": 0}}), (422, "invalid_length")),
    ] {
        let rejected = post(vec![item(9.0), bad.clone()]).await;
        assert_eq!(rejected.rejection(), rejection, "{bad}");
        // The balance does not cover the batch as a whole. All other errors are about the second item.
        let message = rejected.body["error"]["message"].as_str().unwrap();
        assert_eq!(message.ends_with(" (in renders[1])"), rejection.0 != 402, "{message}");
    }
    // The whole batch is rejected if the free pool would have to pay for an item with `strictCredits`.
    served.installation.admin(&["credits", "grant", EMAIL, "1000", "--pool", "free"]);
    let strict = json!({"modelId": model, "renderSettings": {"quality": "4k", "strictCredits": true}});
    let rejected = post(vec![item(9.0), strict]).await;
    assert_eq!(rejected.rejection(), (402, "no_credits"));
    let message = rejected.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("all 2 renders") && message.contains("93 paid and 1000 free"), "{message}");
    assert_eq!(state().await, (93, 5));
    let body = json!({"renders": "x"});
    assert_eq!(client.post("/renders/batch", body).await.rejection(), (400, "bad_request"));
    assert_eq!(client.post("/renders/batch", json!({})).await.rejection(), (400, "renders_required"));
}

async fn a_render_follows_the_state_table(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let made = client.upload("chair", Some(json!({"quality": "share", "length": 5}))).await;
    let path = format!("/renders/{}", made.text("renderId"));
    let cancel = async || client.post(&format!("{path}/cancel"), json!({})).await;
    let delete = async || client.send(Method::DELETE, &path, json!({})).await;
    let dismiss = async || client.send(Method::PATCH, &format!("{path}/dismiss"), json!({})).await;
    let mut changes = vec![client.get(&path).await.text("updatedAt")];
    let mut state = async |expected: &str| {
        let now = client.get(&path).await;
        assert_eq!(now.data()["status"], expected);
        let at = now.text("updatedAt");
        assert!(expected == "pending" || changes.last().unwrap() < &at, "{expected}: {changes:?} {at}");
        changes.push(at);
    };
    state("pending").await;
    assert_eq!(delete().await.rejection(), (409, "render_in_flight"));
    assert_eq!(dismiss().await.rejection(), (400, "bad_request"));
    let claim = backstage.claim(&made.text("renderId")).await;
    state("poster-processing").await;
    for _ in 0..2 {
        assert_eq!(cancel().await.rejection(), (409, "render_started"));
        assert_eq!(delete().await.rejection(), (409, "render_in_flight"));
        assert_eq!(dismiss().await.rejection(), (400, "bad_request"));
        if client.get(&path).await.data()["status"] == "poster-processing" {
            backstage.service.poster_stored(&claim).await.unwrap().unwrap();
            state("video-processing").await;
        }
    }
    let paid = async || client.get("/account").await.data()["paid"].clone();
    let code = plinth_spec::FailureCode::RendererError;
    backstage.service.fail_render(&claim, code, "no such mesh").await.unwrap().unwrap();
    state("error").await;
    assert_eq!(paid().await, 95, "a failure caused by the model is not refunded");
    assert_eq!(cancel().await.rejection(), (409, "render_started"));
    assert_eq!(dismiss().await.data()["dismissed"], true);
    state("failed").await;
    assert_eq!(delete().await.data(), &json!({"id": made.text("renderId"), "deleted": true}));
    for verb in ["", "/hls", "/video", "/bundle", "/download-url"] {
        assert_eq!(client.get(&format!("{path}{verb}")).await.rejection(), (404, "render_not_found"), "{verb}");
    }
    assert_eq!(
        (cancel().await.rejection(), delete().await.rejection()),
        ((404, "render_not_found"), (404, "render_not_found"))
    );
    assert_eq!(dismiss().await.rejection(), (404, "render_not_found"));
    assert_eq!(paid().await, 95, "deleting a render does not refund it either");
    let done = served.finished().await;
    let before = paid().await;
    assert_eq!(client.post(&format!("/renders/{done}/cancel"), json!({})).await.rejection(), (409, "render_started"));
    client.send(Method::DELETE, &format!("/renders/{done}"), json!({})).await.data();
    assert_eq!(paid().await, before);
}

/// If a worker is interrupted after it has stored the poster, the render can be neither cancelled nor deleted, and its
/// stored files remain.
async fn poster_done_is_in_flight(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let id = client.upload("chair", Some(json!({"quality": "share", "length": 5}))).await.text("renderId");
    let path = format!("/renders/{id}");
    let claim = backstage.claim(&id).await;
    for file in [OutputFile::FullPoster, OutputFile::Poster] {
        backstage.store(&claim, file, Codec::H264).await;
    }
    backstage.service.poster_stored(&claim).await.unwrap().unwrap();
    backstage.service.release_render(&claim).await.unwrap().unwrap();
    assert_eq!(client.get(&path).await.data()["status"], "poster-done");
    let cancelled = client.post(&format!("{path}/cancel"), json!({})).await;
    assert_eq!(cancelled.rejection(), (409, "render_started"));
    assert_eq!(client.send(Method::DELETE, &path, json!({})).await.rejection(), (409, "render_in_flight"));
    let dismissed = client.send(Method::PATCH, &format!("{path}/dismiss"), json!({})).await;
    assert_eq!(dismissed.rejection(), (400, "bad_request"));
    for (file, rejection) in [
        ("video", "video_not_found"),
        ("video?quality=web", "video_not_found"),
        ("thumb", "thumb_not_found"),
        ("bundle", "video_not_found"),
        ("download-url", "asset_not_found"),
    ] {
        assert_eq!(client.get(&format!("{path}/{file}")).await.rejection(), (404, rejection), "{file}");
    }
    for (file, name) in [("poster", "poster.small.png"), ("poster?quality=full", "poster.png")] {
        let poster = client.get_with(&format!("{path}/{file}"), "accept", "*/*").await;
        assert_eq!((poster.status().as_u16(), poster.text().await.unwrap()), (200, content(name)), "{file}");
    }
    let account = client.get("/account").await;
    assert_eq!(
        (&client.get(&path).await.data()["status"], &account.data()["paid"]),
        (&json!("poster-done"), &json!(95))
    );
    // Another worker resumes the render.
    backstage.claim(&id).await;
    assert_eq!(client.get(&path).await.data()["status"], "video-processing");
}

async fn an_error_need_not_be_dismissed_to_be_deleted(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let id = client.upload("chair", Some(json!({"quality": "share", "length": 5}))).await.text("renderId");
    let path = format!("/renders/{id}");
    let claim = backstage.claim(&id).await;
    let code = plinth_spec::FailureCode::RendererError;
    backstage.service.fail_render(&claim, code, "no such mesh").await.unwrap().unwrap();
    assert_eq!(client.get(&path).await.data()["status"], "error");
    let ledger = client.get("/purchases").await;
    let deleted = client.send(Method::DELETE, &path, json!({})).await;
    assert_eq!((deleted.status, deleted.data()), (200, &json!({"id": id, "deleted": true})));
    assert_eq!(client.get(&path).await.rejection(), (404, "render_not_found"));
    assert_eq!(client.get("/account").await.data()["paid"], 95, "no refund");
    assert_eq!(client.get("/purchases").await.body, ledger.body);
}

/// Two requests delete the same render at the same time. The second one gets the same response as a later request: not
/// found.
async fn a_second_concurrent_deletion_finds_nothing(served: Served) {
    let client = &served.client;
    let mut ids = Vec::new();
    for length in 1..=8 {
        let settings = json!({"quality": "share", "length": length});
        let id = client.upload("chair", Some(settings)).await.text("renderId");
        client.post(&format!("/renders/{id}/cancel"), json!({})).await.data();
        ids.push(id);
    }
    for id in ids {
        let path = format!("/renders/{id}");
        let deletes = (0..8).map(|_| {
            let (client, path) = (client.clone(), path.clone());
            tokio::spawn(async move { client.send(Method::DELETE, &path, json!({})).await })
        });
        let mut removed = 0;
        for delete in deletes.collect::<Vec<_>>() {
            let answer = delete.await.unwrap();
            if answer.status == 200 {
                assert_eq!(answer.data(), &json!({"id": id, "deleted": true}));
                removed += 1;
            } else {
                assert_eq!(answer.rejection(), (404, "render_not_found"));
            }
        }
        assert_eq!(removed, 1);
    }
}

async fn cancelling_again_reports_the_first_cancellation(served: Served) {
    let client = &served.client;
    let id = client.upload("chair", Some(json!({"quality": "share", "length": 5}))).await.text("renderId");
    let cancel = async || client.post(&format!("/renders/{id}/cancel"), json!({})).await;
    assert_eq!(cancel().await.data(), &json!({"id": id, "cancelled": true, "refundedCredits": 5}));
    let again = cancel().await;
    assert_eq!(again.rejection(), (409, "render_started"));
    let message = again.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("cancelled") && !message.contains("begun") && !message.contains("started"), "{message}");
    assert_eq!(client.get("/account").await.data()["paid"], 100, "refunded once");
}

async fn failures_not_caused_by_the_model_are_refunded(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    for (number, code) in plinth_spec::FailureCode::ALL.iter().enumerate() {
        let settings = json!({"quality": "share", "length": number + 1});
        let id = client.upload("chair", Some(settings)).await.text("renderId");
        let claim = backstage.claim(&id).await;
        backstage.service.fail_render(&claim, *code, "words\nmore words").await.unwrap().unwrap();
        let shown = client.get(&format!("/renders/{id}")).await;
        let (status, message) = (&shown.data()["status"], &shown.data()["errorMessage"]);
        assert_eq!((status, message), (&json!("error"), &json!("words")));
        assert_eq!(shown.data()["failureCode"], code.as_str());
        let entries = client.get("/purchases").await;
        let of_render = entries.data().as_array().unwrap().iter().filter(|entry| entry["renderId"] == id.as_str());
        let mut credits: Vec<i64> = of_render.map(|entry| entry["credits"].as_i64().unwrap()).collect();
        // The order of the two entries is undefined, because different processes may have written them within one millisecond.
        credits.sort_unstable();
        let cost = i64::try_from(number + 1).unwrap();
        let expected = if code.as_str() == "renderer_error" { vec![-cost] } else { vec![-cost, cost] };
        assert_eq!(credits, expected, "{}", code.as_str());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quotes_cover_all_kinds_of_renders() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let quote = client.post("/quote", json!({"renders": [
        {"quality": "4k"}, {"videoLength": 2}, {"effect": "dataset"}, {"output": "dataset", "datasetQuality": "196x1024"}, {}
    ]}));
    let expected = json!({
        "creditsRequired": 96 + 8 + 40 + 160 + 24, "creditsAvailable": 100, "sufficient": false,
        "breakdown": [
            {"quality": "4k", "length": 6.0, "credits": 96}, {"quality": "standard", "length": 2.0, "credits": 8},
            {"datasetQuality": "100x800", "credits": 40}, {"datasetQuality": "196x1024", "credits": 160},
            {"quality": "standard", "length": 6.0, "credits": 24},
        ],
    });
    assert_eq!(quote.await.data(), &expected);
    served.installation.admin(&["credits", "grant", EMAIL, "28", "--pool", "free"]);
    let account = client.get("/account").await;
    for (name, value) in [("credits", 100), ("paid", 100), ("free", 28), ("total", 128)] {
        assert_eq!(account.data()[name], value, "{name}");
    }
    let just = client.post("/quote", json!({"renders": [{"quality": "4k", "length": 5}]})).await;
    assert_eq!((&just.data()["creditsAvailable"], &just.data()["sufficient"]), (&json!(128), &json!(true)));
    for (body, rejection) in [
        (json!({}), (400, "renders_required")),
        (json!({"renders": []}), (400, "renders_required")),
        (json!({"renders": vec![json!({}); 101]}), (400, "too_many")),
        (json!({"renders": [{"quality": "huge"}]}), (400, "invalid_settings")),
        (json!({"renders": [{"length": 121}]}), (422, "invalid_length")),
        (json!({"renders": [5]}), (400, "invalid_settings")),
    ] {
        assert_eq!(client.post("/quote", body.clone()).await.rejection(), rejection, "{body}");
    }
    for (renders, named) in [(json!([{}, {"zoom": 9}, {"zoom": 8}]), true), (json!([{"zoom": 9}]), false)] {
        let rejected = client.post("/quote", json!({"renders": renders})).await;
        assert_eq!(rejected.rejection(), (400, "invalid_settings"), "{renders}");
        let message = rejected.body["error"]["message"].as_str().unwrap();
        assert_eq!(message.ends_with(" (in renders[1])"), named, "{message}");
    }
    assert_eq!(client.get("/products").await.body, json!({"data": []}));
}

on_both! {
    a_render_is_created_charged_and_shown a_batch_is_all_or_nothing a_render_follows_the_state_table
    poster_done_is_in_flight an_error_need_not_be_dismissed_to_be_deleted a_second_concurrent_deletion_finds_nothing
    cancelling_again_reports_the_first_cancellation failures_not_caused_by_the_model_are_refunded
}
