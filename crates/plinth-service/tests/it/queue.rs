//! The order of the queue gives accounts fair shares of worker time.

use std::collections::BTreeMap;
use std::time::Duration;

use plinth_db::unreferenced_objects;
use plinth_service::access::Caller;
use plinth_service::jobs::Claim;
use plinth_service::previews::{Preview, WantedPreview};
use plinth_service::renders::RenderQuery;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, CreateBatch, CreateRender};
use plinth_store::ObjectKey;
use plinth_testkit::{TestDatabase, glb_with_triangle, on_both_databases};
use serde_json::{Value, json};

use crate::test_service::{self, TestService, some_files};

/// Length in seconds of the renders that the free pool pays for. The signup bonus, which belongs to the paid pool, is less than the
/// price of one.
const FREE_SECS: u32 = 30;

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

/// Creates an account whose queued renders are all free: the previews of `uploads` uploads, and `renders` renders that the free pool
/// pays for.
async fn free_tenant(test_service: &TestService, name: &str, uploads: usize, renders: usize) -> Caller {
    let email = format!("{name}@example.org");
    let caller = test_service::caller(&test_service.service, &email).await;
    test_service::grant(&test_service.service, &email, Pool::Free, 1_000_000).await.unwrap();
    for number in 0..uploads {
        upload(test_service, &caller, &format!("{name} {number}")).await;
    }
    let model = any_model(test_service, &caller).await;
    for number in 0..renders {
        order(test_service, &caller, &model, json!({"length": FREE_SECS, "rotateY": number})).await;
    }
    caller
}

/// Uploads a new model without render settings. Its only render is a free preview.
async fn upload(test_service: &TestService, caller: &Caller, name: &str) {
    test_service::upload(&test_service.service, caller, "a.glb", &glb_with_triangle(name), None).await.unwrap();
}

/// Returns the model of an account's newest render.
async fn any_model(test_service: &TestService, caller: &Caller) -> String {
    let renders = test_service.service.list_renders(caller, &RenderQuery::default()).await.unwrap().0.data;
    renders[0].model_id.to_string()
}

/// Orders a render of a model.
async fn order(test_service: &TestService, caller: &Caller, model: &str, render_settings: Value) {
    let request = CreateRender { model_id: Some(model.to_owned()), render_settings: Some(render_settings) };
    test_service.service.create_render(caller, request, ReplayKey::from_header(None)).await.unwrap();
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

/// Two slots process the queued renders of one account. `tries` times, another account orders a single render. The next slot that
/// becomes free must claim this render. Returns the claims of the first account.
async fn assert_single_renders_start_in_the_next_free_slot(test_service: &TestService, tries: i32) -> Vec<Claim> {
    const JOB_MS: i64 = 30_000;
    let service = &test_service.service;
    let mut slots = [claim(test_service).await.unwrap(), claim(test_service).await.unwrap()];
    let mut claims = slots.to_vec();
    let modest = tenant(test_service, "modest", 1).await;
    let model = any_model(test_service, &modest).await;
    for number in 0..tries {
        if number > 0 {
            order(test_service, &modest, &model, json!({"length": 1, "rotateY": number})).await;
        }
        test_service.wait_ms(JOB_MS);
        slots.reverse();
        // The worker time of a refunded render counts, too.
        service.fail_render(&slots[0], FailureCode::Timeout, "").await.unwrap().unwrap();
        let next = claim(test_service).await.unwrap();
        assert_eq!(next.render.payer_id, modest.account_id, "try {number}");
        test_service.wait_ms(JOB_MS);
        service.fail_render(&next, FailureCode::Timeout, "").await.unwrap().unwrap();
        slots[0] = claim(test_service).await.unwrap();
        assert_ne!(slots[0].render.payer_id, modest.account_id, "a free slot continues with the large account");
        claims.push(slots[0].clone());
    }
    claims
}

async fn a_single_render_starts_in_the_next_free_slot(address: &str) {
    let test_service = TestService::new(address).await;
    tenant(&test_service, "greedy", 10_000).await;
    assert_single_renders_start_in_the_next_free_slot(&test_service, 50).await;
}

async fn free_renders_do_not_delay_a_single_render(address: &str) {
    let test_service = TestService::new(address).await;
    free_tenant(&test_service, "greedy", 40, 4).await;
    let claims = assert_single_renders_start_in_the_next_free_slot(&test_service, 20).await;
    assert!(claims.iter().all(Claim::is_marked), "the renders of the first account are free");
    let previews = claims.iter().filter(|claim| claim.render.is_system_preview).count();
    assert_eq!((claims.len(), previews), (22, 18));
}

/// An account that always has queued renders in a simulation.
struct Waiting {
    name: &'static str,
    caller: Caller,
    job_ms: i64,
    /// Whether all renders of the account are free.
    is_free: bool,
    /// Whether all jobs of the account fail. Otherwise only some fail.
    all_fail: bool,
}

impl Waiting {
    /// Creates an account with `renders` queued renders that are paid.
    async fn paying(test_service: &TestService, name: &'static str, renders: usize, job_ms: i64) -> Self {
        Self { name, caller: tenant(test_service, name, renders).await, job_ms, is_free: false, all_fail: false }
    }

    /// Returns the account that pays for a claimed render.
    fn of<'a>(accounts: &'a [Self], claim: &Claim) -> &'a Self {
        accounts.iter().find(|account| account.caller.account_id == claim.render.payer_id).unwrap()
    }

    /// Orders another render after a worker has claimed `taken`. Each call has a different `number`, so that the frames differ. An
    /// account whose renders are free creates previews and other free renders by turns.
    async fn order_another(&self, test_service: &TestService, taken: &Claim, number: i32) {
        if self.is_free && !taken.render.is_system_preview {
            upload(test_service, &self.caller, &format!("{} again {number}", self.name)).await;
            return;
        }
        let length = if self.is_free { FREE_SECS } else { 1 };
        let settings = json!({"length": length, "rotateY": 100.0 + f64::from(number) / 10.0});
        order(test_service, &self.caller, taken.render.model_id.as_str(), settings).await;
    }
}

/// Simulates two worker slots for an hour. The accounts always have queued renders: each orders another one when a worker claims
/// one. Some jobs fail and are refunded. The simulated workers renew their leases. Asserts that all accounts get the same worker
/// time, within 10 %.
async fn assert_equal_worker_time(test_service: &TestService, accounts: &[Waiting]) {
    const STEP_MS: i64 = 5_000;
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    let mut slots: [Option<(Claim, i64)>; 2] = [None, None];
    let (mut ended, mut ordered) = (0, 0);
    while used.values().sum::<i64>() < 2 * 3_600_000 {
        for slot in &mut slots {
            if slot.is_none() {
                let taken = claim(test_service).await.unwrap();
                let account = Waiting::of(accounts, &taken);
                assert_eq!(taken.is_marked(), account.is_free);
                ordered += 1;
                account.order_another(test_service, &taken, ordered).await;
                *slot = Some((taken, account.job_ms));
            }
        }
        test_service.wait_ms(STEP_MS);
        for slot in &mut slots {
            let Some((taken, left)) = slot else { continue };
            *left -= STEP_MS;
            let account = Waiting::of(accounts, taken);
            *used.entry(account.name).or_default() += STEP_MS;
            if *left > 0 {
                test_service.service.renew_claim(taken).await.unwrap().unwrap();
                continue;
            }
            ended += 1;
            if account.all_fail || ended % 2 == 0 {
                test_service.service.fail_render(taken, FailureCode::Timeout, "").await.unwrap().unwrap();
            } else {
                test_service.service.poster_stored(taken).await.unwrap().unwrap();
                test_service.service.finish_render(taken, &some_files(), &[]).await.unwrap().unwrap();
            }
            *slot = None;
        }
    }
    let mean = used.values().sum::<i64>() as f64 / accounts.len() as f64;
    for (name, used) in &used {
        let off = (*used as f64 - mean).abs() / mean;
        assert!(off < 0.1, "{name} has {used} of {mean}: off by {off}");
    }
}

/// The accounts have 1, 10 and 1000 queued renders. Accounts with more renders have longer jobs.
async fn waiting_accounts_get_equal_worker_time(address: &str) {
    let test_service = TestService::new(address).await;
    let accounts = [
        Waiting::paying(&test_service, "few", 1, 20_000).await,
        Waiting::paying(&test_service, "some", 10, 45_000).await,
        Waiting { all_fail: true, ..Waiting::paying(&test_service, "many", 1000, 70_000).await },
    ];
    assert_equal_worker_time(&test_service, &accounts).await;
}

async fn free_renders_do_not_change_the_shares_of_paying_accounts(address: &str) {
    let test_service = TestService::new(address).await;
    let free = Waiting {
        name: "free",
        caller: free_tenant(&test_service, "free", 20, 20).await,
        job_ms: 30_000,
        is_free: true,
        all_fail: false,
    };
    let accounts = [
        Waiting::paying(&test_service, "few", 1, 15_000).await,
        Waiting::paying(&test_service, "some", 10, 30_000).await,
        Waiting { all_fail: true, ..Waiting::paying(&test_service, "many", 100, 40_000).await },
        free,
    ];
    assert_equal_worker_time(&test_service, &accounts).await;
}

/// The time in which a worker draws pictures for the web UI counts, too.
async fn pictures_use_the_share_of_an_account(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (composing, other) = (tenant(&test_service, "composing", 2).await, tenant(&test_service, "other", 2).await);
    let model = any_model(&test_service, &composing).await;
    let mut wanted = service.take_previews().unwrap();
    let (asking, caller) = (service.clone(), composing.clone());
    let asked = tokio::spawn(async move { asking.preview(&caller, &model, Preview::default()).await });
    let WantedPreview { ticket, reply, .. } = wanted.recv().await.unwrap();
    service.preview_ended(ticket, Duration::from_mins(1)).await;
    reply.send(Ok(vec![1])).unwrap();
    asked.await.unwrap().unwrap();
    for expected in [&other, &other, &composing, &composing] {
        assert_eq!(claim(&test_service).await.unwrap().render.payer_id, expected.account_id);
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
        free_renders_do_not_delay_a_single_render
        waiting_accounts_get_equal_worker_time
        free_renders_do_not_change_the_shares_of_paying_accounts
        pictures_use_the_share_of_an_account
        previews_come_after_everything_else_of_the_account
        an_account_reenters_the_queue
        cleanup_continues_after_a_failed_deletion
    }
}
