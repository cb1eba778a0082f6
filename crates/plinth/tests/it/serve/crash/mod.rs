//! Crash tests. Servers and workers are killed at random moments while clients upload models and create and cancel
//! renders. Afterwards, invariants are checked: nothing was lost, and nothing was done twice.
//!
//! The checks find these faults: a refund that is missing, is made twice or is not due; a charge without a render; a
//! render that was accepted and is lost; two renders for one request; a worker that reports on a job without a lease;
//! an object that is referenced and missing, or unreferenced and never deleted; a job that outlives its worker; a
//! wrong counter of a workspace.
//!
//! The tests run two short rounds on each database. `make crash` runs long rounds. `CRASH_ROUNDS` sets the number of
//! rounds, `CRASH_ORDERS` the number of requests per round, and `CRASH_SEED` the first random seed. Each round prints
//! its seed.
#![expect(clippy::print_stdout, reason = "a round says how to run it again")]

pub(super) mod check;
pub(super) mod clients;
mod deployment;
mod faults;
pub(super) mod pace;
pub(super) mod requests;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use clients::Clients as _;
use deployment::{Deployment, LEASE_SECS};
use faults::Faults;
use requests::Order;

use super::server::Installation;

/// Number of rounds of the default tests.
const ROUNDS: u64 = 2;
const ORDERS: usize = 12;

/// Returns the number in an environment variable.
pub(super) fn number<T: FromStr>(name: &str) -> Option<T> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

async fn rounds(installation: impl AsyncFn() -> Installation) {
    let (count, orders) = (number("CRASH_ROUNDS").unwrap_or(ROUNDS), number("CRASH_ORDERS").unwrap_or(ORDERS));
    let first = number("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    for seed in first..first + count {
        println!("CRASH_SEED={seed} CRASH_ORDERS={orders}");
        round(installation().await, seed, orders).await;
    }
}

/// Runs one round on a new installation.
async fn round(installation: Installation, seed: u64, orders: usize) {
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed);
    let installation =
        installation.set("PLINTH_FREE_UPLOADS_PER_DAY", "1000000").set("PLINTH_LEASE_SECONDS", &LEASE_SECS.to_string());
    let installation = installation.set("PLINTH_WORKER_GRACE_SECONDS", "1");
    let installation = installation.set("PLINTH_RATE_LIMIT_PER_MINUTE", "1000000").set("PLINTH_ADAPTER", "cpu");
    let deployment = Arc::new(Deployment::open(installation));
    let model = deployment.upload("first").await;
    let list: Vec<Order> = (0..orders).map(|number| Order::any(number, &mut random)).collect();
    let (faults, pace) = Faults::for_orders(orders);
    let counts = tokio::spawn(faults.inject(Arc::clone(&deployment), random));
    let mut responses = requests::send_all(&*deployment, &model.id, list, &pace).await;
    let counts = counts.await.unwrap();
    // After the round, the installation must still work.
    let last = requests::send_all(&*deployment, &model.id, vec![Order::last(orders)], &pace).await;
    let renders = deployment.until_all_have_ended().await;
    for render in renders.iter().filter(|render| last.renders.contains(render["id"].as_str().unwrap())) {
        assert_eq!((&render["status"], &render["hlsStatus"]), (&"done".into(), &"ready".into()), "{render}");
    }
    responses.renders.extend(last.renders);
    responses.renders.insert(model.preview);
    let sums = check::all(&*deployment, &deployment.remains(), &responses, &renders).await;
    println!("  {counts}; {sums}; {:.0} s", begin.elapsed().as_secs_f64());
    deployment.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_on_sqlite() {
    rounds(async || Installation::with_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_on_postgres_and_s3() {
    rounds(Installation::with_postgres_and_s3).await;
}
