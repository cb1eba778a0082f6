//! Tests of the counters of renders per state while concurrent transactions change renders.

use plinth_db::leases::{self, Lease, Report};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Render, RenderFilter};
use plinth_db::{Conn, Db, DbError, Tx, models, render_counts};
use plinth_spec::WorkClass;
use plinth_spec::page::Total;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_testkit::on_both_databases;

use crate::make;

/// Number of tasks that change renders at the same time, and number of changes that each of them makes.
const WRITERS: u32 = 6;
const CHANGES: u32 = 80;
/// Number of renders in the workspace that nobody changes.
const QUIET: u32 = 50;

/// A pseudorandom number generator whose sequence depends only on its seed (splitmix64; Steele, Lea and Flood: Fast
/// splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(end)).unwrap()
    }
}

/// Returns the number of renders in a state, once from the counters and once from the rows.
async fn numbers(conn: &mut Conn, workspace: u32, status: RenderStatus) -> (u64, u64) {
    let workspace_id = make::workspace_id(workspace);
    let counted = render_counts::count(conn, &workspace_id, status).await.unwrap();
    // With a filter by time, so few renders are counted from the rows.
    let filter = RenderFilter { workspace_id, model_id: None, status: Some(status), updated_since: Some(0) };
    (counted, renders::count(conn, &filter).await.unwrap().rows)
}

/// Changes one render, or inserts up to three renders. `number` identifies the change.
async fn change(tx: &mut Tx, number: u32, kind: u32, other: u32) -> Result<(), DbError> {
    use RenderStatus as S;
    // The changes are spread over several hours.
    let now = i64::from(number) * 100_000;
    match kind {
        0 | 1 => {
            let rows: Vec<Render> = (0..=other % 3).map(|n| make::render(number * 10 + n, 1)).collect();
            renders::insert_all(tx, &rows).await?;
            queue::enter(tx, Kind::Render, [Some(WorkClass::Standard)], &make::account_id(1)).await?;
        }
        2 => {
            let id = make::render_id(other);
            renders::set_status(tx, &id, S::Pending, S::Failed, Some("cancelled"), now).await?;
        }
        3 => drop(renders::set_deleted(tx, &make::render_id(other), now).await?),
        _ => {
            let lease = Lease { token: number.to_string(), until: now + 1, worker: "w".into() };
            let Some(render) = leases::claim(tx, Kind::Render, &lease, now).await? else { return Ok(()) };
            let report = |from, to, hls, is_last| {
                let poster_attempt = Some(render.attempt);
                Report { poster_attempt, is_last, ..Report::new(from, to, hls) }
            };
            let after_poster = report(S::PosterProcessing, S::VideoProcessing, HlsStatus::Pending, false);
            let end = [S::Done, S::Error][other as usize % 2];
            match kind {
                4 => drop(
                    leases::requeue_lost(tx, &render.id, &lease.token, S::PosterProcessing, S::Pending, now).await?,
                ),
                5 => drop(leases::report(tx, &render.id, &lease.token, &after_poster, now).await?),
                _ => {
                    leases::report(tx, &render.id, &lease.token, &after_poster, now).await?;
                    let last = report(S::VideoProcessing, end, HlsStatus::Skipped, true);
                    leases::report(tx, &render.id, &lease.token, &last, now).await?;
                }
            }
        }
    }
    // Some transactions are rolled back.
    if other.is_multiple_of(7) { Err(DbError::ShuttingDown) } else { Ok(()) }
}

async fn write(db: Db, writer: u32) {
    let mut random = Random(u64::from(writer));
    for n in 0..CHANGES {
        let (kind, past) = (random.below(7), 1 + random.below(n + 1));
        let number = (n * WRITERS + writer) + 1;
        let other = (past * WRITERS + random.below(WRITERS)) * 10 + random.below(3);
        let changed = db.write(move |tx| Box::pin(async move { change(tx, number, kind, other).await })).await;
        assert!(matches!(changed, Ok(()) | Err(DbError::ShuttingDown)), "{changed:?}");
    }
}

async fn numbers_equal_the_rows_after_many_simultaneous_changes(address: &str) {
    let db = make::open(address).await;
    let quiet = db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            models::insert(tx, &make::model(2, 2), &make::contents()).await?;
            let (workspace_id, payer_id) = (make::workspace_id(2), make::account_id(2));
            let row =
                |n| Render { workspace_id: workspace_id.clone(), payer_id: payer_id.clone(), ..make::render(n, 2) };
            let rows: Vec<Render> = (0..QUIET).map(|n| row(1_000_000 + n)).collect();
            renders::insert_all(tx, &rows).await
        })
    });
    quiet.await.unwrap();
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(db.clone(), writer))).collect();
    let adders: Vec<_> = (0..2)
        .map(|_adder| {
            let db = db.clone();
            tokio::spawn(async move {
                let mut added = 0;
                for _time in 0..40 {
                    added +=
                        db.write(|tx| Box::pin(async move { render_counts::add_changes(tx).await })).await.unwrap();
                    let seen = numbers(&mut db.read().await.unwrap(), 2, RenderStatus::Pending).await;
                    assert_eq!(seen, (u64::from(QUIET), u64::from(QUIET)), "while changes are added");
                }
                added
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut added = 0;
    for adder in adders {
        added += adder.await.unwrap();
    }
    assert!(added >= u64::from(QUIET), "{added}");
    let conn = &mut db.read().await.unwrap();
    let mut all = 0;
    for status in RenderStatus::ALL {
        let (counted, rows) = numbers(conn, 1, *status).await;
        assert_eq!(counted, rows, "{status:?}");
        all += rows;
    }
    assert!(all > 0);
    assert!(numbers(conn, 1, RenderStatus::Done).await.0 > 0, "no render was finished");
    make::assert_counted(conn).await;
    let everything =
        RenderFilter { workspace_id: make::workspace_id(1), model_id: None, status: None, updated_since: None };
    assert_eq!(renders::count(conn, &everything).await.unwrap(), Total::exact(all));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        numbers_equal_the_rows_after_many_simultaneous_changes
    }
}
