//! Strikes of a round: they kill, stop or suspend processes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::house::{House, LEASE_SECS, WORKERS};

/// Number of orders per strike.
const ORDERS_A_STRIKE: usize = 3;
/// Time between two strikes in milliseconds.
const BETWEEN: std::ops::Range<u64> = 50..1000;
/// Time for which a process is suspended. It is longer than a lease.
const FROZEN: Duration = Duration::from_millis(LEASE_SECS * 1000 + 400);

/// Delays orders, so that some orders are in progress at each strike.
pub(super) struct Pace(watch::Receiver<usize>);

impl Pace {
    /// Waits until the order with this number may start.
    pub(super) async fn until(&self, order: usize) {
        let mut strikes = self.0.clone();
        // An error means that all strikes are over, so every order may start.
        let _over = strikes.wait_for(|strikes| order <= strikes * ORDERS_A_STRIKE).await;
    }
}

/// The strikes of a round.
pub(super) struct Strikes {
    times: usize,
    begun: watch::Sender<usize>,
}

/// Number of strikes of each kind.
#[derive(Debug, Default)]
pub(super) struct Struck {
    servers: usize,
    workers: usize,
    stopped: usize,
    frozen: usize,
    frozen_servers: usize,
    databases: usize,
}

impl fmt::Display for Struck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, workers, stopped, frozen, frozen_servers, databases } = self;
        write!(
            f,
            "{servers} servers and {workers} workers killed, {stopped} workers stopped, {frozen} workers and \
             {frozen_servers} servers frozen, {databases} restarts of the database"
        )
    }
}

impl Strikes {
    /// Creates the strikes for this number of orders, and the pace of the orders.
    pub(super) fn on(orders: usize) -> (Self, Pace) {
        let (begun, pace) = watch::channel(0);
        (Self { times: orders.div_ceil(ORDERS_A_STRIKE), begun }, Pace(pace))
    }

    /// Executes the strikes. All processes run again when this returns.
    pub(super) async fn fall(self, house: Arc<House>, mut random: fastrand::Rng) -> Struck {
        let mut struck = Struck::default();
        for number in 1..=self.times {
            sleep(Duration::from_millis(random.u64(BETWEEN))).await;
            self.begun.send_replace(number);
            strike(&house, &mut struck, &mut random).await;
        }
        struck
    }
}

async fn strike(house: &House, struck: &mut Struck, random: &mut fastrand::Rng) {
    let worker = random.usize(..WORKERS);
    match random.u8(..13) {
        0..4 => {
            house.kill_server();
            pause(random).await;
            house.start_server();
            struck.servers += 1;
        }
        4..7 => {
            house.kill_worker(worker);
            pause(random).await;
            house.start_worker(worker);
            struck.workers += 1;
        }
        7 => {
            house.stop_worker(worker);
            house.start_worker(worker);
            struck.stopped += 1;
        }
        8 | 9 if house.restart_database() => struck.databases += 1,
        10 => {
            house.signal_server("STOP");
            sleep(FROZEN).await;
            house.signal_server("CONT");
            struck.frozen_servers += 1;
        }
        _ => {
            // Other workers claim the renders of the suspended worker before it continues.
            house.signal_worker(worker, "STOP");
            sleep(FROZEN).await;
            house.signal_worker(worker, "CONT");
            struck.frozen += 1;
        }
    }
}

/// Waits before a killed process is restarted: in half of the cases not at all, otherwise for a random time.
async fn pause(random: &mut fastrand::Rng) {
    if random.bool() {
        sleep(Duration::from_millis(random.u64(..1000))).await;
    }
}
