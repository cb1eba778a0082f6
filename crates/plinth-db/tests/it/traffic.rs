//! Tests of rate windows, scheduled deletions, staged uploads, deletion holds, and the key-value table.

use plinth_db::rate_windows::{self, Window};
use plinth_db::{Db, DbError, holds, instance, staged, unreferenced_objects};
use plinth_spec::id::StagedId;
use plinth_testkit::{TestDatabase, on_both_databases};

use crate::make;

/// Counts a request under one key.
async fn count(db: &Db, key: &str, now: i64) -> Window {
    let keys = [(key.to_owned(), 100)];
    let (counted, at) = rate_windows::count(&mut db.read().await.unwrap(), &keys, 1, 60_000, Some(now)).await.unwrap();
    assert_eq!((at, counted[0].requests), (now, 1));
    counted[0].window
}

#[tokio::test]
async fn a_new_window_starts_after_the_old_one_ends() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let mut windows = Vec::new();
    for (key, now) in [("k", 1_000), ("k", 1_500), ("k", 60_999), ("k", 61_000), ("other", 2_000)] {
        windows.push(count(&db, key, now).await);
    }
    let window = |requests, ends_at| Window { requests, ends_at };
    assert_eq!(
        windows,
        [window(1, 61_000), window(2, 61_000), window(3, 61_000), window(1, 121_000), window(1, 62_000)]
    );
    assert_eq!(db.write(|tx| Box::pin(rate_windows::delete_ended(tx, 62_000))).await.unwrap(), 1);
}

#[tokio::test]
async fn a_new_window_starts_after_the_clock_was_set_back() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let hour = 3_600_000;
    let mut windows = Vec::new();
    // The second request read the clock before the first one, and then waited for a lock.
    for now in [2 * hour, 2 * hour - 30_000, hour, hour + 1] {
        windows.push(count(&db, "k", now).await);
    }
    let window = |requests, started_at: i64| Window { requests, ends_at: started_at + 60_000 };
    assert_eq!(windows, [window(1, 2 * hour), window(2, 2 * hour), window(1, hour), window(2, hour)]);
}

#[tokio::test]
async fn a_cleanup_does_not_wait_for_requests_that_are_being_counted() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    for key in ["counted", "other"] {
        count(&db, key, 0).await;
    }
    let cleaner = db.clone();
    let counting = db.write(move |tx| {
        Box::pin(async move {
            rate_windows::count(tx, &[("counted".to_owned(), 100)], 1, 60_000, Some(1)).await?;
            // This transaction has locked the first window.
            cleaner.write(|tx| Box::pin(rate_windows::delete_ended(tx, 60_000))).await
        })
    });
    assert_eq!(counting.await.unwrap(), 1);
}

#[tokio::test]
async fn simultaneous_cleanups_take_different_prefixes_and_uploads() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let ids = [1, 2].map(|n| StagedId::parse(&make::id_text('s', n)).unwrap());
    let uploads = ids.clone();
    let inserting = db.write(move |tx| {
        Box::pin(async move {
            for (time, id) in (1..).zip(&uploads) {
                make::staged_upload(tx, id, 1, time).await?;
                unreferenced_objects::insert(tx, id.as_str(), time).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    inserting.await.unwrap();
    let other = db.clone();
    let cleaning = db.write(move |tx| {
        Box::pin(async move {
            let first = (unreferenced_objects::claim_due(tx, 9, 99, 1).await?, staged::delete_before(tx, 9, 1).await?);
            // This transaction has locked the rows of the first upload.
            let prefixes = other.write(|tx| Box::pin(unreferenced_objects::claim_due(tx, 9, 99, 9))).await?;
            let uploads = other.write(|tx| Box::pin(staged::delete_before(tx, 9, 9))).await?;
            Ok::<_, DbError>((first, (prefixes, uploads)))
        })
    });
    let [first, second] = ids.map(|id| (vec![id.to_string()], vec![id]));
    assert_eq!(cleaning.await.unwrap(), (first, second));
}

#[tokio::test]
async fn a_request_that_exceeds_a_limit_is_not_counted_under_the_keys_after_it() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let mut conn = db.read().await.unwrap();
    let keys = [("first", 9), ("second", 2), ("third", 9)].map(|(key, limit)| (key.to_owned(), limit));
    let mut seen = Vec::new();
    for _request in 0..3 {
        let (counted, _now) = rate_windows::count(&mut conn, &keys, 1, 60_000, None).await.unwrap();
        seen.push(counted.iter().map(|counted| counted.window.requests).collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec![1, 1, 1], vec![2, 2, 2], vec![3, 3]]);
}

#[tokio::test]
async fn requests_that_are_counted_together_pass_until_a_limit_is_reached() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let mut conn = db.read().await.unwrap();
    let keys = [("first", 8), ("second", 5), ("third", 9)].map(|(key, limit)| (key.to_owned(), limit));
    let mut count = async |requests, now| {
        let (counted, _now) = rate_windows::count(&mut conn, &keys, requests, 1_000, Some(now)).await.unwrap();
        counted.iter().map(|counted| (counted.window.requests, counted.requests)).collect::<Vec<_>>()
    };
    assert_eq!(count(4, 0).await, [(4, 4), (4, 4), (4, 4)]);
    assert_eq!(count(6, 0).await, [(10, 6), (8, 4), (5, 1)], "four pass the first limit, one the second");
    assert_eq!(count(2, 0).await, [(12, 2)], "none passes the first limit");
    assert_eq!(count(9, 1_000).await, [(9, 9), (8, 8), (5, 5)], "the windows have ended");
}

#[tokio::test]
async fn concurrent_requests_are_all_counted() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    let counting = (0..60).map(|_n| {
        let db = db.clone();
        tokio::spawn(async move { count(&db, "k", 5).await.requests })
    });
    let mut seen = Vec::new();
    for count in counting.collect::<Vec<_>>() {
        seen.push(count.await.unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=60).collect::<Vec<_>>());
}

async fn prefixes_are_claimed_in_order_of_time_and_removed_after_deletion(address: &str) {
    let db = make::open(address).await;
    let insert = async |prefix: &'static str, due| {
        db.write(move |tx| Box::pin(unreferenced_objects::insert(tx, prefix, due))).await.unwrap();
    };
    let take = async |now, again_at, limit| {
        db.write(move |tx| Box::pin(unreferenced_objects::claim_due(tx, now, again_at, limit))).await.unwrap()
    };
    for (prefix, due) in [("b/", 20), ("a/", 10), ("c/", 40), ("c/", 30)] {
        insert(prefix, due).await;
    }
    assert_eq!(take(35, 100, 1).await, ["a/"]);
    assert_eq!(
        take(35, 100, 10).await,
        ["b/"],
        "a/ is claimed already, and scheduling c/ again does not move its deletion to an earlier time"
    );
    db.write(|tx| Box::pin(unreferenced_objects::delete_claimed(tx, "b/", 100))).await.unwrap();
    assert_eq!(take(99, 200, 10).await, ["c/"]);
    insert("c/", 300).await;
    db.write(|tx| Box::pin(unreferenced_objects::delete_claimed(tx, "c/", 200))).await.unwrap();
    assert_eq!(take(100, 200, 10).await, ["a/"], "a prefix can be claimed again, in case its deletion failed");
    assert_eq!(
        take(300, 400, 10).await,
        ["a/", "c/"],
        "a prefix that is scheduled again is not removed from the schedule"
    );
    db.write(|tx| Box::pin(unreferenced_objects::delete(tx, "c/"))).await.unwrap();
    assert_eq!(unreferenced_objects::list(&mut db.read().await.unwrap()).await.unwrap(), ["a/"]);
}

async fn a_ticket_works_once_and_only_in_its_workspace(address: &str) {
    let db = make::open(address).await;
    let id = StagedId::parse(&make::id_text('s', 1)).unwrap();
    let uses = db
        .write(|tx| {
            Box::pin(async move {
                make::tenant(tx, 2).await?;
                make::staged_upload(tx, &id, 1, 5).await?;
                assert!(staged::find_open(tx, id.as_str(), &make::workspace_id(2)).await?.is_none());
                assert_eq!(staged::find_open(tx, id.as_str(), &make::workspace_id(1)).await?.as_ref(), Some(&id));
                let uses = [staged::finalize(tx, &id, 6).await?, staged::finalize(tx, &id, 7).await?];
                assert!(staged::find_open(tx, id.as_str(), &make::workspace_id(1)).await?.is_none());
                assert!(staged::delete_before(tx, 5, 10).await?.is_empty());
                assert_eq!(staged::delete_before(tx, 6, 10).await?, [id]);
                Ok::<_, DbError>(uses)
            })
        })
        .await
        .unwrap();
    assert_eq!(uses, [true, false]);
}

async fn insert_or_find_keeps_the_first_value(address: &str) {
    let db = make::open(address).await;
    for value in ["first", "second"] {
        let kept = db.write(move |tx| Box::pin(instance::insert_or_find(tx, "secret", value))).await.unwrap();
        assert_eq!(kept, "first");
    }
}

async fn a_hold_counts_until_it_expires_and_is_not_renewed_after_that(address: &str) {
    let db = make::open(address).await;
    let is_held = async |now| holds::is_held(&mut db.read().await.unwrap(), now).await.unwrap();
    let renew = async |id, now| db.write(move |tx| Box::pin(holds::renew(tx, id, now, now + 10))).await.unwrap();
    assert!(!is_held(0).await);
    for (id, expires_at) in [("a", 10), ("b", 15)] {
        db.write(move |tx| Box::pin(holds::insert(tx, id, expires_at))).await.unwrap();
    }
    assert!(is_held(14).await && !is_held(15).await);
    assert!(renew("b", 14).await && is_held(23).await && !is_held(24).await);
    assert!(!renew("a", 10).await, "the hold has expired");
    assert!(!renew("nobody", 0).await);
    assert!(
        !db.write(|tx| Box::pin(holds::delete(tx, "a", 20))).await.unwrap(),
        "the hold had expired before its deletion"
    );
    assert!(is_held(20).await, "the other hold has not expired");
    assert!(db.write(|tx| Box::pin(holds::delete(tx, "b", 20))).await.unwrap());
    assert!(!is_held(20).await);
    db.write(|tx| Box::pin(holds::insert(tx, "c", 30))).await.unwrap();
    assert_eq!(db.write(|tx| Box::pin(holds::delete_expired(tx, 29))).await.unwrap(), 0);
    assert_eq!(db.write(|tx| Box::pin(holds::delete_expired(tx, 30))).await.unwrap(), 1);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        prefixes_are_claimed_in_order_of_time_and_removed_after_deletion
        a_ticket_works_once_and_only_in_its_workspace
        insert_or_find_keeps_the_first_value
        a_hold_counts_until_it_expires_and_is_not_renewed_after_that
    }
}
