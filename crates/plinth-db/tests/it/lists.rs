//! Tests of lookup, updates and paging of models and renders.

use std::time::{Duration, Instant};

use plinth_db::models::{self, ModelFilter};
use plinth_db::renders::{self, RenderFilter};
use plinth_db::{Conn, Db, DbError, render_counts, workspaces};
use plinth_spec::page::{PageRequest, Position, Start, Total};
use plinth_spec::state::{HlsStatus, ModelStatus, RenderStatus};
use plinth_testkit::on_both_databases;

use crate::make;

fn all_models() -> ModelFilter {
    ModelFilter {
        workspace_id: make::workspace_id(1),
        status: None,
        tags: Vec::new(),
        updated_since: None,
        search: None,
    }
}

fn all_renders() -> RenderFilter {
    RenderFilter { workspace_id: make::workspace_id(1), model_id: None, status: None, updated_since: None }
}

const fn first(limit: u32) -> PageRequest {
    PageRequest { limit, start: Start::Offset(0) }
}

async fn model_ids(conn: &mut Conn, filter: &ModelFilter) -> Vec<String> {
    let models = models::list(conn, filter, &first(100)).await.unwrap();
    assert_eq!(models::count(conn, filter).await.unwrap(), models.len() as u64);
    models.iter().map(|m| m.original_name.clone()).collect()
}

async fn models_are_filtered_by_state_tags_and_time_of_change(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for (n, workspace) in [(2, 1), (3, 1), (4, 1), (5, 2)] {
                models::insert(tx, &make::model(n, workspace), &make::contents()).await?;
            }
            let tags = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
            models::update(tx, &make::model_id(1), Some("Chair"), None, &tags(&["red", "a_b%"]), 10).await?;
            models::update(tx, &make::model_id(2), None, Some("S-1"), &tags(&["blue", "re"]), 11).await?;
            models::set_status(tx, &make::model_id(3), ModelStatus::Active, ModelStatus::Archived, 12).await?;
            models::set_status(tx, &make::model_id(4), ModelStatus::Active, ModelStatus::Deleted, 13).await?;
            let three = make::model_id(3);
            let wrong = models::set_status(tx, &three, ModelStatus::Active, ModelStatus::Archived, 12);
            assert!(!wrong.await?);
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let active = ModelFilter { status: Some(ModelStatus::Active), ..all_models() };
    assert_eq!(model_ids(conn, &active).await, ["2.glb", "1.glb"]);
    assert_eq!(model_ids(conn, &all_models()).await, ["3.glb", "2.glb", "1.glb"]);
    let tagged = |tags: &[&str]| ModelFilter { tags: tags.iter().map(|t| (*t).to_owned()).collect(), ..all_models() };
    assert_eq!(model_ids(conn, &tagged(&["red"])).await, ["1.glb"]);
    assert_eq!(model_ids(conn, &tagged(&["red", "blue"])).await, ["2.glb", "1.glb"]);
    assert_eq!(model_ids(conn, &tagged(&["ed", "b%"])).await, Vec::<String>::new());
    let since = ModelFilter { updated_since: Some(11), ..all_models() };
    assert_eq!(model_ids(conn, &since).await, ["3.glb", "2.glb"]);
    let one = models::find(conn, &make::workspace_id(1), &make::model_id(1)).await.unwrap().unwrap();
    assert_eq!((one.title.as_deref(), one.tags), (Some("Chair"), vec!["red".to_owned(), "a_b%".to_owned()]));
    assert!(models::find(conn, &make::workspace_id(1), &make::model_id(4)).await.unwrap().is_none(), "deleted");
    assert!(models::find(conn, &make::workspace_id(1), &make::model_id(5)).await.unwrap().is_none(), "another's");
    let archived = make::id_text('f', 3);
    assert!(models::find_active_by_sha256(conn, &make::workspace_id(1), &archived).await.unwrap().is_none());
    let active = models::find_active_by_sha256(conn, &make::workspace_id(1), &make::id_text('f', 1)).await.unwrap();
    assert_eq!(active, Some(make::model_id(1)));
}

async fn a_cursor_visits_every_row_once_while_rows_are_inserted(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 0..25).await;
    // Several rows have the same creation time, so that their identifiers decide the order.
    db.write(|tx| {
        Box::pin(async move {
            for n in 25..32 {
                renders::insert(tx, &renders::Render { created_at: 7, ..make::render(n, 1) }).await?;
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let mut seen = Vec::new();
    let mut after = None;
    for round in 0u32.. {
        let page = PageRequest { limit: 5, start: Start::After(after.take()) };
        let mut rows = renders::list(&mut db.read().await.unwrap(), &all_renders(), &page).await.unwrap();
        let goes_on = rows.len() > 5;
        rows.truncate(5);
        after = rows.last().map(|r| Position { created_at_ms: r.created_at, id: r.id.to_string() });
        seen.extend(rows.into_iter().map(|r| r.id));
        make::add_renders(&db, 100 + round..101 + round).await;
        if !goes_on {
            break;
        }
    }
    let mut expected: Vec<_> = (0..32).map(make::render_id).collect();
    let mut sorted = seen.clone();
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
}

async fn renders_are_filtered_and_counted(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 1..5).await;
    db.write(|tx| {
        Box::pin(async move {
            use RenderStatus as S;
            assert!(renders::set_status(tx, &make::render_id(1), S::Pending, S::Failed, Some("Cancelled"), 50).await?);
            assert!(!renders::set_status(tx, &make::render_id(1), S::Pending, S::Failed, None, 50).await?);
            assert!(!renders::set_deleted(tx, &make::render_id(2), 60).await?, "still waiting");
            renders::set_status(tx, &make::render_id(3), S::Pending, S::Failed, None, 70).await?;
            assert!(renders::set_deleted(tx, &make::render_id(3), 60).await?);
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let waiting = RenderFilter { status: Some(RenderStatus::Pending), ..all_renders() };
    assert_eq!(renders::count(conn, &waiting).await.unwrap(), Total::exact(2));
    let changed = RenderFilter { updated_since: Some(50), ..all_renders() };
    let rows = renders::list(conn, &changed, &first(10)).await.unwrap();
    assert_eq!((rows.len(), rows[0].error_message.as_deref()), (1, Some("Cancelled")));
    assert_eq!((rows[0].hls_status, rows[0].failure_code), (HlsStatus::Skipped, None));
    let other_model = RenderFilter { model_id: Some(make::model_id(9)), ..all_renders() };
    assert_eq!(renders::count(conn, &other_model).await.unwrap(), Total::exact(0));
    let list = async |conn: &mut Conn, limit, characters| {
        let of = (make::model_id(1), make::workspace_id(1));
        let rows = renders::list_summaries(conn, &of.0, &of.1, limit, characters).await.unwrap();
        rows.into_iter().map(|render| render.id).collect::<Vec<_>>()
    };
    let newest = list(conn, 1000, 1000).await;
    assert_eq!((newest.len(), list(conn, 2, 1000).await), (3, newest[..2].to_vec()));
    assert_eq!(list(conn, 1000, 5).await, newest[..2], "the settings of each render have two characters");
    let of_other = renders::list_summaries(conn, &make::model_id(1), &make::workspace_id(2), 9, 99).await.unwrap();
    assert_eq!(of_other, []);
    assert!(renders::find(conn, &make::workspace_id(2), &make::render_id(2)).await.unwrap().is_none(), "another's");
    assert!(renders::find_anywhere(conn, &make::render_id(2)).await.unwrap().is_some());
    assert_eq!(renders::count_unfinished(conn).await.unwrap(), [(RenderStatus::Pending, 2)]);
    assert_eq!(renders::count_unpackaged(conn).await.unwrap(), 0);
}

async fn offset_pages_equal_cursor_pages_and_the_count_stays_correct(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 0..30).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            models::insert(tx, &make::model(2, 2), &make::contents()).await?;
            models::insert(tx, &make::model(3, 1), &make::contents()).await?;
            let another = renders::Render { workspace_id: make::workspace_id(2), ..make::render(30, 2) };
            renders::insert(tx, &another).await?;
            // The workspace also has renders of another model, finished renders and deleted renders.
            for n in 31..41 {
                let status = if n % 2 == 0 { RenderStatus::Failed } else { RenderStatus::Pending };
                renders::insert(tx, &renders::Render { status, created_at: 12, updated_at: 12, ..make::render(n, 3) })
                    .await?;
            }
            for n in [32, 36] {
                assert!(renders::set_deleted(tx, &make::render_id(n), 60).await?);
                assert!(!renders::set_deleted(tx, &make::render_id(n), 61).await?, "removed once");
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let of_model = RenderFilter { model_id: Some(make::model_id(3)), ..all_renders() };
    let ended = RenderFilter { status: Some(RenderStatus::Failed), ..all_renders() };
    let since = RenderFilter { updated_since: Some(20), ..all_renders() };
    let both = RenderFilter { status: Some(RenderStatus::Pending), ..of_model.clone() };
    for (filter, total) in [(all_renders(), 38), (of_model, 8), (ended, 3), (since, 10), (both, 5)] {
        let all = PageRequest { limit: 100, start: Start::After(None) };
        let all: Vec<_> = renders::list(conn, &filter, &all).await.unwrap().into_iter().map(|r| r.id).collect();
        let counted = renders::count(conn, &filter).await.unwrap();
        assert_eq!((all.len(), counted), (total, Total::exact(total as u64)), "{filter:?}");
        for offset in 0..=total + 1 {
            let page = PageRequest { limit: 4, start: Start::Offset(offset as u64) };
            let page: Vec<_> = renders::list(conn, &filter, &page).await.unwrap().into_iter().map(|r| r.id).collect();
            assert_eq!(page, all.iter().skip(offset).take(4).cloned().collect::<Vec<_>>(), "{filter:?} from {offset}");
        }
    }
    assert_eq!(workspaces::render_count(conn, &make::workspace_id(2)).await.unwrap(), 1);
    assert_eq!(workspaces::find_miscounted(conn).await.unwrap(), []);
}

async fn find_earlier_needs_equal_facts_and_a_render_within_the_window(address: &str) {
    let db = make::open(address).await;
    let found = db
        .write(|tx| {
            Box::pin(async move {
                let keyed = |n| renders::Render { replay_key: "k".to_owned(), ..make::render(n, 1) };
                renders::insert(tx, &keyed(10)).await?;
                renders::insert(tx, &renders::Render { replay_ordinal: 1, ..keyed(11) }).await?;
                renders::insert(tx, &renders::Render { status: RenderStatus::Error, replay_ordinal: 2, ..keyed(12) })
                    .await?;
                renders::insert(tx, &renders::Render { is_system_preview: true, ..make::render(13, 1) }).await?;
                let never = i64::MAX;
                let mut ids = Vec::new();
                for (sha, key, ordinal, keyed_since, any_since) in [
                    ("s", "k", 0, 10, never),
                    ("s", "k", 0, 11, never),
                    ("s", "k", 1, 0, never),
                    ("s", "k", 2, 0, never),
                    ("x", "k", 0, 0, 0),
                    ("s", "", 0, 0, never),
                    ("s", "another", 1, 0, 11),
                    ("s", "another", 1, 0, 12),
                ] {
                    let draft = renders::Render {
                        settings_sha256: sha.to_owned(),
                        replay_key: key.to_owned(),
                        replay_ordinal: ordinal,
                        ..make::render(20, 1)
                    };
                    // The lookup contains a second render, which must not be confused with the first one.
                    let other = renders::Render { settings_sha256: "y".to_owned(), ..draft.clone() };
                    let earlier = renders::find_earlier(tx, &[other, draft], keyed_since, any_since).await?;
                    let [none, earlier] = <[_; 2]>::try_from(earlier).unwrap();
                    assert!(none.is_none());
                    ids.push(earlier.map(|r| r.render.id));
                }
                let two = [keyed(30), renders::Render { replay_ordinal: 1, ..keyed(31) }];
                let earlier = renders::find_earlier(tx, &two, 0, never).await?;
                assert_eq!(
                    earlier.iter().flatten().map(|r| &r.render.id).collect::<Vec<_>>(),
                    [&make::render_id(10), &make::render_id(11)]
                );
                assert!(renders::find_earlier(tx, &[], 0, 0).await?.is_empty());
                assert_eq!(renders::find_system_preview(tx, &make::model_id(1)).await?, Some(make::render_id(13)));
                assert_eq!(renders::count_system_previews(tx, &make::account_id(1), 12).await?, 1);
                assert_eq!(renders::count_system_previews(tx, &make::account_id(1), 13).await?, 0);
                Ok::<_, DbError>(ids)
            })
        })
        .await
        .unwrap();
    let (first, second) = (Some(make::render_id(10)), Some(make::render_id(11)));
    assert_eq!(found, [first, None, second.clone(), None, None, None, second, None]);
}

/// Inserts finished renders with these numbers, several per statement. The times of their changes are `step_ms` apart.
async fn add_finished(db: &Db, numbers: std::ops::Range<u32>, step_ms: i64) {
    let done = |n| renders::Render {
        status: RenderStatus::Done,
        hls_status: HlsStatus::Ready,
        updated_at: i64::from(n) * step_ms,
        ..make::render(n, 1)
    };
    let numbers: Vec<u32> = numbers.collect();
    for some in numbers.chunks(500) {
        let rows: Vec<_> = some.iter().map(|n| done(*n)).collect();
        db.write(|tx| Box::pin(async move { renders::insert_all(tx, &rows).await })).await.unwrap();
    }
}

/// Tests that a list of changed renders is right with the query plan for few changed renders and with the one for many.
/// Its total is right whether the changed renders are counted or the unchanged ones are subtracted.
async fn changed_renders_are_listed_whether_few_or_many(address: &str) {
    let db = make::open(address).await;
    add_finished(&db, 1..6002, 1).await;
    assert_totals_of_changed(&db).await;
    // With 12 001 renders, thousands can have changed before the time of the filter and thousands after it.
    add_finished(&db, 6002..12_002, 1).await;
    let conn = &mut db.read().await.unwrap();
    for (since, total) in [(2, 12_000), (5501, 6501), (6501, 5501)] {
        for status in [None, Some(RenderStatus::Done)] {
            let filter = RenderFilter { updated_since: Some(since), status, ..all_renders() };
            // With a state, only the newest renders are read if thousands changed before and thousands after the time.
            let is_estimate = status.is_some() && since > 2;
            assert_eq!(renders::count(conn, &filter).await.unwrap(), Total { rows: total, is_estimate }, "{filter:?}");
        }
    }
    let of_model = RenderFilter { model_id: Some(make::model_id(1)), ..all_renders() };
    assert_eq!(renders::count(conn, &of_model).await.unwrap(), Total::exact(12_001));
}

async fn changed_renders_of_several_hours_are_counted(address: &str) {
    let db = make::open(address).await;
    let last: u32 = 12_000;
    // The last render changed 3 hours and 20 minutes after the time 0.
    add_finished(&db, 1..last + 1, 1000).await;
    let total =
        |since: i64| u64::from(last).min((i64::from(last) - (since + 999).div_euclid(1000) + 1).cast_unsigned());
    let count = async |since: i64| {
        let filter = RenderFilter { updated_since: Some(since), ..all_renders() };
        let total = renders::count(&mut db.read().await.unwrap(), &filter).await.unwrap();
        assert!(!total.is_estimate);
        total.rows
    };
    let times = [
        i64::MIN,
        0,
        1000,
        1001,
        2_000_000,
        3_599_000,
        3_599_001,
        3_600_000,
        3_600_001,
        5_399_999,
        5_400_000,
        6_000_000,
    ];
    for is_added in [false, true] {
        for since in times {
            assert_eq!(count(since).await, total(since.max(0)), "{since}, {is_added}");
        }
        while db.write(|tx| Box::pin(async move { render_counts::add_changes(tx).await })).await.unwrap() > 0 {}
    }
    assert_eq!(count(i64::MAX).await, 0);
    // Some renders change again in a later hour, and others are deleted.
    let changed = db.write(|tx| {
        Box::pin(async move {
            for n in 1..=10 {
                assert!(renders::set_deleted(tx, &make::render_id(n), 7_000_000).await?);
                let (id, done) = (make::render_id(100 * n), RenderStatus::Done);
                assert!(renders::set_status(tx, &id, done, RenderStatus::Failed, Some("late"), 7_200_000).await?);
            }
            Ok::<_, DbError>(())
        })
    });
    changed.await.unwrap();
    assert_eq!((count(0).await, count(3_600_000).await), (u64::from(last) - 10, total(3_600_000) + 10));
    make::assert_counted(&mut db.read().await.unwrap()).await;
}

async fn assert_totals_of_changed(db: &Db) {
    let conn = &mut db.read().await.unwrap();
    for (since, total) in [(6001, 1), (5902, 100), (1, 6001), (2, 6000), (901, 5101), (0, 6001), (7000, 0)] {
        let (of_any, of_model) = (all_renders(), RenderFilter { model_id: Some(make::model_id(1)), ..all_renders() });
        for (of, status) in [
            (&of_any, None),
            (&of_any, Some(RenderStatus::Done)),
            (&of_any, Some(RenderStatus::Pending)),
            (&of_model, None),
            (&of_model, Some(RenderStatus::Done)),
            (&of_model, Some(RenderStatus::Pending)),
        ] {
            let filter = RenderFilter { updated_since: Some(since), status, ..of.clone() };
            let total = if status == Some(RenderStatus::Pending) { 0 } else { total };
            assert_eq!(renders::count(conn, &filter).await.unwrap(), Total::exact(total), "{filter:?}");
            let rows = renders::list(conn, &filter, &first(50)).await.unwrap();
            let ids: Vec<_> = rows.into_iter().map(|render| render.id).collect();
            let newest = (1..=6001_u32).rev().take(usize::try_from(total.min(50)).unwrap());
            assert_eq!(ids, newest.map(make::render_id).collect::<Vec<_>>(), "{filter:?}");
        }
    }
}

/// Run it with `cargo nextest run --workspace --run-ignored only -E 'test(of_a_million_are_quick)' --no-capture`.
async fn filtered_lists_of_a_million_are_quick(address: &str) {
    let db = make::open(address).await;
    // The changes of the million renders are spread over 23 days.
    add_finished(&db, 1..1_000_001, 2000).await;
    make::add_renders(&db, 1_000_001..1_000_011).await;
    while db.write(|tx| Box::pin(async move { render_counts::add_changes(tx).await })).await.unwrap() > 0 {}
    // PostgreSQL counts rows from the index alone only after a VACUUM has processed the inserted rows.
    let conn = &mut db.read().await.unwrap();
    let (pending, done, half) = (Some(RenderStatus::Pending), Some(RenderStatus::Done), Some(1_000_000_000));
    let of_model = RenderFilter { model_id: Some(make::model_id(1)), ..all_renders() };
    let mut slow = Vec::new();
    for (what, filter, limit_ms) in [
        ("nothing changed", RenderFilter { updated_since: Some(2_000_000_001), ..all_renders() }, 5.0),
        ("ten changed", RenderFilter { updated_since: Some(1_999_980_001), ..all_renders() }, 5.0),
        ("ten are pending", RenderFilter { status: pending, ..all_renders() }, 100.0),
        ("a million are done", RenderFilter { status: done, ..all_renders() }, 100.0),
        ("all changed", RenderFilter { updated_since: Some(0), ..all_renders() }, 100.0),
        ("nine of ten changed", RenderFilter { updated_since: Some(200_000_000), ..all_renders() }, 100.0),
        ("half changed", RenderFilter { updated_since: half, ..all_renders() }, 100.0),
        ("all done changed", RenderFilter { updated_since: Some(0), status: done, ..all_renders() }, 100.0),
        ("half of done changed", RenderFilter { updated_since: half, status: done, ..all_renders() }, 100.0),
        ("a million of a model", of_model.clone(), 100.0),
        ("a million of a model done", RenderFilter { status: done, ..of_model.clone() }, 100.0),
        ("none of a model failed", RenderFilter { status: Some(RenderStatus::Failed), ..of_model.clone() }, 100.0),
        ("none of a model changed", RenderFilter { updated_since: Some(2_000_000_001), ..of_model.clone() }, 5.0),
        ("half of a model changed", RenderFilter { updated_since: half, ..of_model }, 100.0),
    ] {
        let (mut lists, mut counts) = (Vec::new(), Vec::new());
        for _n in 0..50 {
            let begin = Instant::now();
            renders::list(conn, &filter, &first(50)).await.unwrap();
            lists.push(begin.elapsed());
            let begin = Instant::now();
            renders::count(conn, &filter).await.unwrap();
            counts.push(begin.elapsed());
        }
        lists.sort_unstable();
        counts.sort_unstable();
        let ms = |times: &[Duration], percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
        #[expect(clippy::print_stdout, reason = "it measures")]
        let () = println!(
            "{what}: page p50 {:.2} ms, p99 {:.2} ms; total p50 {:.2} ms, p99 {:.2} ms",
            ms(&lists, 50),
            ms(&lists, 99),
            ms(&counts, 50),
            ms(&counts, 99)
        );
        if ms(&lists, 50) >= limit_ms || ms(&counts, 50) >= limit_ms {
            slow.push(what);
        }
    }
    assert_eq!(slow, Vec::<&str>::new());
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        #[ignore = "takes minutes"]
        filtered_lists_of_a_million_are_quick
        models_are_filtered_by_state_tags_and_time_of_change
        a_cursor_visits_every_row_once_while_rows_are_inserted
        renders_are_filtered_and_counted
        changed_renders_are_listed_whether_few_or_many
        changed_renders_of_several_hours_are_counted
        offset_pages_equal_cursor_pages_and_the_count_stays_correct
        find_earlier_needs_equal_facts_and_a_render_within_the_window
    }
}
