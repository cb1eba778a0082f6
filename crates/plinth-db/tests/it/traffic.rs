//! Rate windows, garbage, staged uploads, the installation's own values.

use plinth_db::rate_windows::{self, Window};
use plinth_db::{DbError, garbage, instance, staged};
use plinth_spec::id::StagedId;
use plinth_testkit::on_both_databases;

use crate::make;

async fn a_window_counts_until_it_ends_and_then_begins_anew(address: &str) {
    let db = make::open(address).await;
    let windows = db
        .write(|tx| {
            Box::pin(async move {
                let mut windows = Vec::new();
                for now in [1_000, 1_500, 60_999, 61_000] {
                    windows.push(rate_windows::count(tx, "k", 60_000, now).await?);
                }
                windows.push(rate_windows::count(tx, "other", 60_000, 2_000).await?);
                Ok::<_, DbError>(windows)
            })
        })
        .await
        .unwrap();
    let window = |requests, ends_at| Window { requests, ends_at };
    assert_eq!(
        windows,
        [window(1, 61_000), window(2, 61_000), window(3, 61_000), window(1, 121_000), window(1, 62_000)]
    );
    assert_eq!(db.write(|tx| Box::pin(rate_windows::delete_ended(tx, 62_000))).await.unwrap(), 1);
}

async fn concurrent_requests_are_all_counted(address: &str) {
    let db = make::open(address).await;
    let counting = (0..60).map(|_n| {
        let db = db.clone();
        tokio::spawn(
            async move { db.write(|tx| Box::pin(rate_windows::count(tx, "k", 60_000, 5))).await.unwrap().requests },
        )
    });
    let mut seen = Vec::new();
    for count in counting.collect::<Vec<_>>() {
        seen.push(count.await.unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=60).collect::<Vec<_>>());
}

async fn garbage_is_due_in_order_and_forgotten(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            garbage::insert(tx, "b/", 20).await?;
            garbage::insert(tx, "a/", 10).await?;
            garbage::insert(tx, "c/", 30).await?;
            garbage::insert(tx, "c/", 40).await
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    assert_eq!(garbage::list_due(conn, 35, 10).await.unwrap(), ["a/", "b/"]);
    assert_eq!(garbage::list_due(conn, 40, 1).await.unwrap(), ["a/"]);
    db.write(|tx| Box::pin(garbage::delete(tx, "a/"))).await.unwrap();
    assert_eq!(garbage::list_due(conn, 40, 9).await.unwrap(), ["b/", "c/"]);
}

async fn a_ticket_is_used_once_and_only_where_it_was_given(address: &str) {
    let db = make::open(address).await;
    let id = StagedId::parse(&make::text('s', 1)).unwrap();
    let uses = db
        .write(|tx| {
            Box::pin(async move {
                make::tenant(tx, 2).await?;
                staged::insert(tx, &id, "ticket", &make::workspace_id(1), 5).await?;
                assert!(staged::find_open(tx, "ticket", &make::workspace_id(2)).await?.is_none());
                assert_eq!(staged::find_open(tx, "ticket", &make::workspace_id(1)).await?.as_ref(), Some(&id));
                let uses = [staged::finalize(tx, &id, 6).await?, staged::finalize(tx, &id, 7).await?];
                assert!(staged::find_open(tx, "ticket", &make::workspace_id(1)).await?.is_none());
                assert!(staged::delete_before(tx, 5, 10).await?.is_empty());
                assert_eq!(staged::delete_before(tx, 6, 10).await?, [id]);
                Ok::<_, DbError>(uses)
            })
        })
        .await
        .unwrap();
    assert_eq!(uses, [true, false]);
}

async fn the_first_value_of_an_installation_stays(address: &str) {
    let db = make::open(address).await;
    for value in ["first", "second"] {
        let kept = db.write(move |tx| Box::pin(instance::insert_or_find(tx, "secret", value))).await.unwrap();
        assert_eq!(kept, "first");
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_window_counts_until_it_ends_and_then_begins_anew
        concurrent_requests_are_all_counted
        garbage_is_due_in_order_and_forgotten
        a_ticket_is_used_once_and_only_where_it_was_given
        the_first_value_of_an_installation_stays
    }
}
