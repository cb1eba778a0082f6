//! Tests of leases and holds that were taken before the clock was set back.

use plinth_db::leases::{self, Lease};
use plinth_db::previews::{self, ClaimTimes, Request, RequestKey, State};
use plinth_db::queue::Kind;
use plinth_db::{DbError, clock_step, holds};
use plinth_testkit::on_both_databases;

use crate::make;

/// The step by which the clock is set back to about 0.
const STEP_MS: i64 = 3_600_000;
/// Latest end of leases of previews and of holds after the step.
const LATEST: i64 = 70_000;

/// The last lease was claimed after the step, by a worker with a long lease time.
async fn leases_from_before_the_step_end_after_their_own_lease_time(address: &str) {
    let db = make::open(address).await;
    make::add_renders(&db, 1..4).await;
    let lost = db.write(|tx| {
        Box::pin(async move {
            let claims = [("short", STEP_MS, 60_000), ("long", 300_000, 600_000), ("new", 10, 600_000)];
            for (token, claimed_at, lease_ms) in claims {
                let lease = Lease { token: token.to_owned(), until: claimed_at + lease_ms, worker: "w".into() };
                assert!(leases::claim(tx, Kind::Render, &lease, claimed_at).await?.is_some());
            }
            assert_eq!(clock_step::shorten_render_leases(tx, 20).await?, 2);
            assert_eq!(clock_step::shorten_render_leases(tx, 20).await?, 0);
            let mut lost = Vec::new();
            for now in [60_020, 60_021, 600_010, 600_011, 600_021] {
                let tokens = leases::list_lost(tx, now, 9).await?.into_iter().map(|one| one.token);
                lost.push(tokens.collect::<Vec<_>>().join(" "));
            }
            Ok::<_, DbError>(lost)
        })
    });
    assert_eq!(lost.await.unwrap(), ["", "short", "short", "short new", "short new long"]);
}

async fn a_preview_whose_worker_was_killed_before_the_step_can_be_claimed_again(address: &str) {
    let db = make::open(address).await;
    let key = RequestKey {
        account_id: make::account_id(1),
        model_id: make::model_id(1),
        page_id: "page".to_owned(),
        request_id: "request".to_owned(),
    };
    let request =
        Request { key, workspace_id: make::workspace_id(1), payer_id: make::account_id(1), request: "{}".to_owned() };
    let states = db.write(move |tx| {
        Box::pin(async move {
            previews::insert(tx, &request, STEP_MS).await?;
            let times = ClaimTimes { now: STEP_MS, unreserved_until: STEP_MS, abandoned_until: 0 };
            let lease = previews::Lease { token: "killed", until: STEP_MS + 6_000 };
            assert!(previews::claim(tx, lease, times, None).await?.is_some());
            assert_eq!(clock_step::shorten_preview_leases(tx, LATEST).await?, 1);
            Ok::<_, DbError>([
                previews::find_state(tx, &request.key, LATEST - 1).await?,
                previews::find_state(tx, &request.key, LATEST).await?,
            ])
        })
    });
    assert_eq!(states.await.unwrap(), [State::Drawing, State::Waiting]);
}

async fn holds_from_before_the_step_expire(address: &str) {
    let db = make::open(address).await;
    let held = db.write(|tx| {
        Box::pin(async move {
            holds::insert(tx, "old", STEP_MS + 600_000).await?;
            holds::insert(tx, "new", LATEST).await?;
            assert_eq!(clock_step::shorten_holds(tx, LATEST).await?, 1);
            Ok::<_, DbError>([
                holds::is_held(tx, LATEST - 1).await?,
                holds::is_held(tx, LATEST).await?,
                holds::renew(tx, "new", LATEST - 1, LATEST).await?,
            ])
        })
    });
    assert_eq!(held.await.unwrap(), [true, false, true]);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        leases_from_before_the_step_end_after_their_own_lease_time
        a_preview_whose_worker_was_killed_before_the_step_can_be_claimed_again
        holds_from_before_the_step_expire
    }
}
