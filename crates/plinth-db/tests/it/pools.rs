//! Tests of claims of workers that take only some classes of work.

use std::time::{Duration, Instant};

use plinth_db::leases::{self, Lease, Worker};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Render};
use plinth_db::{Db, DbError};
use plinth_spec::WorkClass;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_testkit::{TestDatabase, on_both_databases};
use tokio::sync::oneshot;

use crate::make;

/// Claims one render for a worker that takes these classes, and returns the render's identifier.
async fn claim(db: &Db, kind: Kind, takes: &'static str) -> Option<String> {
    let claimed = db.write(move |tx| {
        Box::pin(async move {
            let worker = Worker { name: "w".to_owned(), pool: "cpu".to_owned(), takes: takes.parse().unwrap() };
            let now = 2_000_000_000_000;
            let lease = Lease { token: format!("{takes} {:?}", Instant::now()), until: now + 1000, worker };
            leases::claim(tx, kind, &lease, now).await
        })
    });
    claimed.await.unwrap().map(|render: Render| render.id.to_string())
}

/// Queues these renders of account 1, in this order. Returns their identifiers.
async fn queue(db: &Db, made: Vec<Render>) -> Vec<String> {
    let ids = made.iter().map(|render| render.id.to_string()).collect();
    db.write(move |tx| {
        Box::pin(async move {
            for render in made {
                renders::insert(tx, &render).await?;
                let kind = if render.status == RenderStatus::Done { Kind::Package } else { Kind::Render };
                queue::enter(tx, kind, [render.work_class], &render.payer_id).await?;
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    ids
}

fn of_classes(classes: &[Option<WorkClass>]) -> Vec<Render> {
    (1..).zip(classes).map(|(n, class)| Render { work_class: *class, ..make::render(n, 1) }).collect()
}

async fn a_worker_claims_only_the_classes_that_it_takes(address: &str) {
    let db = make::open(address).await;
    let ids =
        queue(&db, of_classes(&[Some(WorkClass::Pro), None, Some(WorkClass::Share), Some(WorkClass::Dataset)])).await;
    assert_eq!(
        claim(&db, Kind::Render, "standard,4k").await.as_ref(),
        Some(&ids[1]),
        "every worker takes a render without class"
    );
    assert_eq!(claim(&db, Kind::Render, "standard,4k").await, None);
    assert_eq!(claim(&db, Kind::Render, "share,dataset").await.as_ref(), Some(&ids[2]));
    assert_eq!(claim(&db, Kind::Render, "share,dataset").await.as_ref(), Some(&ids[3]));
    assert_eq!(claim(&db, Kind::Render, "share,dataset").await, None);
    assert_eq!(
        claim(&db, Kind::Render, "pro").await.as_ref(),
        Some(&ids[0]),
        "idle workers of other pools do not claim the render"
    );
}

async fn the_oldest_render_comes_first_whatever_its_class(address: &str) {
    use WorkClass as C;
    let db = make::open(address).await;
    let ids = queue(&db, of_classes(&[Some(C::Standard), Some(C::FourK), None, Some(C::Share), Some(C::FourK)])).await;
    let mut order = Vec::new();
    while let Some(id) = claim(&db, Kind::Render, "share,standard,4k,pro,dataset").await {
        order.push(id);
    }
    assert_eq!(order, ids);
}

async fn renders_with_equal_frames_are_claimed_together_only_if_their_class_is_equal(address: &str) {
    let db = make::open(address).await;
    let made = of_classes(&[Some(WorkClass::Share), Some(WorkClass::Standard), Some(WorkClass::Share), None, None]);
    let ids = queue(&db, made.clone()).await;
    let like = db.write(move |tx| {
        Box::pin(async move {
            let mut found = Vec::new();
            for (n, like) in [&made[0], &made[0], &made[0], &made[3], &made[3], &made[3]].into_iter().enumerate() {
                let lease = Lease { token: n.to_string(), until: 9, worker: "w".into() };
                found.push(leases::claim_like(tx, &lease, like, 8).await?.map(|render| render.id.to_string()));
            }
            Ok::<_, DbError>(found)
        })
    });
    let [one, two, four, five] = [0, 2, 3, 4].map(|n| Some(ids[n].clone()));
    assert_eq!(like.await.unwrap(), [one, two, None, four, five, None]);
}

async fn packagings_are_claimed_by_class(address: &str) {
    let db = make::open(address).await;
    let done = |render| Render { status: RenderStatus::Done, hls_status: HlsStatus::Pending, ..render };
    let made = of_classes(&[Some(WorkClass::FourK), Some(WorkClass::Share), None]).into_iter().map(done);
    let ids = queue(&db, made.collect()).await;
    assert_eq!(claim(&db, Kind::Package, "share").await.as_ref(), Some(&ids[1]));
    assert_eq!(claim(&db, Kind::Package, "share").await.as_ref(), Some(&ids[2]));
    assert_eq!(claim(&db, Kind::Package, "share").await, None);
    assert_eq!(claim(&db, Kind::Package, "4k").await.as_ref(), Some(&ids[0]));
}

/// Simultaneous claims for one account would wait for each other, because each raises the score of the account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simultaneous_claims_serve_different_accounts_if_several_have_work() {
    let database = TestDatabase::postgres();
    let db = make::open(database.address()).await;
    db.write(|tx| Box::pin(async move { make::tenant(tx, 2).await })).await.unwrap();
    let of_second = Render { payer_id: make::account_id(2), workspace_id: make::workspace_id(2), ..make::render(9, 1) };
    let ids = queue(&db, vec![make::render(1, 1), make::render(2, 1), make::render(3, 1), of_second]).await;
    let (tell, claimed) = oneshot::channel();
    let (release, released) = oneshot::channel();
    let other = db.clone();
    let paused = tokio::spawn(async move {
        let work = other.write(|tx| {
            Box::pin(async move {
                let lease = Lease { token: "paused".to_owned(), until: 9, worker: "w".into() };
                let render = leases::claim(tx, Kind::Render, &lease, 8).await?.unwrap();
                tell.send(render.id.to_string()).unwrap();
                released.await.unwrap();
                Ok::<_, DbError>(())
            })
        });
        work.await
    });
    assert_eq!(claimed.await.unwrap(), ids[0]);
    assert_eq!(claim(&db, Kind::Render, "standard").await.as_ref(), Some(&ids[3]), "the other account is next");
    assert_eq!(claim(&db, Kind::Render, "standard").await.as_ref(), Some(&ids[1]), "no slot stays idle");
    release.send(()).unwrap();
    paused.await.unwrap().unwrap();
    assert_eq!(claim(&db, Kind::Render, "standard").await.as_ref(), Some(&ids[2]));
}

/// Run it with `cargo nextest run --workspace --run-ignored only -E 'test(beside_a_backlog)' --no-capture`.
async fn a_worker_of_another_pool_claims_quickly_beside_a_backlog(address: &str) {
    let (db, accounts, renders_each) = (make::open(address).await, 200, 500);
    for n in 1..=accounts {
        db.write(move |tx| Box::pin(async move { if n > 1 { make::tenant(tx, n).await } else { Ok(()) } }))
            .await
            .unwrap();
        let of_account = (0..renders_each).map(|k| Render {
            payer_id: make::account_id(n),
            workspace_id: make::workspace_id(n),
            work_class: Some(WorkClass::Pro),
            ..make::render(n * renders_each + k, 1)
        });
        queue(&db, of_account.collect()).await;
    }
    let mut times = Vec::new();
    for n in 0..200 {
        let one = Render { work_class: Some(WorkClass::Share), ..make::render(1_000_000 + n, 1) };
        let ids = queue(&db, vec![one]).await;
        for found in [ids.first(), None] {
            let begin = Instant::now();
            assert_eq!(claim(&db, Kind::Render, "share").await.as_ref(), found);
            times.push(begin.elapsed());
        }
    }
    times.sort_unstable();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    #[expect(clippy::print_stdout, reason = "it measures")]
    let () = println!("beside {accounts} accounts with {renders_each} renders each: p50 {p50:?}, p99 {p99:?}");
    assert!(p99 < Duration::from_millis(20), "{p99:?}");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        #[ignore = "takes a minute"]
        a_worker_of_another_pool_claims_quickly_beside_a_backlog
        a_worker_claims_only_the_classes_that_it_takes
        the_oldest_render_comes_first_whatever_its_class
        renders_with_equal_frames_are_claimed_together_only_if_their_class_is_equal
        packagings_are_claimed_by_class
    }
}
