//! Tests of creating, listing and ending renders.

use std::collections::BTreeMap;
use std::time::Duration;

use plinth_service::renders::RenderQuery;
use plinth_spec::ErrorCode;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::wire::{BatchItem, CreateBatch, CreateRender};
use plinth_testkit::on_both_databases;
use serde_json::{Value, json};

use crate::test_service::{self, TestService, code};

fn batch(items: &[(&str, Value)]) -> CreateBatch {
    let item = |(model, settings): &(&str, Value)| BatchItem {
        model_id: Some((*model).to_owned()),
        render_settings: Some(settings.clone()),
    };
    CreateBatch { renders: Some(items.iter().map(item).collect()) }
}

async fn create_render_1_and_2_starts_pending_and_charges_at_creation(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let render = test_service.render(&model, Value::Null, None).await.unwrap();
    assert_eq!((render.status, render.is_preview, render.deduped), (RenderStatus::Pending, false, None));
    assert_eq!(render.render_settings, json!({}), "defaults are not filled in");
    assert_eq!(test_service.account().await.paid, 76);
    let tiny = test_service.render(&model, json!({"quality": "share", "videoLength": 0.1}), None).await.unwrap();
    assert_eq!(tiny.render_settings, json!({"quality": "share", "length": 0.1}));
    assert_eq!(test_service.account().await.paid, 75, "a render costs at least one credit");
    let dataset =
        test_service.render(&model, json!({"effect": "dataset", "datasetQuality": "100x800"}), None).await.unwrap();
    assert_eq!(test_service.account().await.paid, 35);
    let view = test_service.service.render(&test_service.caller, dataset.id.as_str()).await.unwrap();
    assert_eq!(view.hls_status, HlsStatus::Skipped);
    test_service.assert_balanced().await;
}

async fn create_render_3_falls_back_to_the_free_pool_unless_strict(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    test_service.grant(Pool::Paid, -90).await;
    assert_eq!(code(test_service.render(&model, json!({}), None).await), ErrorCode::NoCredits);
    test_service.grant(Pool::Free, 30).await;
    assert_eq!(code(test_service.render(&model, json!({"strictCredits": true}), None).await), ErrorCode::NoCredits);
    let render = test_service.render(&model, json!({}), None).await.unwrap();
    assert!(render.is_preview);
    assert_eq!(render.render_settings, json!({"preview": true}));
    let account = test_service.account().await;
    assert_eq!((account.paid, account.free, account.total), (10, 6, 16));
    let cancelled = test_service.service.cancel_render(&test_service.caller, render.id.as_str()).await.unwrap();
    assert_eq!(cancelled.refunded_credits, 24);
    let account = test_service.account().await;
    assert_eq!((account.paid, account.free), (10, 30), "refunded to the pool that was charged");
    test_service.assert_balanced().await;
}

async fn a_render_that_the_free_pool_pays_is_marked(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    test_service.grant(Pool::Free, 30).await;
    let order = async |settings: Value| test_service.render(&model, settings, None).await.unwrap().id;
    let of_secs = |length: u32| json!({"length": length});
    let paid = order(of_secs(1)).await;
    // The free preview of the model has these settings, too.
    let like_preview = order(json!({"quality": "share"})).await;
    test_service.grant(Pool::Paid, -test_service.account().await.paid.cast_signed()).await;
    test_service.wait_ms(6_000);
    let free = [order(of_secs(1)).await, order(of_secs(2)).await];
    let preview = test_service.upload("chair", None).await.unwrap().result.render_id;
    let mut expected = BTreeMap::from([(paid, false), (like_preview, false), (preview, true)]);
    expected.extend(free.map(|id| (id, true)));
    // No two of them have equal frames: some have a watermark, and of these no two have equal settings.
    while !expected.is_empty() {
        let claims = test_service.service.claim_renders("worker", 16).await.unwrap();
        assert_eq!(claims.len(), 1);
        assert_eq!(expected.remove(&claims[0].render.id), Some(claims[0].is_marked()));
    }
}

async fn create_render_4_same_key_and_settings_replays_for_30_minutes(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(Pool::Paid, 1000).await;
    let model = test_service.model("chair").await;
    let settings = json!({"bgColor": "#102030", "length": 1});
    let first = test_service.render(&model, settings.clone(), Some("key")).await.unwrap();
    test_service.wait_ms(30 * 60 * 1000);
    let again = test_service.render(&model, settings.clone(), Some("key")).await.unwrap();
    assert_eq!((again.id.clone(), again.deduped), (first.id.clone(), Some(true)));
    assert_eq!(test_service.account().await.paid, 1096, "no second charge");
    let other = test_service.render(&model, json!({"length": 1}), Some("key")).await.unwrap();
    assert_eq!(other.deduped, None, "a request with other settings creates another render");
    let long = format!("{}{}", "k".repeat(80), "tail");
    let cut = test_service.render(&model, settings.clone(), Some(&long)).await.unwrap();
    let same = test_service.render(&model, settings.clone(), Some(&"k".repeat(80))).await.unwrap();
    assert_eq!(cut.id, same.id, "only the first 80 characters of a key count");
    test_service.wait_ms(1);
    let late = test_service.render(&model, settings.clone(), Some("key")).await.unwrap();
    assert_ne!(late.id, first.id, "the 30 minutes begin with the first render");
    test_service.service.cancel_render(&test_service.caller, late.id.as_str()).await.unwrap();
    let after_cancel = test_service.render(&model, settings, Some("key")).await.unwrap();
    assert_eq!(after_cancel.deduped, None, "a cancelled render is not replayed");
    test_service.assert_balanced().await;
}

async fn create_render_4_a_key_that_was_answered_with_a_replay_gets_the_same_answer_again(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(Pool::Paid, 1000).await;
    let model = test_service.model("chair").await;
    let settings = json!({"length": 1});
    let first = test_service.render(&model, settings.clone(), Some("k1")).await.unwrap();
    let deduped = test_service.render(&model, settings.clone(), Some("k2")).await.unwrap();
    assert_eq!((&deduped.id, deduped.deduped), (&first.id, Some(true)));
    let paid = test_service.account().await.paid;
    test_service.wait_ms(6_000);
    test_service.service.delete_model(&test_service.caller, &model).await.unwrap();
    let again = test_service.render(&model, settings.clone(), Some("k2")).await.unwrap();
    assert_eq!((&again.id, again.deduped), (&first.id, Some(true)), "even if the model was deleted meanwhile");
    assert_eq!(code(test_service.render(&model, settings.clone(), Some("k3")).await), ErrorCode::ModelNotFound);
    assert_eq!(test_service.account().await.paid, paid, "nothing is charged again");

    // Equal renders of a batch are distinguished by their position, also in replays by idempotency key.
    let model = test_service.model("table").await;
    let request = || batch(&[(&model, settings.clone()), (&model, settings.clone())]);
    let order = async |key: &str| {
        let key = ReplayKey::from_header(Some(key));
        let made = test_service.service.create_batch(&test_service.caller, request(), key).await.unwrap();
        made.into_iter().map(|render| (render.id, render.deduped)).collect::<Vec<_>>()
    };
    let (made, deduped) = (order("b1").await, order("b2").await);
    test_service.wait_ms(30 * 60_000);
    let again = order("b2").await;
    for (n, (id, _deduped)) in made.iter().enumerate() {
        assert_eq!((&deduped[n], &again[n]), (&(id.clone(), Some(true)), &(id.clone(), Some(true))));
    }
    test_service.wait_ms(1);
    let late = order("b2").await;
    assert!(late.iter().all(|(id, deduped)| deduped.is_none() && made.iter().all(|(made, _deduped)| made != id)));
    // The cleanup deletes the rows of idempotency keys: one for the first model, two for the second one.
    let before = test_service.service.clean_up().await.unwrap().rows;
    assert!(before >= 3, "{before}");
    test_service.assert_balanced().await;
}

async fn create_render_5_an_identical_resubmit_within_5_seconds_is_one_render(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let first = test_service.render(&model, json!({"length": 1}), None).await.unwrap();
    test_service.wait_ms(5_000);
    assert_eq!(test_service.render(&model, json!({"length": 1}), None).await.unwrap().id, first.id);
    test_service.wait_ms(1);
    assert_ne!(test_service.render(&model, json!({"length": 1}), None).await.unwrap().id, first.id);
}

async fn create_render_5_an_order_after_an_upload_with_equal_settings_is_no_resubmit(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller, settings) = (&test_service.service, &test_service.caller, json!({"length": 1}));
    let upload = async || test_service.upload("chair", Some(&settings.to_string())).await.unwrap().result;
    let uploaded = upload().await;
    let items = vec![(uploaded.model_id.as_str(), settings.clone()); 3];
    let ordered = service.create_batch(caller, batch(&items), ReplayKey::from_header(None)).await.unwrap();
    assert!(ordered.iter().all(|render| render.deduped.is_none() && render.id != uploaded.render_id), "{ordered:?}");
    // The upload of a known file creates another render, too.
    let again = upload().await;
    assert_eq!((&again.model_id, again.duplicate), (&uploaded.model_id, Some(true)));
    assert!(again.render_id != uploaded.render_id && ordered.iter().all(|render| render.id != again.render_id));
    assert_eq!(test_service.account().await.paid, 100 - 5 * 4, "each of them is charged");
}

async fn create_render_6_a_batch_is_all_or_nothing_and_each_item_replays(address: &str) {
    let test_service = TestService::new(address).await;
    let (a, b) = (test_service.model("a").await, test_service.model("b").await);
    let service = &test_service.service;
    let key = || ReplayKey::from_header(Some("batch"));
    let send = async |request| service.create_batch(&test_service.caller, request, key()).await;
    assert_eq!(code(send(CreateBatch { renders: None }).await), ErrorCode::RendersRequired);
    assert_eq!(code(send(batch(&[])).await), ErrorCode::RendersRequired);
    assert_eq!(code(send(batch(&vec![(a.as_str(), json!({})); 101])).await), ErrorCode::TooMany);
    let too_dear = batch(&[(&a, json!({})), (&b, json!({"quality": "4k", "length": 5}))]);
    assert_eq!(code(send(too_dear).await), ErrorCode::NoCredits);
    assert_eq!(test_service.account().await.paid, 100, "nothing was charged");
    let unknown = batch(&[(&a, json!({})), ("k3Jd92LmQx7a", json!({}))]);
    assert_eq!(code(send(unknown).await), ErrorCode::ModelNotFound);

    // Two identical items of one batch create two renders.
    let items = batch(&[(&a, json!({"length": 1})), (&b, json!({})), (&a, json!({"length": 1}))]);
    let first = send(items.clone()).await.unwrap();
    assert_eq!(first.iter().filter(|r| r.deduped.is_some()).count(), 0);
    assert_ne!(first[0].id, first[2].id);
    assert_eq!(test_service.account().await.paid, 100 - 4 - 24 - 4);
    let again = send(items.clone()).await.unwrap();
    assert!(again.iter().all(|r| r.deduped == Some(true)));
    assert_eq!(again.iter().map(|r| &r.id).collect::<Vec<_>>(), first.iter().map(|r| &r.id).collect::<Vec<_>>());
    service.cancel_render(&test_service.caller, first[2].id.as_str()).await.unwrap();
    let third = send(items).await.unwrap();
    assert_eq!((third[0].deduped, third[1].deduped, third[2].deduped), (Some(true), Some(true), None));

    test_service.grant(Pool::Free, 100).await;
    let strict = batch(&[(&a, json!({"length": 15})), (&b, json!({"length": 15, "strictCredits": true}))]);
    assert_eq!(
        code(send(strict).await),
        ErrorCode::NoCredits,
        "the batch fails if the free pool would have to pay for a strict item"
    );
    test_service.assert_balanced().await;
}

async fn create_render_6_an_item_replays_without_the_other_items_of_its_batch(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let key = || ReplayKey::from_header(Some("batch"));
    let send =
        async |items: &[_]| test_service.service.create_batch(&test_service.caller, batch(items), key()).await.unwrap();
    let items = [1, 2, 3].map(|length| (model.as_str(), json!({"length": length})));
    let created = send(&items).await;
    test_service.wait_ms(6_000);
    for (item, earlier) in items.iter().zip(&created) {
        let replayed = send(std::slice::from_ref(item)).await.remove(0);
        assert_eq!((replayed.deduped, &replayed.id), (Some(true), &earlier.id));
    }
}

async fn create_render_7_needs_a_model_of_the_workspace(address: &str) {
    let test_service = TestService::new(address).await;
    let send = async |model_id: Option<&str>| {
        let request = CreateRender { model_id: model_id.map(str::to_owned), render_settings: None };
        code(test_service.service.create_render(&test_service.caller, request, ReplayKey::from_header(None)).await)
    };
    assert_eq!(send(None).await, ErrorCode::ModelIdRequired);
    assert_eq!(send(Some("")).await, ErrorCode::ModelIdRequired);
    assert_eq!(send(Some("nonsense")).await, ErrorCode::ModelNotFound);
    let other = test_service::caller(&test_service.service, "grace@example.org").await;
    let glb = plinth_testkit::glb_with_triangle("x");
    let theirs = test_service::upload(&test_service.service, &other, "x.glb", &glb, None).await.unwrap();
    assert_eq!(send(Some(theirs.result.model_id.as_str())).await, ErrorCode::ModelNotFound);
    let archived = test_service.model("mine").await;
    test_service.service.archive_model(&test_service.caller, &archived).await.unwrap();
    assert_eq!(send(Some(&archived)).await, ErrorCode::ModelNotFound);
}

async fn fifty_identical_concurrent_posts_make_one_render_and_one_charge(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let posts = (0..50).map(|_n| {
        let (service, caller, model) = (test_service.service.clone(), test_service.caller.clone(), model.clone());
        tokio::spawn(async move {
            let request = CreateRender { model_id: Some(model), render_settings: Some(json!({"length": 2})) };
            service.create_render(&caller, request, ReplayKey::from_header(Some("same"))).await.unwrap()
        })
    });
    let mut created = Vec::new();
    for post in posts.collect::<Vec<_>>() {
        created.push(post.await.unwrap());
    }
    assert!(created.iter().all(|r| r.id == created[0].id));
    assert_eq!(created.iter().filter(|r| r.deduped.is_none()).count(), 1);
    assert_eq!(test_service.account().await.paid, 92);
    test_service.assert_balanced().await;
}

async fn only_pending_renders_are_cancelled_and_only_ended_ones_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.upload("chair", Some(r#"{"length": 1}"#)).await.unwrap().result;
    let id = model.render_id.to_string();
    assert_eq!(code(service.delete_render(caller, &id).await), ErrorCode::RenderInFlight);
    let claim = test_service.claim().await;
    let not_cancelled = async |id: &str| {
        let error = service.cancel_render(caller, id).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RenderStarted);
        error.message
    };
    assert_eq!(not_cancelled(&id).await, "the render has begun and can no longer be cancelled");
    assert_eq!(code(service.delete_render(caller, &id).await), ErrorCode::RenderInFlight);
    assert_eq!(code(service.dismiss_render(caller, &id).await), ErrorCode::BadRequest);
    service.fail_render(&claim, FailureCode::RendererError, "bad\nmodel").await.unwrap().unwrap();
    let failed = service.render(caller, &id).await.unwrap();
    assert_eq!((failed.failure_code, failed.error_message.as_deref()), (Some(FailureCode::RendererError), Some("bad")));
    assert_eq!(test_service.account().await.paid, 96, "a failure caused by the model is not refunded");
    assert_eq!(not_cancelled(&id).await, "the render has ended and can no longer be cancelled");
    assert!(service.dismiss_render(caller, &id).await.unwrap().dismissed);
    let dismissed = service.render(caller, &id).await.unwrap();
    assert_eq!((dismissed.status, dismissed.failure_code), (RenderStatus::Failed, None));
    assert_eq!(not_cancelled(&id).await, "the render has ended and can no longer be cancelled");
    assert!(service.delete_render(caller, &id).await.unwrap().deleted);
    assert_eq!(code(service.render(caller, &id).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.delete_render(caller, &id).await), ErrorCode::RenderNotFound);

    let other = test_service.render(model.model_id.as_str(), json!({}), None).await.unwrap().id.to_string();
    let cancelled = service.cancel_render(caller, &other).await.unwrap();
    assert_eq!(cancelled.refunded_credits, 24);
    let view = service.render(caller, &other).await.unwrap();
    assert_eq!((view.status, view.error_message.as_deref()), (RenderStatus::Failed, Some("Cancelled")));
    assert_eq!(not_cancelled(&other).await, "the render is cancelled already");
    assert_eq!(test_service.account().await.paid, 96);
    test_service.assert_balanced().await;
}

async fn renders_of_another_workspace_are_not_found(address: &str) {
    let test_service = TestService::new(address).await;
    let id = test_service.upload("chair", None).await.unwrap().result.render_id.to_string();
    let other = test_service::caller(&test_service.service, "grace@example.org").await;
    let service = &test_service.service;
    assert_eq!(code(service.render(&other, &id).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.cancel_render(&other, &id).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.delete_render(&other, &id).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.dismiss_render(&other, &id).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.download_url(&other, &id, None, None).await), ErrorCode::RenderNotFound);
    assert_eq!(code(service.hls(&other, &id, "").await), ErrorCode::RenderNotFound);
    assert!(service.list_renders(&other, &RenderQuery::default()).await.unwrap().0.data.is_empty());
}

async fn lists_filter_by_model_state_and_time_of_change(address: &str) {
    let test_service = TestService::new(address).await;
    let (a, b) = (test_service.model("a").await, test_service.model("b").await);
    test_service.wait_ms(1_000);
    let render = test_service.render(&a, json!({"length": 1}), None).await.unwrap();
    let list = async |query: RenderQuery| test_service.service.list_renders(&test_service.caller, &query).await;
    let text = |value: &str| Some(value.to_owned());
    let count = async |query: RenderQuery| list(query).await.unwrap().0.data.len();
    assert_eq!(count(RenderQuery { model: text(&a), ..RenderQuery::default() }).await, 2);
    assert_eq!(count(RenderQuery { model: text(&b), ..RenderQuery::default() }).await, 1);
    assert_eq!(count(RenderQuery { model: text("nonsense"), ..RenderQuery::default() }).await, 0);
    assert_eq!(count(RenderQuery { status: text("done"), ..RenderQuery::default() }).await, 0);
    let bad = RenderQuery { status: text("finished"), ..RenderQuery::default() };
    assert_eq!(code(list(bad).await), ErrorCode::BadRequest);
    let since = RenderQuery { updated_since: text("2027-01-15T08:00:01Z"), ..RenderQuery::default() };
    let (changed, _memory) = list(since).await.unwrap();
    assert_eq!(changed.data.iter().map(|r| &r.id).collect::<Vec<_>>(), [&render.id]);
}

async fn large_pages_reserve_memory_until_they_are_sent(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.model("chair").await;
    let settings = json!({"quality": "share", "length": 1, "hiddenMeshNames": vec!["x".repeat(256); 512]});
    let items = vec![(model.as_str(), settings); 33];
    service.create_batch(caller, batch(&items), ReplayKey::from_header(None)).await.unwrap();
    let list = async |limit: &str| {
        let query = RenderQuery { limit: Some(limit.to_owned()), ..RenderQuery::default() };
        tokio::time::timeout(Duration::from_secs(1), service.list_renders(caller, &query)).await
    };
    let (page, memory) = list("100").await.unwrap().unwrap();
    assert_eq!(page.data.len(), 34);
    assert!(list("100").await.is_err(), "two such pages have more than the share of one account");
    assert!(list("2").await.is_ok(), "a small page has room");
    drop(memory);
    assert!(list("100").await.is_ok());
}

async fn large_details_of_a_model_reserve_memory_until_they_are_sent(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.model("chair").await;
    let settings = json!({"quality": "share", "length": 1, "hiddenMeshNames": vec!["x".repeat(256); 512]});
    service
        .create_batch(caller, batch(&vec![(model.as_str(), settings); 33]), ReplayKey::from_header(None))
        .await
        .unwrap();
    let find = async || tokio::time::timeout(Duration::from_secs(1), service.model_with_renders(caller, &model)).await;
    let (details, memory) = find().await.unwrap().unwrap();
    assert!(details.renders.len() > 30, "{}", details.renders.len());
    assert!(find().await.is_err(), "two such responses have more than the share of one account");
    assert!(service.model(caller, &model).await.unwrap().renders.is_empty());
    drop(memory);
    assert!(find().await.is_ok());
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        create_render_1_and_2_starts_pending_and_charges_at_creation
        create_render_3_falls_back_to_the_free_pool_unless_strict
        a_render_that_the_free_pool_pays_is_marked
        create_render_4_same_key_and_settings_replays_for_30_minutes
        create_render_4_a_key_that_was_answered_with_a_replay_gets_the_same_answer_again
        create_render_5_an_identical_resubmit_within_5_seconds_is_one_render
        create_render_5_an_order_after_an_upload_with_equal_settings_is_no_resubmit
        create_render_6_a_batch_is_all_or_nothing_and_each_item_replays
        create_render_6_an_item_replays_without_the_other_items_of_its_batch
        create_render_7_needs_a_model_of_the_workspace
        fifty_identical_concurrent_posts_make_one_render_and_one_charge
        only_pending_renders_are_cancelled_and_only_ended_ones_deleted
        renders_of_another_workspace_are_not_found
        lists_filter_by_model_state_and_time_of_change
        large_pages_reserve_memory_until_they_are_sent
        large_details_of_a_model_reserve_memory_until_they_are_sent
    }
}
