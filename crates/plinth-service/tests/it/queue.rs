//! The order of the queue gives accounts fair shares of worker time.

use std::collections::BTreeMap;
use std::time::Duration;

use plinth_db::unreferenced_objects;
use plinth_service::access::Caller;
use plinth_service::jobs::Claim;
use plinth_service::renders::RenderQuery;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, CreateBatch, CreateRender};
use plinth_store::ObjectKey;
use plinth_testkit::{TestDatabase, glb_with_triangle, on_both_databases};
use serde_json::json;

use crate::test_service::{self, TestService, some_files};

/// Creates an account with `renders` queued renders that share no frames.
async fn tenant(test_service: &TestService, name: &str, renders: usize) -> Caller {
    let email = format!("{name}@example.org");
    let caller = test_service::caller(&test_service.service, &email).await;
    test_service::grant(&test_service.service, &email, Pool::Paid, 1_000_000).await.unwrap();
    let first = test_service::upload(
        &test_service.service,
        &caller,
        "a.glb",
        &glb_with_triangle(name),
        Some(r#"{"length": 1}"#),
    )
    .await;
    let model = first.unwrap().result.model_id.to_string();
    let mut numbers = 1..renders;
    loop {
        let item = |n| BatchItem {
            model_id: Some(model.clone()),
            render_settings: Some(json!({"rotateY": n as f64 / 100.0})),
        };
        let items: Vec<_> = numbers.by_ref().take(100).map(item).collect();
        if items.is_empty() {
            return caller;
        }
        let request = CreateBatch { renders: Some(items) };
        test_service.service.create_batch(&caller, request, ReplayKey::from_header(None)).await.unwrap();
    }
}

async fn claim(test_service: &TestService) -> Option<Claim> {
    test_service.service.claim_renders("w", 16).await.unwrap().into_iter().next()
}

async fn an_account_with_one_render_is_not_delayed_by_one_with_many(address: &str) {
    let test_service = TestService::new(address).await;
    tenant(&test_service, "greedy", 500).await;
    let (first, second) = (claim(&test_service).await.unwrap(), claim(&test_service).await.unwrap());
    for _n in 0..20 {
        test_service.wait_ms(30_000);
        test_service.service.fail_render(&first, FailureCode::Timeout, "").await.unwrap().ok();
        claim(&test_service).await.unwrap();
    }
    let modest = tenant(&test_service, "modest", 1).await;
    // A second slot becomes free.
    test_service.service.fail_render(&second, FailureCode::Timeout, "").await.unwrap().ok();
    assert_eq!(claim(&test_service).await.unwrap().render.payer_id, modest.account_id);
    assert_ne!(
        claim(&test_service).await.unwrap().render.payer_id,
        modest.account_id,
        "the free slot processes the render of the other account"
    );
}

async fn slots_that_become_free_at_the_same_moment_take_work_of_different_accounts(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    for name in ["a", "b"] {
        tenant(&test_service, name, 2).await;
    }
    let mut claims = Vec::new();
    for _slot in 0..2 {
        claims.push(claim(&test_service).await.unwrap());
    }
    assert_ne!(claims[0].render.payer_id, claims[1].render.payer_id);
    claims.extend([claim(&test_service).await.unwrap(), claim(&test_service).await.unwrap()]);
    for claim in &claims {
        service.poster_stored(claim).await.unwrap().unwrap();
        service.finish_render(claim, &some_files(), &[]).await.unwrap().unwrap();
    }
    let mut packaged = Vec::new();
    for _slot in 0..2 {
        packaged.push(service.claim_packaging("w").await.unwrap().unwrap().render.payer_id);
    }
    assert_ne!(packaged[0], packaged[1]);
}

async fn packaging_uses_little_of_the_share_of_an_account(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    for name in ["a", "b"] {
        tenant(&test_service, name, 3).await;
    }
    let finish = async |claim: &Claim| {
        service.poster_stored(claim).await.unwrap().unwrap();
        service.finish_render(claim, &some_files(), &[]).await.unwrap().unwrap();
    };
    let first = claim(&test_service).await.unwrap();
    finish(&first).await;
    let packaging = service.claim_packaging("w").await.unwrap().unwrap();
    service.finish_packaging(&packaging, 1000).await.unwrap().unwrap();
    let second = claim(&test_service).await.unwrap();
    assert_ne!(second.render.payer_id, first.render.payer_id);
    test_service.wait_ms(59_000);
    finish(&second).await;
    assert_eq!(claim(&test_service).await.unwrap().render.payer_id, first.render.payer_id);
}

/// Two slots process the 10 000 queued renders of one account. Fifty times, another account creates a single render.
/// The next slot that becomes free claims this render.
async fn a_single_render_starts_in_the_next_free_slot(address: &str) {
    const JOB_MS: i64 = 30_000;
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    tenant(&test_service, "greedy", 10_000).await;
    let mut slots = [claim(&test_service).await.unwrap(), claim(&test_service).await.unwrap()];
    let modest = tenant(&test_service, "modest", 1).await;
    let model = service.list_renders(&modest, &RenderQuery::default()).await.unwrap().0.data[0].model_id.to_string();
    for number in 0..50_i32 {
        if number > 0 {
            let render_settings = Some(json!({"length": 1, "rotateY": number}));
            let request = CreateRender { model_id: Some(model.clone()), render_settings };
            service.create_render(&modest, request, ReplayKey::from_header(None)).await.unwrap();
        }
        test_service.wait_ms(JOB_MS);
        slots.reverse();
        // The worker time of a refunded render counts, too.
        service.fail_render(&slots[0], FailureCode::Timeout, "").await.unwrap().unwrap();
        let next = claim(&test_service).await.unwrap();
        assert_eq!(next.render.payer_id, modest.account_id, "try {number}");
        test_service.wait_ms(JOB_MS);
        service.fail_render(&next, FailureCode::Timeout, "").await.unwrap().unwrap();
        slots[0] = claim(&test_service).await.unwrap();
        assert_ne!(slots[0].render.payer_id, modest.account_id, "a free slot continues with the large account");
    }
}

/// Orders another render of the model of `taken`. Each call has a different `number`, so that the frames differ.
async fn order_another(test_service: &TestService, caller: &Caller, taken: &Claim, number: i32) {
    let request = CreateRender {
        model_id: Some(taken.render.model_id.to_string()),
        render_settings: Some(json!({"length": 1, "rotateY": 100.0 + f64::from(number) / 10.0})),
    };
    test_service.service.create_render(caller, request, ReplayKey::from_header(None)).await.unwrap();
}

/// Simulates two worker slots for an hour. The accounts always have 1, 10 and 1000 queued renders: each orders another one when a
/// worker claims one. The jobs have different lengths, and some of them fail. The simulated workers renew their leases.
async fn waiting_accounts_get_equal_worker_time(address: &str) {
    const STEP_MS: i64 = 5_000;
    let test_service = TestService::new(address).await;
    let (mut names, mut callers) = (BTreeMap::new(), BTreeMap::new());
    for (name, renders) in [("few", 1), ("some", 10), ("many", 1000)] {
        let caller = tenant(&test_service, name, renders).await;
        names.insert(caller.account_id.clone(), name);
        callers.insert(name, caller);
    }
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    let mut slots: [Option<(Claim, i64)>; 2] = [None, None];
    let mut ended = 0;
    let mut ordered = 0;
    'simulation: loop {
        for slot in &mut slots {
            if slot.is_none() {
                let taken = claim(&test_service).await.unwrap();
                let name = names[&taken.render.payer_id];
                ordered += 1;
                order_another(&test_service, &callers[name], &taken, ordered).await;
                // Accounts with more jobs have longer jobs.
                let length = match name {
                    "few" => 20_000,
                    "some" => 45_000,
                    _ => 70_000,
                };
                *slot = Some((taken, length));
            }
        }
        test_service.wait_ms(STEP_MS);
        for slot in &mut slots {
            let Some((taken, left)) = slot else { continue };
            *left -= STEP_MS;
            let name = names[&taken.render.payer_id];
            *used.entry(name).or_default() += STEP_MS;
            if *left > 0 {
                test_service.service.renew_claim(taken).await.unwrap().unwrap();
                continue;
            }
            ended += 1;
            if name == "many" || ended % 2 == 0 {
                // A failed job is refunded.
                test_service.service.fail_render(taken, FailureCode::Timeout, "").await.unwrap().unwrap();
            } else {
                test_service.service.poster_stored(taken).await.unwrap().unwrap();
                test_service.service.finish_render(taken, &some_files(), &[]).await.unwrap().unwrap();
            }
            *slot = None;
            if used.values().sum::<i64>() >= 2 * 3_600_000 {
                break 'simulation;
            }
        }
    }
    let mean = used.values().sum::<i64>() as f64 / 3.0;
    for (name, used) in &used {
        let off = (*used as f64 - mean).abs() / mean;
        assert!(off < 0.1, "{name} has {used} of {mean}: off by {off}");
    }
}

async fn previews_come_after_everything_else_of_the_account(address: &str) {
    let test_service = TestService::new(address).await;
    let preview = test_service.upload("first", None).await.unwrap().result.render_id;
    test_service.wait_ms(10);
    let ordered = test_service.upload("second", Some(r#"{"length": 1}"#)).await.unwrap().result.render_id;
    assert_eq!(claim(&test_service).await.unwrap().render.id, ordered);
    assert_eq!(claim(&test_service).await.unwrap().render.id, preview);
    assert!(claim(&test_service).await.is_none());
}

/// Workers find renders that an account creates after it was removed from the queue.
async fn an_account_reenters_the_queue(address: &str) {
    let test_service = TestService::new(address).await;
    let model = test_service.model("chair").await;
    let preview = claim(&test_service).await.unwrap();
    assert!(claim(&test_service).await.is_none());
    test_service.render(&model, json!({"length": 1}), None).await.unwrap();
    let ordered = claim(&test_service).await.unwrap();
    assert!(claim(&test_service).await.is_none());
    test_service.service.release_render(&ordered).await.unwrap().unwrap();
    let again = claim(&test_service).await.unwrap();
    assert_eq!(again.render.id, ordered.render.id);
    assert!(claim(&test_service).await.is_none());
    test_service.wait_ms(61_000);
    assert_eq!(test_service.service.reclaim_expired_leases().await.unwrap().renders, 2);
    let both = [claim(&test_service).await.unwrap().render.id, claim(&test_service).await.unwrap().render.id];
    assert_eq!(both, [ordered.render.id, preview.render.id]);
}

/// While another machine has locked one account, renders of other accounts are still requeued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reclaiming_skips_locked_accounts() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let held = tenant(&test_service, "held", 1).await;
    tenant(&test_service, "other", 1).await;
    assert!(claim(&test_service).await.is_some() && claim(&test_service).await.is_some());
    test_service.wait_ms(61_000);
    let elsewhere = test_service.beside(database.address()).await;
    let (tell, locked) = tokio::sync::oneshot::channel();
    let account = held.account_id.clone();
    let holding = tokio::spawn(async move {
        let work = elsewhere.db().write(|tx| {
            Box::pin(async move {
                plinth_db::accounts::lock(tx, &account).await?;
                tell.send(()).unwrap();
                std::future::pending::<()>().await;
                Ok::<_, plinth_db::DbError>(())
            })
        });
        work.await
    });
    locked.await.unwrap();
    let reclaimed = tokio::time::timeout(Duration::from_secs(5), test_service.service.reclaim_expired_leases()).await;
    assert_eq!(reclaimed.unwrap().unwrap().renders, 1);
    assert_ne!(claim(&test_service).await.unwrap().render.payer_id, held.account_id);
    holding.abort();
}

async fn cleanup_continues_after_a_failed_deletion(address: &str) {
    let test_service = TestService::new(address).await;
    let id = test_service.upload("chair", None).await.unwrap().result.model_id;
    let model = ObjectKey::Model(&id).path();
    // No object can have this prefix, so its deletion fails.
    for (prefix, due) in [("a//b", 1), (model.as_str(), 2)] {
        let prefix = prefix.to_owned();
        let work = test_service
            .service
            .db()
            .write(move |tx| Box::pin(async move { unreferenced_objects::insert(tx, &prefix, due).await }));
        work.await.unwrap();
    }
    assert_eq!(test_service.service.clean_up().await.unwrap().objects, 1);
    let left = unreferenced_objects::list(&mut test_service.service.db().read().await.unwrap()).await.unwrap();
    assert_eq!(left, ["a//b"], "the failed prefix stays scheduled");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        slots_that_become_free_at_the_same_moment_take_work_of_different_accounts
        packaging_uses_little_of_the_share_of_an_account
        an_account_with_one_render_is_not_delayed_by_one_with_many
        a_single_render_starts_in_the_next_free_slot
        waiting_accounts_get_equal_worker_time
        previews_come_after_everything_else_of_the_account
        an_account_reenters_the_queue
        cleanup_continues_after_a_failed_deletion
    }
}
