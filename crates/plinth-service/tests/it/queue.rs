//! The order of the queue: fair shares of slot time.

use std::collections::BTreeMap;
use std::time::Duration;

use plinth_db::garbage;
use plinth_service::access::Caller;
use plinth_service::jobs::Claim;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, CreateBatch};
use plinth_store::ObjectKey;
use plinth_testkit::{TestDatabase, glb_with_triangle, on_both_databases};
use serde_json::json;

use crate::house::{self, House, some_files};

/// An account with so many renders, each with frames of its own.
async fn tenant(house: &House, name: &str, renders: usize) -> Caller {
    let email = format!("{name}@example.org");
    let caller = house::caller(&house.service, &email).await;
    house.service.grant_credits(&email, Pool::Paid, 1_000_000).await.unwrap();
    let first =
        house::upload(&house.service, &caller, "a.glb", &glb_with_triangle(name), Some(r#"{"length": 1}"#)).await;
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
        house.service.create_batch(&caller, request, ReplayKey::from_header(None)).await.unwrap();
    }
}

async fn claim(house: &House) -> Option<Claim> {
    house.service.claim_renders("w", 16).await.unwrap().into_iter().next()
}

async fn one_render_comes_next_whoever_else_has_thousands(address: &str) {
    let house = House::new(address).await;
    tenant(&house, "greedy", 500).await;
    let (first, second) = (claim(&house).await.unwrap(), claim(&house).await.unwrap());
    for _n in 0..20 {
        house.wait_ms(30_000);
        house.service.fail_render(&first, FailureCode::Timeout, "").await.unwrap().ok();
        claim(&house).await.unwrap();
    }
    let modest = tenant(&house, "modest", 1).await;
    // The next slot is free.
    house.service.fail_render(&second, FailureCode::Timeout, "").await.unwrap().ok();
    assert_eq!(claim(&house).await.unwrap().render.payer_id, modest.account_id);
    assert_ne!(claim(&house).await.unwrap().render.payer_id, modest.account_id, "no slot is idle");
}

/// Simulates two slots for half an hour: jobs of different lengths, finished, refunded or free. Leases are renewed as workers do.
async fn accounts_that_wait_get_equal_slot_time(address: &str) {
    const STEP_MS: i64 = 5_000;
    let house = House::new(address).await;
    let mut names = BTreeMap::new();
    for (name, renders) in [("few", 60), ("some", 100), ("many", 1000)] {
        names.insert(tenant(&house, name, renders).await.account_id, name);
    }
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    let mut slots: [Option<(Claim, i64)>; 2] = [None, None];
    let mut ended = 0;
    // Until one of them has nothing left.
    'simulation: loop {
        for slot in &mut slots {
            if slot.is_none() {
                let taken = claim(&house).await.unwrap();
                // Whoever has more has longer jobs, too.
                let length = match names[&taken.render.payer_id] {
                    "few" => 20_000,
                    "some" => 45_000,
                    _ => 70_000,
                };
                *slot = Some((taken, length));
            }
        }
        house.wait_ms(STEP_MS);
        for slot in &mut slots {
            let Some((taken, left)) = slot else { continue };
            *left -= STEP_MS;
            let name = names[&taken.render.payer_id];
            *used.entry(name).or_default() += STEP_MS;
            if *left > 0 {
                house.service.renew_claim(taken).await.unwrap().unwrap();
                continue;
            }
            ended += 1;
            if name == "many" || ended % 2 == 0 {
                // It costs its owner nothing in the end.
                house.service.fail_render(taken, FailureCode::Timeout, "").await.unwrap().unwrap();
            } else {
                house.service.poster_stored(taken).await.unwrap().unwrap();
                house.service.finish_render(taken, &some_files(), &[]).await.unwrap().unwrap();
            }
            *slot = None;
            if used.get("few").is_some_and(|used| *used >= 60 * 20_000) {
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
    let house = House::new(address).await;
    let preview = house.upload("first", None).await.unwrap().result.render_id;
    house.wait_ms(10);
    let ordered = house.upload("second", Some(r#"{"length": 1}"#)).await.unwrap().result.render_id;
    assert_eq!(claim(&house).await.unwrap().render.id, ordered);
    assert_eq!(claim(&house).await.unwrap().render.id, preview);
    assert!(claim(&house).await.is_none());
}

/// What is queued after an account was found to have nothing left is found, too.
async fn an_account_comes_back_into_the_queue(address: &str) {
    let house = House::new(address).await;
    let model = house.model("chair").await;
    let preview = claim(&house).await.unwrap();
    assert!(claim(&house).await.is_none());
    house.render(&model, json!({"length": 1}), None).await.unwrap();
    let ordered = claim(&house).await.unwrap();
    assert!(claim(&house).await.is_none());
    house.service.release_render(&ordered).await.unwrap().unwrap();
    let again = claim(&house).await.unwrap();
    assert_eq!(again.render.id, ordered.render.id);
    assert!(claim(&house).await.is_none());
    house.wait_ms(61_000);
    assert_eq!(house.service.reap().await.unwrap(), 2);
    let both = [claim(&house).await.unwrap().render.id, claim(&house).await.unwrap().render.id];
    assert_eq!(both, [ordered.render.id, preview.render.id]);
}

/// A payer whom another machine holds delays nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reaping_passes_by_what_is_held() {
    let database = TestDatabase::postgres();
    let house = House::new(database.address()).await;
    let held = tenant(&house, "held", 1).await;
    tenant(&house, "other", 1).await;
    assert!(claim(&house).await.is_some() && claim(&house).await.is_some());
    house.wait_ms(61_000);
    let elsewhere = house.beside(database.address()).await;
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
    let reaped = tokio::time::timeout(Duration::from_secs(5), house.service.reap()).await;
    assert_eq!(reaped.unwrap().unwrap(), 1);
    assert_ne!(claim(&house).await.unwrap().render.payer_id, held.account_id);
    holding.abort();
}

async fn sweeping_goes_on_past_what_cannot_be_removed(address: &str) {
    let house = House::new(address).await;
    let id = house.upload("chair", None).await.unwrap().result.model_id;
    let model = ObjectKey::Model(&id).path();
    // No object has such a name.
    for (prefix, due) in [("a//b", 1), (model.as_str(), 2)] {
        let prefix = prefix.to_owned();
        let work = house.service.db().write(move |tx| Box::pin(async move { garbage::insert(tx, &prefix, due).await }));
        work.await.unwrap();
    }
    assert_eq!(house.service.sweep().await.unwrap().objects, 1);
    let left = garbage::list(&mut house.service.db().read().await.unwrap()).await.unwrap();
    assert_eq!(left, ["a//b"], "it is tried again");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        one_render_comes_next_whoever_else_has_thousands
        accounts_that_wait_get_equal_slot_time
        previews_come_after_everything_else_of_the_account
        an_account_comes_back_into_the_queue
        sweeping_goes_on_past_what_cannot_be_removed
    }
}
