//! Nothing is lost and nothing doubled: servers and workers are killed at random moments while renders are ordered,
//! uploaded and cancelled. Afterwards all that is checked which must hold.
//!
//! What finds which fault: a refund that is missing, doubled, or not due, and a charge without its render ([`check`]: every
//! charge equals its ledger entries); a render that was accepted and is gone; a second render of one order; a worker that
//! reports without its lease (files of an attempt that does not count, a render that is ended twice); a file that is named and
//! missing, or lies there for ever; a job that outlives its worker; a workspace whose count is wrong.
//!
//! Two short rounds on each database belong to the tests. `make crash` runs long ones; `CRASH_ROUNDS`, `CRASH_ORDERS` and
//! `CRASH_SEED` say how many, how long, and which: a round prints its seed.
#![expect(clippy::print_stdout, reason = "a round says how to run it again")]

mod check;
mod house;
mod orders;
mod strikes;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use house::{House, LEASE_SECS};
use orders::Order;
use strikes::Strikes;

use super::server::Place;

/// Rounds and orders of the default tests.
const ROUNDS: u64 = 2;
const ORDERS: usize = 12;
/// Orders in progress at the same time.
const AT_ONCE: usize = 6;

/// A number from an environment variable.
fn number<T: FromStr>(name: &str) -> Option<T> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

async fn rounds(place: impl AsyncFn() -> Place) {
    let (count, orders) = (number("CRASH_ROUNDS").unwrap_or(ROUNDS), number("CRASH_ORDERS").unwrap_or(ORDERS));
    let first = number("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    for seed in first..first + count {
        println!("CRASH_SEED={seed} CRASH_ORDERS={orders}");
        round(place().await, seed, orders).await;
    }
}

/// Runs one round on a new installation.
async fn round(place: Place, seed: u64, orders: usize) {
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed);
    let place =
        place.set("PLINTH_FREE_UPLOADS_PER_DAY", "1000000").set("PLINTH_LEASE_SECONDS", &LEASE_SECS.to_string());
    let place = place.set("PLINTH_WORKER_GRACE_SECONDS", "1");
    let place = place.set("PLINTH_RATE_LIMIT_PER_MINUTE", "1000000").set("PLINTH_ADAPTER", "cpu");
    let house = Arc::new(House::open(place));
    let model = house.upload("first").await;
    let list: Vec<Order> = (0..orders).map(|number| Order::any(number, &mut random)).collect();
    let (strikes, pace) = Strikes::on(orders);
    let struck = tokio::spawn(strikes.fall(Arc::clone(&house), random));
    let mut told = orders::place(&house, &model.id, list, &pace).await;
    let struck = struck.await.unwrap();
    // After the round the installation works as usual.
    let last = orders::place(&house, &model.id, vec![Order::last(orders)], &pace).await;
    let renders = house.until_all_have_ended().await;
    for render in renders.iter().filter(|render| last.renders.contains(render["id"].as_str().unwrap())) {
        assert_eq!((&render["status"], &render["hlsStatus"]), (&"done".into(), &"ready".into()), "{render}");
    }
    told.renders.extend(last.renders);
    told.renders.insert(model.preview);
    let sums = check::all(&house, &told, &renders).await;
    println!("  {struck}; {sums}; {:.0} s", begin.elapsed().as_secs_f64());
    house.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_alone() {
    rounds(async || Place::alone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_shared() {
    rounds(Place::shared).await;
}
