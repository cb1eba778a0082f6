//! Injects faults into a deployment: kills, stops or suspends its processes, and restarts its database.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::deployment::{Deployment, LEASE_SECS, WORKERS};
use super::pace::{Begun, Pace, pace};

const ORDERS_PER_FAULT: usize = 3;
/// Time between two faults in milliseconds.
const BETWEEN: std::ops::Range<u64> = 50..1000;
/// Time for which a process is suspended. It is longer than a lease.
const FROZEN: Duration = Duration::from_millis(LEASE_SECS * 1000 + 400);

pub(super) struct Faults {
    times: usize,
    begun: Begun,
}

/// Number of faults of each kind.
#[derive(Debug, Default)]
pub(super) struct FaultCounts {
    servers: usize,
    workers: usize,
    stopped: usize,
    frozen: usize,
    frozen_servers: usize,
    databases: usize,
}

impl fmt::Display for FaultCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, workers, stopped, frozen, frozen_servers, databases } = self;
        write!(
            f,
            "{servers} servers and {workers} workers killed, {stopped} workers stopped, {frozen} workers and \
             {frozen_servers} servers frozen, {databases} restarts of the database"
        )
    }
}

impl Faults {
    /// Returns the faults for this number of orders, and the [`Pace`] that delays the orders.
    pub(super) fn for_orders(orders: usize) -> (Self, Pace) {
        let (begun, pace) = pace(ORDERS_PER_FAULT);
        (Self { times: orders.div_ceil(ORDERS_PER_FAULT), begun }, pace)
    }

    /// Injects the faults. All processes run again when this returns.
    pub(super) async fn inject(self, deployment: Arc<Deployment>, mut random: fastrand::Rng) -> FaultCounts {
        let mut counts = FaultCounts::default();
        for _strike in 0..self.times {
            sleep(Duration::from_millis(random.u64(BETWEEN))).await;
            self.begun.one_more();
            inject_one(&deployment, &mut counts, &mut random).await;
        }
        counts
    }
}

async fn inject_one(deployment: &Deployment, counts: &mut FaultCounts, random: &mut fastrand::Rng) {
    let worker = random.usize(..WORKERS);
    match random.u8(..13) {
        0..4 => {
            deployment.kill_server();
            pause(random).await;
            deployment.start_server();
            counts.servers += 1;
        }
        4..7 => {
            deployment.kill_worker(worker);
            pause(random).await;
            deployment.start_worker(worker);
            counts.workers += 1;
        }
        7 => {
            deployment.stop_worker(worker);
            deployment.start_worker(worker);
            counts.stopped += 1;
        }
        8 | 9 if deployment.restart_database() => counts.databases += 1,
        10 => {
            deployment.signal_server("STOP");
            sleep(FROZEN).await;
            deployment.signal_server("CONT");
            counts.frozen_servers += 1;
        }
        _ => {
            // Other workers claim the renders of the suspended worker before it continues.
            deployment.signal_worker(worker, "STOP");
            sleep(FROZEN).await;
            deployment.signal_worker(worker, "CONT");
            counts.frozen += 1;
        }
    }
}

/// Waits before a killed process is restarted: in half of the cases not at all, otherwise for a random time.
async fn pause(random: &mut fastrand::Rng) {
    if random.bool() {
        sleep(Duration::from_millis(random.u64(..1000))).await;
    }
}
