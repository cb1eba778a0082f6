//! Observes how long transactions hold locks in the database.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plinth_testkit::{Postgres, postgres};
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::sleep;

use super::deployment::Fleet;

/// Longest time for which a transaction may hold a lock, and for which the locks may be unknown because the database does
/// not answer.
const LONGEST: Duration = Duration::from_mins(1);
/// Selects the age in seconds, the state and the query of the oldest client transaction that holds a lock.
const OLDEST: &str = "SELECT concat_ws(' ', extract(epoch FROM clock_timestamp() - xact_start), state, query)
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    AND pid IN (SELECT pid FROM pg_locks WHERE granted) ORDER BY xact_start LIMIT 1";

/// A transaction that held a lock.
struct Held {
    since: Instant,
    /// Time of the observation.
    until: Instant,
}

/// Transactions that held locks. Each is the oldest one at the time of an observation.
#[derive(Default)]
pub(super) struct Locks(Vec<Held>);

impl Locks {
    /// Returns the longest time for which a transaction held a lock.
    pub(super) fn longest(&self) -> Duration {
        longest(self.0.iter())
    }

    /// Returns the longest time for which a transaction held a lock, of those that held one between two times.
    pub(super) fn longest_between(&self, begin: Instant, end: Instant) -> Duration {
        longest(self.0.iter().filter(|held| held.since <= end && held.until >= begin))
    }
}

fn longest<'a>(held: impl Iterator<Item = &'a Held>) -> Duration {
    held.map(|held| held.until.duration_since(held.since)).max().unwrap_or_default()
}

/// Starts a task that observes the locks until `stop` is cancelled, and returns them. It panics if a transaction holds a
/// lock for too long, or if the database does not answer for as long.
pub(super) fn watch(fleet: Arc<Fleet>, stop: tokio_util::sync::CancellationToken) -> JoinHandle<Locks> {
    tokio::spawn(async move {
        let mut locks = Locks::default();
        let mut answered = Instant::now();
        while !stop.is_cancelled() {
            match block_in_place(|| find_oldest(&fleet.database)) {
                Ok(held) => {
                    answered = Instant::now();
                    locks.0.extend(held);
                }
                // A database that restarts does not answer for some seconds.
                Err(message) => assert!(answered.elapsed() <= LONGEST, "the locks are unknown: {message}"),
            }
            sleep(Duration::from_secs(1)).await;
        }
        locks
    })
}

/// Finds the oldest transaction that holds a lock. Returns `None` if no transaction holds one.
/// Errors: the message of psql, if the database does not answer.
fn find_oldest(database: &Postgres) -> Result<Option<Held>, String> {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-A", "-t", "-d", &database.address(), "-c", OLDEST]);
    let done = psql.output().unwrap();
    let until = Instant::now();
    if !done.status.success() {
        return Err(format!("{}: {}", done.status, crate::text(&done.stderr)));
    }
    let oldest = crate::text(&done.stdout);
    let Some(age) = oldest.split_whitespace().next() else { return Ok(None) };
    let age = age.parse::<f64>().unwrap_or_else(|error| panic!("{error}: {oldest}"));
    // If the clock of this machine was set back, the age is negative.
    let age = Duration::from_secs_f64(age.max(0.0));
    assert!(age <= LONGEST, "a lock is held for too long: {oldest}");
    Ok(Some(Held { since: until.checked_sub(age).unwrap_or(until), until }))
}
