//! Tests of the queries for administrators: accounts, the log, workers, counters of ended jobs, and stored bytes.

use plinth_db::accounts::{self, AccountFilter};
use plinth_db::admin_log::{self, NewLogEntry};
use plinth_db::outcomes::{self, Outcome};
use plinth_db::workers::{self, WorkerRow};
use plinth_db::{DbError, storage};
use plinth_spec::id::LogEntryId;
use plinth_spec::{AdminAction, FailureCode, WorkerState};
use plinth_testkit::on_both_databases;

use crate::make;

async fn accounts_are_found_by_a_part_of_their_address(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            for n in [2, 3, 22] {
                make::tenant(tx, n).await?;
            }
            accounts::set_admin(tx, &make::account_id(3), true).await?;
            accounts::set_suspended(tx, &make::account_id(2), Some(9)).await?;
            assert_eq!(accounts::lock_admins(tx).await?, 1);
            accounts::set_suspended(tx, &make::account_id(3), Some(9)).await?;
            assert_eq!(accounts::lock_admins(tx).await?, 0, "a suspended one does not count");
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let all = AccountFilter::default();
    let search = |text: &str| AccountFilter { search: Some(text.to_owned()), ..AccountFilter::default() };
    for (filter, expected) in [
        (all.clone(), vec![22, 3, 2, 1]),
        (search("2@example"), vec![22, 2]),
        (search("%"), vec![]),
        (search("_@"), vec![]),
        (AccountFilter { admins: true, ..all.clone() }, vec![3]),
        (AccountFilter { suspended: true, ..all.clone() }, vec![3, 2]),
        (AccountFilter { suspended: true, ..search("2@") }, vec![2]),
    ] {
        let found = accounts::list(conn, &filter, 10, 0).await.unwrap();
        let ids: Vec<_> = found.into_iter().map(|listed| listed.account.id).collect();
        assert_eq!(ids, expected.into_iter().map(make::account_id).collect::<Vec<_>>(), "{filter:?}");
    }
    let page = accounts::list(conn, &all, 2, 1).await.unwrap();
    assert_eq!(page.iter().map(|one| one.account.id.clone()).collect::<Vec<_>>(), [3, 2].map(make::account_id));
    let first = accounts::list(conn, &all, 1, 3).await.unwrap().pop().unwrap();
    assert_eq!((first.renders, first.stored_bytes), (0, make::model(1, 1).file_size));
}

async fn entries_of_the_log_are_listed_newest_first(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for (n, admin, account) in [(1, None, Some(2)), (2, Some(1), None), (3, Some(1), Some(2))] {
                let entry = NewLogEntry {
                    id: LogEntryId::parse(&make::id_text('g', n)).unwrap(),
                    admin_id: admin.map(make::account_id),
                    action: AdminAction::ALL[n as usize],
                    account_id: account.map(make::account_id),
                    subject: format!("subject {n}"),
                    reason: "because".to_owned(),
                    created_at: 100,
                };
                admin_log::insert(tx, &entry).await?;
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let all = admin_log::list(conn, None, 10, 0).await.unwrap();
    let subjects: Vec<_> = all.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!((subjects, admin_log::count(conn).await.unwrap()), (vec!["subject 3", "subject 2", "subject 1"], 3));
    assert_eq!((all[0].admin.as_deref(), all[0].account.as_deref()), (Some("1@example.org"), Some("2@example.org")));
    assert_eq!((all[2].admin.as_deref(), all[1].account_id.clone()), (None, None));
    assert_eq!((all[0].action, all[0].reason.as_str(), all[0].created_at), (AdminAction::ALL[3], "because", 100));
    assert_eq!(admin_log::list(conn, None, 1, 1).await.unwrap(), all[1..2]);
    let own = admin_log::list(conn, Some(&make::account_id(2)), 10, 0).await.unwrap();
    assert_eq!(own, [all[0].clone(), all[2].clone()]);
}

async fn workers_report_their_state_and_end(address: &str) {
    let db = make::open(address).await;
    let row = |id: &str, state, seen_at| WorkerRow {
        id: id.to_owned(),
        name: "night".to_owned(),
        pool: "gpu".to_owned(),
        takes: "share,pro".to_owned(),
        version: "1.2.3".to_owned(),
        adapter: "llvmpipe".to_owned(),
        encoder: "libx264".to_owned(),
        slots: 2,
        state,
        started_at: 5,
        seen_at,
    };
    let report = async |row: WorkerRow| {
        let reported = db.write(move |tx| Box::pin(async move { workers::report(tx, &row).await }));
        reported.await.unwrap();
    };
    report(row("a", WorkerState::Claiming, 5)).await;
    report(row("b", WorkerState::Claiming, 6)).await;
    report(row("c", WorkerState::Claiming, 2)).await;
    report(WorkerRow { started_at: 99, ..row("a", WorkerState::DiskFull, 30) }).await;
    let listed = workers::list(&mut db.read().await.unwrap()).await.unwrap();
    let expected =
        [row("c", WorkerState::Claiming, 2), row("b", WorkerState::Claiming, 6), row("a", WorkerState::DiskFull, 30)];
    assert_eq!(listed, expected, "workers of one name are distinct, and the time of the start stays");
    let deleted = db.write(|tx| {
        Box::pin(async move {
            workers::delete(tx, "b").await?;
            workers::delete_unseen(tx, 30).await
        })
    });
    assert_eq!(deleted.await.unwrap(), 1);
    assert_eq!(workers::list(&mut db.read().await.unwrap()).await.unwrap().len(), 1);
}

async fn outcomes_are_counted_by_hour_day_and_week(address: &str) {
    const HOUR: i64 = 3_600_000;
    let now = 1_800_000_000_000;
    let db = make::open(address).await;
    let failed = Outcome::Failed(FailureCode::Timeout);
    db.write(move |tx| {
        Box::pin(async move {
            for n in 0..20 {
                outcomes::count(tx, Outcome::Done, &make::render_id(n), now - HOUR / 2).await?;
            }
            outcomes::count(tx, Outcome::Done, &make::render_id(1), now - 23 * HOUR).await?;
            for hours in [0, 2, 30, 6 * 24, 8 * 24] {
                outcomes::count(tx, failed, &make::render_id(3), now - hours * HOUR).await?;
            }
            outcomes::count(tx, Outcome::PackagingFailed, &make::render_id(3), now).await
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let counted = outcomes::list(conn, now).await.unwrap();
    let found: Vec<_> = counted.iter().map(|one| (one.outcome, one.hour, one.day, one.week)).collect();
    assert_eq!(found, [(Outcome::Done, 20, 21, 21), (Outcome::PackagingFailed, 1, 1, 1), (failed, 1, 2, 4)]);
    let hours = outcomes::by_hour(conn, now).await.unwrap();
    assert_eq!((hours.len(), hours[23].begin), (24, now / HOUR * HOUR));
    let sums = hours.iter().fold((0, 0), |sum, hour| (sum.0 + hour.done, sum.1 + hour.failed));
    assert_eq!(sums, (21, 2), "packagings are no renders");
    assert_eq!((hours[0].done, hours[23].failed), (1, 1));
    let deleted = db.write(move |tx| Box::pin(async move { outcomes::delete_before(tx, now - 7 * 24 * HOUR).await }));
    assert_eq!(deleted.await.unwrap(), 1);
    let left = outcomes::list(&mut db.read().await.unwrap(), now - 2 * 24 * HOUR).await.unwrap();
    assert!(left.iter().any(|one| (one.outcome, one.week) == (failed, 4)), "{left:?}");
}

async fn the_largest_accounts_come_first(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for n in [2, 3] {
                plinth_db::models::insert(tx, &make::model(n, 2), &make::contents()).await?;
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let size = make::model(1, 1).file_size;
    let largest = storage::largest(conn, 5).await.unwrap();
    let found: Vec<_> = largest.iter().map(|one| (one.account_id.clone(), one.bytes)).collect();
    assert_eq!(found, [(make::account_id(2), 2 * size), (make::account_id(1), size)]);
    assert_eq!(storage::largest(conn, 1).await.unwrap(), largest[..1]);
    assert_eq!(storage::total(conn).await.unwrap(), 3 * size);
    assert_eq!(storage::of_account(conn, &make::account_id(2)).await.unwrap(), 2 * size);
    assert_eq!(storage::find_miscounted(conn).await.unwrap(), []);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        accounts_are_found_by_a_part_of_their_address
        entries_of_the_log_are_listed_newest_first
        workers_report_their_state_and_end
        outcomes_are_counted_by_hour_day_and_week
        the_largest_accounts_come_first
    }
}
