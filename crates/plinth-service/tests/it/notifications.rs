//! Tests of the notifications of queued work, which wake idle workers in other processes.

use std::time::Duration;

use plinth_db::{Heard, QueueListener, Queued};
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, CreateBatch};
use plinth_spec::{Takes, WorkClass};
use plinth_testkit::TestDatabase;
use serde_json::json;
use tokio::time::timeout;

use crate::test_service::{TestService, some_files};

const PATIENCE: Duration = Duration::from_mins(1);

async fn listen(test_service: &TestService, takes: &Takes) -> QueueListener {
    test_service.service.db().listen(takes).await.unwrap().unwrap()
}

/// Collects notifications until one of the class `last` arrives.
async fn heard(listener: &mut QueueListener, last: WorkClass) -> Vec<(u32, WorkClass)> {
    let mut heard = Vec::new();
    loop {
        let next = timeout(PATIENCE, listener.next()).await.unwrap().unwrap();
        let Heard::Queued(Queued { jobs, class }) = next else { panic!("{next:?}") };
        heard.push((jobs, class.unwrap()));
        if class == Some(last) {
            return heard;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_enters_the_queue_is_announced_once() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let mut listener = listen(&test_service, &Takes::default()).await;
    let model = test_service.model("chair").await;
    service.claim_renders("w", 1).await.unwrap();
    test_service.render(&model, json!({"quality": "standard", "length": 1}), None).await.unwrap();
    let claim = test_service.claim().await;
    service.release_render(&claim).await.unwrap().unwrap();
    test_service.claim().await;
    test_service.wait_ms(61_000);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 2, "the preview and the render");
    // The render is claimed before the free preview.
    let claim = test_service.claim().await;
    service.renew_claim(&claim).await.unwrap().unwrap();
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let packaging = service.claim_packaging("w").await.unwrap().unwrap();
    service.release_packaging(&packaging).await.unwrap().unwrap();
    test_service.render(&model, json!({"quality": "pro", "length": 1}), None).await.unwrap();
    let mut heard = heard(&mut listener, WorkClass::Pro).await;
    // The two lost renders are requeued in the order in which their leases expired.
    heard[3..5].sort_unstable();
    let [share, standard] = [(1, WorkClass::Share), (1, WorkClass::Standard)];
    let expected = [share, standard, standard, share, standard, standard, standard, (1, WorkClass::Pro)];
    assert_eq!(heard, expected, "preview, order, release, two lost leases, packaging, its release, order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_batch_is_not_announced() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let model = test_service.model("chair").await;
    let mut listener = listen(&test_service, &Takes::default()).await;
    let order = async || {
        let item = BatchItem {
            model_id: Some(model.clone()),
            render_settings: Some(json!({"quality": "standard", "length": 1})),
        };
        let batch = CreateBatch { renders: Some(vec![item.clone(), item]) };
        let key = ReplayKey::from_header(Some("a batch"));
        test_service.service.create_batch(&test_service.caller, batch, key).await.unwrap()
    };
    order().await;
    assert!(order().await.iter().all(|render| render.deduped == Some(true)));
    test_service.render(&model, json!({"quality": "pro", "length": 1}), None).await.unwrap();
    assert_eq!(heard(&mut listener, WorkClass::Pro).await, [(2, WorkClass::Standard), (1, WorkClass::Pro)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listeners_are_counted_with_the_classes_that_they_take() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let mut all = listen(&test_service, &Takes::default()).await;
    let small: Takes = "share,standard".parse().unwrap();
    let other = listen(&test_service, &small).await;
    let mut found = all.list_listeners().await.unwrap();
    found.sort_by_key(|takes| takes != &small);
    assert_eq!(found, [small, Takes::default()]);
    drop(other);
    let gone = async { while all.list_listeners().await.unwrap().len() > 1 {} };
    timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn sqlite_has_no_notifications() {
    let database = TestDatabase::sqlite();
    let test_service = TestService::new(database.address()).await;
    assert!(test_service.service.db().listen(&Takes::default()).await.unwrap().is_none());
}
