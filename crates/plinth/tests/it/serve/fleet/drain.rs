//! Drains a node, as before its maintenance: stops a worker with SIGTERM while it has jobs.

use std::collections::BTreeSet;
use std::time::Instant;

use tokio::task::block_in_place;
use tokio::time::sleep;

use super::deployment::Fleet;
use super::node::Node;
use crate::serve::crash::clients::{Clients as _, PAUSE, TIMEOUT};
use crate::worker::autoscaler::select;

/// Drains a worker that has jobs. Asserts that it finishes them, claims no other jobs, and exits successfully. Returns
/// the number of its jobs.
pub(super) async fn drain(fleet: &Fleet) -> usize {
    let begin = Instant::now();
    loop {
        for node in fleet.workers() {
            // The lock keeps the autoscaler and injected faults away from the node.
            let Ok(_draining) = node.strike.try_lock() else { continue };
            if node.is_running() && !leases(fleet, node).is_empty() {
                let jobs = finish(fleet, node).await;
                if jobs > 0 {
                    return jobs;
                }
            }
        }
        assert!(begin.elapsed() < TIMEOUT, "no worker has a job that could be finished\n{}", fleet.log());
        sleep(PAUSE).await;
    }
}

/// Stops a worker. Returns the number of jobs that it still had after it stopped claiming. This is zero if they had
/// already ended.
async fn finish(fleet: &Fleet, node: &Node) -> usize {
    node.signal("TERM");
    let begin = Instant::now();
    while !fleet.is_draining(node).await && !node.has_ended() {
        assert!(begin.elapsed() < TIMEOUT, "a worker that was told to stop takes work\n{}", fleet.log());
        sleep(PAUSE).await;
    }
    // A claim that was already in progress may still succeed.
    sleep(PAUSE * 4).await;
    let held = leases(fleet, node);
    while !node.has_ended() {
        let more: Vec<_> = leases(fleet, node).difference(&held).cloned().collect();
        assert!(more.is_empty(), "a worker that was told to stop claimed {more:?}\n{}", fleet.log());
        assert!(begin.elapsed() < TIMEOUT, "a worker that was told to stop does not end\n{}", fleet.log());
        sleep(PAUSE).await;
    }
    let status = node.stop().unwrap();
    assert!(status.success(), "a drained worker ended with {status}\n{}", fleet.log());
    for lease in &held {
        let (id, kind) = lease.split_once(' ').unwrap();
        let (attempt, state) = if kind == "render" { ("attempt", "status") } else { ("hls_attempt", "hls_status") };
        let query = format!("SELECT {attempt}, {state}, error_message FROM renders WHERE id = '{id}'");
        let found = read(fleet, &query);
        let is_done = ["1|done|\n", "1|ready|\n"].contains(&found.as_str());
        assert!(is_done, "{kind} {id} did not end where it was begun: {found}\n{}", fleet.log());
    }
    held.len()
}

/// Returns the IDs of the renders that a worker has leased, each with the kind of its job, `render` or `package`.
fn leases(fleet: &Fleet, node: &Node) -> BTreeSet<String> {
    let kind = "CASE status WHEN 'done' THEN 'package' ELSE 'render' END";
    let of = format!("lease_token IS NOT NULL AND worker = '{}'", node.host.name());
    read(fleet, &format!("SELECT id || ' ' || {kind} FROM renders WHERE {of}")).lines().map(ToOwned::to_owned).collect()
}

fn read(fleet: &Fleet, query: &str) -> String {
    block_in_place(|| select(&fleet.database.address(), query))
}
