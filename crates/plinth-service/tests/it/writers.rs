//! Many requests of one account do not block the database for other accounts or for workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use plinth_db::queue::{self, Kind};
use plinth_db::{Db, DbError, DbOptions, Tx, accounts, leases, renders, storage};
use plinth_service::access::Caller;
use plinth_service::jobs::Claim;
use plinth_service::{Result, Service};
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::id::AccountId;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, BatchRender, CreateBatch};
use plinth_testkit::{TestDatabase, glb_with_triangle, on_both_databases};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::teams::until_a_transaction_waits;
use crate::test_service::{self, TestService, some_files};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Creates an account with many credits and one model.
async fn tenant(service: &Service, name: &str) -> (Caller, String) {
    let email = format!("{name}@example.org");
    let caller = test_service::caller(service, &email).await;
    test_service::grant(service, &email, Pool::Paid, 1_000_000).await.unwrap();
    let glb = glb_with_triangle(name);
    let model = test_service::upload(service, &caller, "a.glb", &glb, None).await.unwrap().result.model_id;
    (caller, model.to_string())
}

async fn order(service: &Service, caller: &Caller, model: &str, renders: usize) -> Result<Vec<BatchRender>> {
    let item = |n: usize| BatchItem {
        model_id: Some(model.to_owned()),
        render_settings: Some(json!({"rotateY": n as f64 / 100.0})),
    };
    let request = CreateBatch { renders: Some((0..renders).map(item).collect()) };
    // Each request has its own idempotency key, so that no request is a replay.
    service.create_batch(caller, request, ReplayKey::from_header(Some(&nanoid()))).await
}

fn nanoid() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

/// A lock of another connection. Dropping the sender ends the lock.
type Held = (oneshot::Sender<()>, JoinHandle<std::result::Result<(), DbError>>);

/// Locks rows with `lock` from a separate connection, as another machine does.
async fn hold<F>(db: &Db, lock: F) -> Held
where
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, std::result::Result<(), DbError>> + Send + 'static,
{
    let (release, released) = oneshot::channel::<()>();
    let (tell, locked) = oneshot::channel();
    let db = db.clone();
    let held = tokio::spawn(async move {
        let work = db.write(|tx| {
            Box::pin(async move {
                lock(tx).await?;
                tell.send(()).unwrap();
                let _dropped = released.await;
                Ok(())
            })
        });
        work.await
    });
    locked.await.unwrap();
    (release, held)
}

/// Locks an account from a separate connection.
pub(crate) async fn lock(db: &Db, account: &AccountId) -> Held {
    let account = account.clone();
    hold(db, |tx| Box::pin(async move { accounts::lock(tx, &account).await.map(drop) })).await
}

/// Locks the row of a claimed render from a separate connection.
async fn lock_render(db: &Db, claim: &Claim) -> Held {
    let claim = claim.clone();
    hold(db, |tx| {
        Box::pin(async move {
            let found = leases::find_leased(tx, &claim.render.id, &claim.token).await?;
            assert!(found.is_some());
            Ok(())
        })
    })
    .await
}

/// While an account is locked, its requests wait without database connections. PostgreSQL only: SQLite has no row
/// locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_wait_for_an_account_leave_connections_to_others() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let (greedy, theirs) = tenant(service, "greedy").await;
    let (other, ours) = tenant(service, "other").await;
    let claim = test_service.claim().await;
    let elsewhere = Db::open(database.address(), DbOptions::default()).await.unwrap();
    let (release, held) = lock(&elsewhere, &greedy.payer_id).await;
    let waiting: Vec<_> = (0..40)
        .map(|_n| {
            let (service, greedy, theirs) = (service.clone(), greedy.clone(), theirs.clone());
            tokio::spawn(async move { order(&service, &greedy, &theirs, 1).await.map(|made| made.len()) })
        })
        .collect();
    // If the requests took connections while they wait, they would do so within this time.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _n in 0..20 {
        timeout(TIMEOUT, order(service, &other, &ours, 1)).await.unwrap().unwrap();
        timeout(TIMEOUT, service.renew_claim(&claim)).await.unwrap().unwrap().unwrap();
    }
    drop(release);
    held.await.unwrap().unwrap();
    for one in waiting {
        assert_eq!(one.await.unwrap().unwrap(), 1);
    }
    test_service.assert_balanced().await;
}

/// The end of a render does not wait for the counter of a workspace while it holds rows of the queue, because an upload locks the
/// two in this order. PostgreSQL only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_and_the_end_of_a_render_do_not_lock_each_other() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.model("chair").await;
    for length in [1, 2] {
        test_service.render(&model, json!({"quality": "share", "length": length}), None).await.unwrap();
    }
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    test_service.wait_ms(60_000);
    let (locked, is_locked) = oneshot::channel();
    let (go_on, goes_on) = oneshot::channel::<()>();
    let (db, workspace, payer) = (service.db().clone(), claim.render.workspace_id.clone(), caller.payer_id.clone());
    let class = claim.render.work_class;
    let uploading = tokio::spawn(async move {
        let work = db.write(move |tx| {
            Box::pin(async move {
                storage::recount(tx, &workspace).await?;
                locked.send(()).unwrap();
                goes_on.await.unwrap();
                queue::enter(tx, Kind::Render, [class], &payer).await
            })
        });
        work.await
    });
    is_locked.await.unwrap();
    let files = some_files();
    let (finished, ()) = tokio::join!(service.finish_render(&claim, &files, &[]), async {
        until_a_transaction_waits(&database).await;
        go_on.send(()).unwrap();
    });
    uploading.await.unwrap().unwrap();
    finished.unwrap().unwrap();
}

/// Runs `report` until it waits for a lock, lets a minute pass, and ends the lock.
async fn after_a_minute<T>(
    (database, test_service): (&TestDatabase, &TestService),
    (release, held): Held,
    report: impl Future<Output = T>,
) -> T {
    let (reported, ()) = tokio::join!(report, async {
        until_a_transaction_waits(database).await;
        test_service.wait_ms(60_000);
        drop(release);
    });
    held.await.unwrap().unwrap();
    reported
}

/// Clients list what was changed since their last request, so they would miss a change with a time before that request. PostgreSQL
/// only: SQLite has no row locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_waited_for_a_lock_has_the_time_after_the_wait() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, db, here) = (&test_service.service, test_service.service.db(), (&database, &test_service));
    let is_of_now = async |claim: &Claim| {
        let found = renders::find_anywhere(&mut db.read().await.unwrap(), &claim.render.id).await.unwrap();
        found.unwrap().updated_at == test_service.time.load(Ordering::SeqCst)
    };
    let order = async |name: &str| {
        test_service.upload(name, Some("{}")).await.unwrap();
        test_service.claim().await
    };

    let failed = order("failed").await;
    let held = lock(db, &failed.render.payer_id).await;
    let report = Box::pin(service.fail_render(&failed, FailureCode::EncodeFailed, ""));
    after_a_minute(here, held, report).await.unwrap().unwrap();
    assert!(is_of_now(&failed).await);

    let done = order("done").await;
    service.poster_stored(&done).await.unwrap().unwrap();
    let (held, files) = (lock_render(db, &done).await, some_files());
    after_a_minute(here, held, Box::pin(service.finish_render(&done, &files, &[]))).await.unwrap().unwrap();
    assert!(is_of_now(&done).await);

    let packaged = service.claim_packaging("worker").await.unwrap().unwrap();
    let held = lock_render(db, &packaged).await;
    after_a_minute(here, held, Box::pin(service.finish_packaging(&packaged, 1000))).await.unwrap().unwrap();
    assert!(is_of_now(&packaged).await);

    let lost = order("lost").await;
    test_service.wait_ms(61_000);
    let held = lock_render(db, &lost).await;
    let reclaimed = after_a_minute(here, held, Box::pin(service.reclaim_expired_leases())).await.unwrap();
    assert_eq!((reclaimed.renders, reclaimed.errors), (1, 0));
    assert!(is_of_now(&lost).await);
}

/// Workers have reserved connections. PostgreSQL only: SQLite has a single writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_renew_leases_while_requests_use_all_other_connections() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    test_service.upload("chair", None).await.unwrap();
    let claim = test_service.claim().await;
    let mut locks = Vec::new();
    for n in 0..12 {
        let account = test_service::account(service, &format!("{n}@example.org")).await;
        locks.push((service.db().clone(), account));
    }
    let mut held = Vec::new();
    for (db, account) in &locks {
        held.push(lock(db, account).await);
    }
    let stuck = timeout(Duration::from_millis(300), test_service::account(service, "late@example.org")).await;
    assert!(stuck.is_err(), "no connection is left for requests");
    timeout(TIMEOUT, service.renew_claim(&claim)).await.unwrap().unwrap().unwrap();
    timeout(TIMEOUT, service.release_render(&claim)).await.unwrap().unwrap().unwrap();
    for (release, held) in held {
        drop(release);
        held.await.unwrap().unwrap();
    }
}

/// The health check uses a reserved connection of PostgreSQL. With SQLite, it has a connection of its own.
async fn the_database_is_healthy_while_requests_use_all_other_connections(address: &str) {
    let test_service = TestService::new(address).await;
    let db = test_service.service.db();
    let mut used = Vec::new();
    let connections = if db.is_shared() { 12 } else { 4 };
    for _connection in 0..connections {
        used.push(db.read().await.unwrap());
    }
    assert!(timeout(Duration::from_millis(300), db.read()).await.is_err(), "no connection is left for requests");
    assert!(test_service.service.database_responds().await);
}

/// An account with many requests takes turns with other accounts.
async fn an_order_is_not_delayed_by_many_of_another_account(database: TestDatabase) {
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let (greedy, theirs) = tenant(service, "greedy").await;
    let (other, ours) = tenant(service, "other").await;
    let done = Arc::new(AtomicUsize::new(0));
    let orders: Vec<_> = (0..60)
        .map(|_n| {
            let (service, greedy, theirs, done) = (service.clone(), greedy.clone(), theirs.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                order(&service, &greedy, &theirs, 100).await.unwrap();
                done.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    // The runtime has a single thread, so all of these requests are queued before the request of the other account.
    for _n in 0..200 {
        tokio::task::yield_now().await;
    }
    order(service, &other, &ours, 100).await.unwrap();
    let before = done.load(Ordering::SeqCst);
    assert!(before < 20, "{before} of 60 requests of the large account were served first");
    for one in orders {
        one.await.unwrap();
    }
    test_service.assert_balanced().await;
}

#[tokio::test]
async fn an_order_is_not_delayed_by_many_of_another_account_on_sqlite() {
    Box::pin(an_order_is_not_delayed_by_many_of_another_account(TestDatabase::sqlite())).await;
}

#[tokio::test]
async fn an_order_is_not_delayed_by_many_of_another_account_on_postgres() {
    Box::pin(an_order_is_not_delayed_by_many_of_another_account(TestDatabase::postgres())).await;
}

/// Counts the statements that sqlx logs in the current thread.
struct Statements(Arc<AtomicU64>);

impl Subscriber for Statements {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// PostgreSQL only: its statements run in the test's thread, where they can be counted. SQLite runs the same statements
/// in a background thread.
#[tokio::test]
async fn a_batch_takes_as_few_statements_as_a_single_render() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    let (caller, model) = tenant(service, "ada-lovelace").await;
    let counted = Arc::new(AtomicU64::new(0));
    let _counting = tracing::subscriber::set_default(Statements(Arc::clone(&counted)));
    let mut statements = Vec::new();
    for renders in [1, 100, 100] {
        let before = counted.load(Ordering::Relaxed);
        assert_eq!(order(service, &caller, &model, renders).await.unwrap().len(), renders);
        statements.push(counted.load(Ordering::Relaxed) - before);
    }
    // The first batch contains the single render again. One more statement stores its result for the key of the batch.
    assert!((5..=16).contains(&statements[1]) && statements[0] + 1 == statements[1], "{statements:?}");
    // The second batch contains only renders of the first, and has another key.
    assert!(statements[2] < statements[0], "{statements:?}");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_database_is_healthy_while_requests_use_all_other_connections
    }
}
