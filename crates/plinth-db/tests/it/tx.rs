//! Tests of transactions.

use std::time::Duration;

use plinth_db::ledger::{self, Posted};
use plinth_db::{Db, DbError, DbOptions, TimeLimits, accounts, instance};
use plinth_spec::wire::LedgerType;
use plinth_testkit::{Postgres, TestDatabase, on_both_databases};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::make;

#[derive(Debug)]
enum Rejected {
    OnPurpose,
    Db,
}

impl From<DbError> for Rejected {
    fn from(_error: DbError) -> Self {
        Self::Db
    }
}

async fn an_error_rolls_the_transaction_back(address: &str) {
    let db = make::open(address).await;
    let result = db
        .write(|tx| {
            Box::pin(async move {
                instance::insert_or_find(tx, "k", "v").await?;
                Err::<(), _>(Rejected::OnPurpose)
            })
        })
        .await;
    assert!(matches!(result, Err(Rejected::OnPurpose)));
    assert_eq!(instance::find(&mut db.read().await.unwrap(), "k").await.unwrap(), None);
}

async fn a_transaction_completes_when_its_caller_is_dropped(address: &str) {
    let db = make::open(address).await;
    for n in 0..20u32 {
        let writing = db.write(move |tx| {
            Box::pin(async move {
                ledger::post(tx, &make::entry(n * 2, LedgerType::AdminGrant, 5, None)).await?;
                tokio::time::sleep(Duration::from_millis(3)).await;
                ledger::post(tx, &make::entry(n * 2 + 1, LedgerType::Promo, 5, None)).await
            })
        });
        // Each iteration drops the caller's future at a different moment.
        let limit = Duration::from_micros(u64::from(n) * 400);
        if let Ok(finished) = timeout(limit, writing).await {
            finished.unwrap();
        }
    }
    // Waits until the last of these transactions has ended.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let posted =
        db.write(|tx| Box::pin(async move { ledger::post(tx, &make::entry(100, LedgerType::Promo, 1, None)).await }));
    assert_eq!(posted.await.unwrap(), Posted::Done);
    let mut conn = db.read().await.unwrap();
    assert!(ledger::find_unbalanced(&mut conn).await.unwrap().is_empty());
    // Each transaction is stored completely: the entries of the loop come in pairs, and the last write added a single
    // one.
    assert_eq!(ledger::count(&mut conn, &make::account_id(1), None).await.unwrap() % 2, 1);
    let balance = accounts::find(&mut conn, &make::account_id(1)).await.unwrap().unwrap().balance;
    assert_eq!(balance.paid % 10, 1);
}

async fn opening_a_database_again_keeps_its_rows(address: &str) {
    let db = make::open(address).await;
    db.close().await;
    let again = Db::open(address, DbOptions::default()).await.unwrap();
    again.ping().await.unwrap();
    assert_eq!(accounts::count(&mut again.read().await.unwrap()).await.unwrap(), 1);
}

async fn the_database_clock_advances(address: &str) {
    let db = make::open(address).await;
    let mut conn = db.read().await.unwrap();
    let before = conn.now_ms().await.unwrap();
    tokio::time::sleep(Duration::from_millis(15)).await;
    let after = conn.now_ms().await.unwrap();
    assert!(after > before && after - before < 10_000);
    assert!(before > 1_700_000_000_000, "milliseconds since 1970, not {before}");
}

#[tokio::test]
async fn each_transaction_on_sqlite_is_given_a_later_time() {
    let database = TestDatabase::sqlite();
    let db = make::open(database.address()).await;
    let mut times = Vec::new();
    for _ in 0..200 {
        times.push(db.write(|tx| Box::pin(async move { tx.next_ms().await })).await.unwrap());
    }
    assert!(times.is_sorted_by(|earlier, later| earlier < later), "{times:?}");
    let now = db.read().await.unwrap().now_ms().await.unwrap();
    assert!(times[199] < now + 200, "{} is far ahead of {now}", times[199]);
}

async fn open_with_limits(address: &str, time_limits: TimeLimits) -> Db {
    Db::open(address, DbOptions { time_limits, ..DbOptions::default() }).await.unwrap()
}

/// Starts a transaction that locks account 1 and then stays idle, like a transaction on a paused machine.
async fn pause_with_lock(db: &Db) -> JoinHandle<Result<(), DbError>> {
    let (tell, locked) = oneshot::channel();
    let db = db.clone();
    let paused = tokio::spawn(async move {
        let work = db.write(|tx| {
            Box::pin(async move {
                accounts::lock(tx, &make::account_id(1)).await?;
                tell.send(()).unwrap();
                std::future::pending::<()>().await;
                Ok(())
            })
        });
        work.await
    });
    locked.await.unwrap();
    paused
}

/// Transactions that wait for the lock fail after a timeout. They succeed after the database has ended the idle
/// transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_releases_the_locks_of_an_idle_transaction() {
    let database = TestDatabase::postgres();
    make::open(database.address()).await.close().await;
    let limits =
        TimeLimits { lock: Duration::from_secs(1), idle_transaction: Duration::from_secs(3), ..TimeLimits::default() };
    let db = open_with_limits(database.address(), limits).await;
    let other = open_with_limits(database.address(), limits).await;
    let paused = pause_with_lock(&db).await;
    let begin = Instant::now();
    let lock = async || other.write(|tx| Box::pin(async move { accounts::lock(tx, &make::account_id(1)).await })).await;
    let skip =
        async || other.write(|tx| Box::pin(async move { accounts::try_lock(tx, &make::account_id(1)).await })).await;
    assert!(skip().await.unwrap().is_none() && begin.elapsed() < Duration::from_secs(2));
    let limit = Duration::from_secs(30);
    assert!(timeout(limit, lock()).await.unwrap().is_err());
    while timeout(limit, lock()).await.unwrap().is_err() {}
    assert!(
        begin.elapsed() > Duration::from_secs(2) && begin.elapsed() < Duration::from_secs(25),
        "{:?}",
        begin.elapsed()
    );
    assert!(skip().await.unwrap().is_some());
    paused.abort();
}

async fn a_transaction_is_rolled_back_after_its_time_limit(address: &str) {
    make::open(address).await.close().await;
    let limit = Duration::from_secs(2);
    let db = open_with_limits(address, TimeLimits { transaction: limit, ..TimeLimits::default() }).await;
    let begin = Instant::now();
    let paused = pause_with_lock(&db).await;
    let ended = timeout(Duration::from_mins(1), paused).await.unwrap().unwrap();
    assert!(matches!(ended, Err(DbError::TransactionTimeout)), "{ended:?}");
    assert!(begin.elapsed() > limit && begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    // The pool does not reuse the connection of the cancelled transaction.
    for n in 0..20 {
        db.write(move |tx| {
            Box::pin(async move { ledger::post(tx, &make::entry(n, LedgerType::Promo, 1, None)).await })
        })
        .await
        .unwrap();
    }
}

async fn a_panic_rolls_the_transaction_back(address: &str) {
    let db = make::open(address).await;
    let again = db.clone();
    let panics = tokio::spawn(async move {
        again
            .write(|tx| {
                Box::pin(async move {
                    instance::insert_or_find(tx, "k", "v").await?;
                    assert!(tx.now_ms().await? == 0, "on purpose");
                    Ok::<_, DbError>(())
                })
            })
            .await
    });
    assert!(panics.await.unwrap_err().is_panic());
    for _n in 0..20 {
        let kept = db.write(|tx| Box::pin(async move { instance::insert_or_find(tx, "k", "w").await })).await;
        assert_eq!(kept.unwrap(), "w");
    }
}

#[tokio::test]
async fn the_error_for_an_unknown_scheme_lists_valid_ones_and_hides_the_password() {
    let error = Db::open("mysql://user:secret@host/db", DbOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("sqlite://FILE") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn connections_from_before_a_restart_of_the_server_are_not_used() {
    let postgres = Postgres::start();
    let db = Db::open(&postgres.address(), DbOptions::default()).await.unwrap();
    let mut connections = Vec::new();
    for _connection in 0..4 {
        connections.push(db.read().await.unwrap());
    }
    drop(connections);
    db.ping().await.unwrap();
    // The connections meanwhile return to the pool, which tests them. A test that began before the restart and ended after
    // it would succeed with the old server's answer.
    let restarted = tokio::task::spawn_blocking(move || {
        postgres.crash();
        postgres
    });
    let _postgres = restarted.await.unwrap();
    for query in 0..8 {
        db.ping().await.unwrap_or_else(|error| panic!("query {query} after the restart: {error}"));
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        an_error_rolls_the_transaction_back
        a_transaction_completes_when_its_caller_is_dropped
        opening_a_database_again_keeps_its_rows
        the_database_clock_advances
        a_transaction_is_rolled_back_after_its_time_limit
        a_panic_rolls_the_transaction_back
    }
}
