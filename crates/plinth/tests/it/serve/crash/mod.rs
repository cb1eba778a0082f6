//! Crash tests. Servers and workers are killed at random moments while clients upload models and create and cancel
//! renders. Afterwards, invariants are checked: nothing was lost, and nothing was done twice.
//!
//! The checks find these faults: a refund that is missing, is made twice or is not due; a charge without a render; a
//! render that was accepted and is lost; two renders for one order; a report of a worker without a lease; an object
//! that is referenced and missing, or unreferenced and never deleted; a job that outlives its worker; a wrong counter
//! of a workspace.
//!
//! The tests run two short rounds on each database. `make crash` runs long rounds. `CRASH_ROUNDS` sets the number of
//! rounds, `CRASH_ORDERS` their length, and `CRASH_SEED` the first random seed. Each round prints its seed.
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

/// Number of rounds of the default tests.
const ROUNDS: u64 = 2;
const ORDERS: usize = 12;
/// Maximum number of orders in progress at the same time.
const AT_ONCE: usize = 6;

/// Returns the number in an environment variable.
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
    // After the round, the installation must still work.
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
