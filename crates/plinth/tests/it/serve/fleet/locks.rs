//! Observes how long transactions hold locks in the database.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use plinth_testkit::postgres;
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::sleep;

use super::deployment::Fleet;

/// Longest time in seconds that a transaction may hold a lock.
const LONGEST_SECS: f64 = 60.0;
/// Selects the age in seconds, the state and the query of the oldest client transaction that holds a lock.
const OLDEST: &str = "SELECT extract(epoch FROM clock_timestamp() - xact_start) || ' ' || state || ' ' || query
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    AND pid IN (SELECT pid FROM pg_locks WHERE granted) ORDER BY xact_start LIMIT 1";

/// Starts a task that observes the locks until `stop` is cancelled. It returns the longest time that a transaction held
/// a lock, and panics if this time exceeds the limit.
pub(super) fn watch(fleet: Arc<Fleet>, stop: tokio_util::sync::CancellationToken) -> JoinHandle<f64> {
    tokio::spawn(async move {
        let mut longest: f64 = 0.0;
        while !stop.is_cancelled() {
            let mut psql = Command::new(postgres().join("psql"));
            psql.args(["-X", "-A", "-t", "-d", &fleet.database.address(), "-c", OLDEST]);
            let done = block_in_place(|| psql.output()).unwrap();
            let oldest = crate::text(&done.stdout);
            // The query returns nothing while the database restarts.
            let age = oldest.split(' ').next().and_then(|age| age.parse::<f64>().ok()).unwrap_or_default();
            assert!(age <= LONGEST_SECS, "a lock is held for too long: {oldest}");
            longest = longest.max(age);
            sleep(Duration::from_secs(1)).await;
        }
        longest
    })
}
