//! What happens to processes meanwhile.

use std::fmt;
use std::time::Duration;

use tokio::time::sleep;

use super::house::{House, WORKERS};

/// Time between two strikes, in milliseconds.
const BETWEEN: std::ops::Range<u64> = 50..1500;
/// Longer than a lease.
const FROZEN: Duration = Duration::from_millis(2600);

/// How many strikes there were of each kind.
#[derive(Debug, Default)]
pub(super) struct Struck {
    servers: usize,
    workers: usize,
    frozen: usize,
}

impl fmt::Display for Struck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, workers, frozen } = self;
        write!(f, "{servers} servers and {workers} workers killed, {frozen} workers frozen")
    }
}

/// Strikes so many times. In the end everything runs.
pub(super) async fn strike(house: &House, times: usize, random: &mut fastrand::Rng) -> Struck {
    let mut struck = Struck::default();
    for _ in 0..times {
        sleep(Duration::from_millis(random.u64(BETWEEN))).await;
        let worker = random.usize(..WORKERS);
        match random.u8(..10) {
            0..4 => {
                house.kill_server();
                pause(random).await;
                house.start_server();
                struck.servers += 1;
            }
            4..8 => {
                house.kill_worker(worker);
                pause(random).await;
                house.start_worker(worker);
                struck.workers += 1;
            }
            _ => {
                // It comes back to life after others were given its work.
                house.signal_worker(worker, "STOP");
                sleep(FROZEN).await;
                house.signal_worker(worker, "CONT");
                struck.frozen += 1;
            }
        }
    }
    struck
}

/// Half of what died is there again at once.
async fn pause(random: &mut fastrand::Rng) {
    if random.bool() {
        sleep(Duration::from_millis(random.u64(..1000))).await;
    }
}
