//! Tests of claims, reports and lost leases of jobs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plinth_db::leases::{self, Lease, Report};
use plinth_db::progress::{self, Progress};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Render};
use plinth_db::{Db, DbError, models, share_time};
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::{FailureCode, WorkClass};
use plinth_testkit::on_both_databases;

use crate::make;

fn lease(token: &str) -> Lease {
    Lease { token: token.to_owned(), until: 1_000, worker: "w".into() }
}

fn to(from: RenderStatus, to: RenderStatus, hls: HlsStatus, is_last: bool) -> Report {
    Report { is_last, ..Report::new(from, to, hls) }
}

async fn eight_concurrent_workers_claim_each_render_once(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 0..200).await;
    let claimers = (0..8u32).map(|claimer| {
        let db = db.clone();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            for n in 0.. {
                let lease = lease(&format!("{claimer}-{n}"));
                let claim =
                    db.write(move |tx| Box::pin(async move { leases::claim(tx, Kind::Render, &lease, 300).await }));
                match claim.await.unwrap() {
                    Some(render) => taken.push(render.id),
                    None => break,
                }
            }
            taken
        })
    });
    let mut all = Vec::new();
    for claimer in claimers.collect::<Vec<_>>() {
        all.extend(claimer.await.unwrap());
    }
    assert_eq!(all.len(), 200);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 200);
}

async fn the_oldest_render_is_claimed_first_and_claim_like_finds_equal_frames(address: &str) {
    let db = make::open(address).await;
    let claimed = db
        .write(|tx| {
            Box::pin(async move {
                models::insert(tx, &make::model(2, 1), &make::contents()).await?;
                for (n, model) in [(5, 1), (3, 1), (4, 2)] {
                    renders::insert(tx, &make::render(n, model)).await?;
                }
                queue::enter(tx, Kind::Render, [Some(WorkClass::Standard)], &make::account_id(1)).await?;
                let like = make::render(9, 2);
                let of_two = leases::claim_like(tx, &lease("a"), &like, 10).await?;
                let other_frames = Render { frames_sha256: "g".to_owned(), ..make::render(9, 1) };
                assert_eq!(leases::claim_like(tx, &lease("c"), &other_frames, 10).await?, None);
                let oldest = leases::claim(tx, Kind::Render, &lease("b"), 10).await?;
                Ok::<_, DbError>((of_two, oldest))
            })
        })
        .await
        .unwrap();
    let (of_two, oldest) = (claimed.0.unwrap(), claimed.1.unwrap());
    assert_eq!((of_two.id, oldest.id), (make::render_id(4), make::render_id(3)));
    assert_eq!((oldest.status, oldest.attempt), (RenderStatus::PosterProcessing, 1));
    assert!(oldest.updated_at > oldest.created_at);
}

async fn a_report_without_the_lease_changes_nothing(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 1..2).await;
    let results = db
        .write(|tx| {
            Box::pin(async move {
                use RenderStatus as S;
                leases::claim(tx, Kind::Render, &lease("mine"), 10).await?;
                let id = make::render_id(1);
                let forward = to(S::PosterProcessing, S::VideoProcessing, HlsStatus::Pending, false);
                let forward = Report { poster_attempt: Some(1), ..forward };
                let finish = to(S::VideoProcessing, S::Done, HlsStatus::Pending, true);
                let finish = Report {
                    files_attempt: Some(1),
                    files: Some("{}".to_owned()),
                    warnings: Some("[\"w\"]".to_owned()),
                    ..finish
                };
                Ok::<_, DbError>([
                    leases::renew(tx, &id, "other", 2_000).await?,
                    leases::report(tx, &id, "other", &forward, 11).await?,
                    leases::report(tx, &id, "mine", &finish, 11).await?,
                    leases::renew(tx, &id, "mine", 2_000).await?,
                    leases::report(tx, &id, "mine", &forward, 11).await?,
                    leases::report(tx, &id, "mine", &finish, 11).await?,
                    leases::report(tx, &id, "mine", &finish, 12).await?,
                ])
            })
        })
        .await
        .unwrap();
    assert_eq!(results, [false, false, false, true, true, true, false]);
    let mut conn = db.read().await.unwrap();
    let render = renders::find(&mut conn, &make::workspace_id(1), &make::render_id(1)).await.unwrap().unwrap();
    assert_eq!(render.status, RenderStatus::Done);
    assert_eq!((render.poster_attempt, render.files_attempt), (Some(1), Some(1)));
    assert_eq!((render.files.as_deref(), render.warnings.as_str()), (Some("{}"), "[\"w\"]"));
    assert_eq!(render.updated_at, 12, "updated_at increases even if two changes have the same time");
}

async fn expired_leases_are_listed_and_packaging_is_claimed_after_the_video(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 1..3).await;
    let (early, packaged, lost) = db
        .write(|tx| {
            Box::pin(async move {
                use RenderStatus as S;
                let early = leases::claim(tx, Kind::Package, &lease("p"), 10).await?;
                leases::claim(tx, Kind::Render, &lease("one"), 10).await?;
                let fail = to(S::PosterProcessing, S::Error, HlsStatus::Skipped, true);
                let fail = Report { failure: Some((FailureCode::Timeout, "slow".to_owned())), ..fail };
                leases::report(tx, &make::render_id(1), "one", &fail, 11).await?;
                leases::claim(tx, Kind::Render, &lease("two"), 10).await?;
                for (from, after) in [(S::PosterProcessing, S::VideoProcessing), (S::VideoProcessing, S::Done)] {
                    let last = after == S::Done;
                    leases::report(tx, &make::render_id(2), "two", &to(from, after, HlsStatus::Pending, last), 12)
                        .await?;
                }
                let packaged = leases::claim(tx, Kind::Package, &lease("p"), 13).await?;
                let held = leases::find_leased(tx, &make::render_id(2), "p").await?;
                assert!(held.is_some());
                for (token, now, is_lost) in [("p", 1_000, false), ("p", 1_001, true), ("two", 1_001, false)] {
                    assert_eq!(leases::is_lost(tx, &make::render_id(2), token, now).await?, is_lost, "{token} {now}");
                }
                let lost = (leases::list_lost(tx, 1_000, 9).await?, leases::list_lost(tx, 1_001, 9).await?);
                Ok::<_, DbError>((early, packaged, lost))
            })
        })
        .await
        .unwrap();
    assert!(early.is_none());
    let packaged = packaged.unwrap();
    assert_eq!(
        (packaged.id, packaged.hls_status, packaged.hls_attempt),
        (make::render_id(2), HlsStatus::Processing, 1)
    );
    assert!(lost.0.is_empty());
    assert_eq!((lost.1.len(), lost.1[0].token.as_str()), (1, "p"));
}

async fn only_expired_leases_of_the_packaging_count_as_its_losses(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 1..2).await;
    let losses = db.write(|tx| {
        Box::pin(async move {
            use RenderStatus as S;
            let id = make::render_id(1);
            leases::claim(tx, Kind::Render, &lease("lost"), 10).await?;
            assert!(leases::requeue_lost(tx, &id, "lost", S::PosterProcessing, S::Pending, 11).await?);
            leases::claim(tx, Kind::Render, &lease("render"), 12).await?;
            for (from, after) in [(S::PosterProcessing, S::VideoProcessing), (S::VideoProcessing, S::Done)] {
                let report = to(from, after, HlsStatus::Pending, after == S::Done);
                assert!(leases::report(tx, &id, "render", &report, 13).await?);
            }
            leases::claim(tx, Kind::Package, &lease("released"), 14).await?;
            let release = to(S::Done, S::Done, HlsStatus::Pending, true);
            assert!(leases::report(tx, &id, "released", &release, 15).await?);
            let mut losses = Vec::new();
            for token in ["first", "second"] {
                leases::claim(tx, Kind::Package, &lease(token), 16).await?;
                let lost = leases::list_lost(tx, 1_001, 9).await?;
                losses.extend(lost.iter().map(|one| (one.losses, one.render.hls_attempt)));
                for (holder, is_requeued) in [("other", false), (token, true), (token, false)] {
                    assert_eq!(leases::requeue_lost_packaging(tx, &id, holder, 1_001).await?, is_requeued, "{holder}");
                }
            }
            Ok::<_, DbError>(losses)
        })
    });
    assert_eq!(losses.await.unwrap(), [(0, 2), (1, 3)]);
}

/// Claims `claims` renders, as a worker does, from a queue with `renders_each` renders of each account. Returns the
/// sorted durations of the claims.
async fn claim_times(address: &str, accounts: u32, renders_each: u32, claims: usize) -> Vec<Duration> {
    let db = make::open(address).await;
    for n in 1..=accounts {
        db.write(move |tx| {
            Box::pin(async move {
                if n > 1 {
                    make::tenant(tx, n).await?;
                }
                let numbers = n * renders_each..(n + 1) * renders_each;
                let of_account = |number| Render {
                    payer_id: make::account_id(n),
                    workspace_id: make::workspace_id(n),
                    frames_sha256: format!("{number:064}"),
                    ..make::render(number, 1)
                };
                // SQLite accepts 32766 parameters.
                for rows in numbers.map(of_account).collect::<Vec<_>>().chunks(500) {
                    renders::insert_all(tx, rows).await?;
                }
                queue::enter(tx, Kind::Render, [Some(WorkClass::Standard)], &make::account_id(n)).await
            })
        })
        .await
        .unwrap();
    }
    let (mut times, mut payers) = (Vec::new(), BTreeSet::new());
    for n in 0..claims {
        let begin = Instant::now();
        let now = 2_000_000_000_000 + 1000 * i64::try_from(n).unwrap();
        let claimed = db.write(move |tx| {
            Box::pin(async move {
                let first = leases::claim(tx, Kind::Render, &lease(&n.to_string()), now).await?.unwrap();
                assert!(leases::claim_like(tx, &lease("like"), &first, now).await?.is_none());
                queue::begin_slot(tx, &first.id, &first.payer_id, now, now + 1000).await?;
                Ok::<_, DbError>(first.payer_id)
            })
        });
        payers.insert(claimed.await.unwrap());
        times.push(begin.elapsed());
    }
    assert_eq!(
        payers.len(),
        claims.min(accounts as usize),
        "one render of every account is claimed before a second render of any account"
    );
    times.sort_unstable();
    times
}

async fn accounts_take_turns_regardless_of_the_number_of_their_renders(address: &str) {
    claim_times(address, 20, 50, 30).await;
}

/// The time at which the tests of fair shares begin, as Unix time in milliseconds.
const START: i64 = 2_000_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// Queues three renders of each of two accounts.
async fn add_renders_of_two_accounts(db: &Db) {
    make::add_renders(db, 1..4).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for n in 4..7 {
                renders::insert(tx, &Render { payer_id: make::account_id(2), ..make::render(n, 1) }).await?;
            }
            queue::enter(tx, Kind::Render, [Some(WorkClass::Standard)], &make::account_id(2)).await
        })
    })
    .await
    .unwrap();
}

/// Claims a render, and charges the first `secs` seconds of its slot in advance.
async fn claim_slot(db: &Db, now: i64, secs: i64) -> Render {
    let claimed = db.write(move |tx| {
        Box::pin(async move {
            share_time::keep(tx, now).await?;
            let render = leases::claim(tx, Kind::Render, &lease("w"), now).await?.unwrap();
            queue::begin_slot(tx, &render.id, &render.payer_id, now, now + 1000 * secs).await?;
            Ok::<_, DbError>(render)
        })
    });
    claimed.await.unwrap()
}

/// Charges the time of a slot up to `now`, as for a worker that renews its lease.
async fn renew_slot(db: &Db, render: &Render, now: i64) {
    let id = render.id.clone();
    let charging = db.write(move |tx| {
        Box::pin(async move {
            let used = queue::measure_slot(tx, &id, "w", now, false).await?;
            queue::charge_slot(tx, used, now).await
        })
    });
    charging.await.unwrap();
}

async fn the_time_of_a_slot_is_charged_when_it_begins(address: &str) {
    let db = make::open(address).await;
    add_renders_of_two_accounts(&db).await;
    let mut payers = Vec::new();
    // The first slot takes longer than the two that follow.
    for secs in [10, 1, 1] {
        payers.push(claim_slot(&db, START, secs).await.payer_id);
    }
    assert_eq!(payers, [1, 2, 2].map(make::account_id));
}

async fn worker_time_counts_the_same_before_and_after_the_clock_is_set_back(address: &str) {
    let db = make::open(address).await;
    add_renders_of_two_accounts(&db).await;
    let mut payers = Vec::new();
    for (now, secs) in [(START, 20), (START - HOUR_MS, 50), (START - HOUR_MS, 1)] {
        payers.push(claim_slot(&db, now, secs).await.payer_id);
    }
    assert_eq!(payers, [1, 2, 1].map(make::account_id));
}

async fn the_time_of_a_slot_is_measured_after_the_clock_was_set_back(address: &str) {
    let db = make::open(address).await;
    add_renders_of_two_accounts(&db).await;
    let after = START - HOUR_MS;
    let first = claim_slot(&db, START, 1).await;
    assert_eq!(claim_slot(&db, after, 10).await.payer_id, make::account_id(2));
    // The worker renews the lease of the first render twice.
    for now in [after, after + 30_000] {
        renew_slot(&db, &first, now).await;
    }
    let next = claim_slot(&db, after + 30_000, 1).await;
    assert_eq!(next.payer_id, make::account_id(2), "the first account has used 31 s");
}

async fn time_that_is_charged_in_advance_is_not_charged_again(address: &str) {
    let db = make::open(address).await;
    add_renders_of_two_accounts(&db).await;
    let first = claim_slot(&db, START, 60).await;
    assert_eq!(claim_slot(&db, START, 90).await.payer_id, make::account_id(2));
    for now in [START, START + 60_000] {
        renew_slot(&db, &first, now).await;
    }
    let next = claim_slot(&db, START + 60_000, 1).await;
    assert_eq!(next.payer_id, make::account_id(1), "the first account has used 60 s");
}

/// Run it with `cargo nextest run --workspace --run-ignored only -E 'test(from_a_million_is_quick)' --no-capture`.
async fn claiming_from_a_million_is_quick(address: &str) {
    let (accounts, renders_each) = (1000, 1000);
    let times = claim_times(address, accounts, renders_each, 2000).await;
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    #[expect(clippy::print_stdout, reason = "it measures")]
    let () = println!("{accounts} accounts with {renders_each} renders each: p50 {p50:?}, p99 {p99:?}");
    assert!(p99 < Duration::from_millis(5), "{p99:?}");
}

async fn progress_belongs_to_an_attempt_and_never_decreases(address: &str) {
    use RenderStatus as S;

    let db = make::open(address).await;
    make::add_renders(&db, 1..2).await;
    let id = make::render_id(1);
    let claim = async |token: &'static str| {
        let claimed = db.write(|tx| Box::pin(async { leases::claim(tx, Kind::Render, &lease(token), 10).await }));
        claimed.await.unwrap().unwrap()
    };
    let store = async |token: &'static str, fraction, ends_at| {
        let progress = Progress { fraction, ends_at };
        let id = id.clone();
        db.write(move |tx| Box::pin(async move { progress::store(tx, &id, token, progress).await })).await.unwrap()
    };
    let state = async || {
        let mut conn = db.read().await.unwrap();
        let of_row = renders::find_anywhere(&mut conn, &id).await.unwrap().unwrap().state();
        let ids = [id.clone(), make::render_id(7)];
        let states = progress::find_states(&mut conn, &make::workspace_id(1), &ids).await.unwrap();
        assert_eq!(states, std::slice::from_ref(&of_row), "an unknown render is left out");
        let other = progress::find_states(&mut conn, &make::workspace_id(2), &ids).await.unwrap();
        assert_eq!(other, [], "another workspace");
        let unfinished =
            progress::find_unfinished(&mut conn, &make::workspace_id(1), &make::model_id(1)).await.unwrap();
        assert_eq!(unfinished.as_ref(), Some(&of_row).filter(|state| !state.status.is_final()));
        (of_row.status, of_row.progress, of_row.ends_at)
    };
    assert_eq!(state().await, (S::Pending, Some(0.0), None));
    let updated_at = claim("first").await.updated_at;
    assert_eq!(state().await, (S::PosterProcessing, Some(0.0), None));
    assert!(store("first", 0.5, Some(70)).await && !store("other", 0.9, Some(80)).await);
    assert_eq!(state().await, (S::PosterProcessing, Some(0.5), Some(70)));
    // The worker draws all frames again.
    for ends_at in [None, Some(90)] {
        assert!(store("first", 0.4, ends_at).await);
        assert_eq!(state().await, (S::PosterProcessing, Some(0.5), ends_at));
    }
    let row = renders::find_anywhere(&mut db.read().await.unwrap(), &id).await.unwrap().unwrap();
    assert_eq!(row.updated_at, updated_at, "progress is no change of state");
    let lost = id.clone();
    let requeued = db.write(move |tx| {
        Box::pin(async move { leases::requeue_lost(tx, &lost, "first", S::PosterProcessing, S::Pending, 20).await })
    });
    assert!(requeued.await.unwrap());
    assert_eq!(state().await, (S::Pending, Some(0.0), None), "a lost lease");
    assert!(!store("first", 0.9, Some(70)).await, "its worker reports too late");
    claim("second").await;
    assert_eq!(state().await, (S::PosterProcessing, Some(0.0), None), "the next attempt begins at 0");
    assert!(store("second", 0.1, Some(70)).await);
    assert_eq!(state().await, (S::PosterProcessing, Some(0.1), Some(70)));
    let failed = to(S::PosterProcessing, S::Error, HlsStatus::Skipped, true);
    let end = id.clone();
    db.write(move |tx| Box::pin(async move { leases::report(tx, &end, "second", &failed, 30).await })).await.unwrap();
    assert_eq!(state().await, (S::Error, None, None));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        #[ignore = "takes minutes"]
        claiming_from_a_million_is_quick
        eight_concurrent_workers_claim_each_render_once
        accounts_take_turns_regardless_of_the_number_of_their_renders
        the_time_of_a_slot_is_charged_when_it_begins
        worker_time_counts_the_same_before_and_after_the_clock_is_set_back
        the_time_of_a_slot_is_measured_after_the_clock_was_set_back
        time_that_is_charged_in_advance_is_not_charged_again
        the_oldest_render_is_claimed_first_and_claim_like_finds_equal_frames
        a_report_without_the_lease_changes_nothing
        progress_belongs_to_an_attempt_and_never_decreases
        expired_leases_are_listed_and_packaging_is_claimed_after_the_video
        only_expired_leases_of_the_packaging_count_as_its_losses
    }
}
