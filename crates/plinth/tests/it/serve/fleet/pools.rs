//! An autoscaler that uses the queries of the Helm chart to start and stop the workers of two pools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::{JoinHandle, block_in_place};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::deployment::Fleet;
use crate::worker::autoscaler::count_work;

/// Time between two scaling decisions.
const BETWEEN: Duration = Duration::from_secs(1);

pub(super) struct Pool {
    /// Name of the pool in the manifests of the chart.
    pub(super) name: &'static str,
    /// Slots of each worker. This is the target value of the query in the chart.
    pub(super) slots: u32,
    /// Indexes of the nodes of the pool.
    pub(super) nodes: std::ops::Range<usize>,
    /// Greatest number of workers that ran at the same time.
    pub(super) most: AtomicUsize,
    /// Number of workers that were stopped.
    pub(super) stopped: AtomicUsize,
}

/// Starts to scale the pools. The returned tasks end when `stop` is cancelled.
pub(super) fn scale(fleet: &Arc<Fleet>, pools: &Arc<[Pool]>, stop: &CancellationToken) -> Vec<JoinHandle<()>> {
    let tasks = (0..pools.len()).map(|number| {
        let (fleet, pools, stop) = (Arc::clone(fleet), Arc::clone(pools), stop.clone());
        tokio::spawn(async move {
            while !stop.is_cancelled() {
                decide(&fleet, &pools[number]);
                sleep(BETWEEN).await;
            }
        })
    });
    tasks.collect()
}

/// Starts the workers that a pool lacks, or stops one that it does not need.
fn decide(fleet: &Arc<Fleet>, pool: &Pool) {
    let work = block_in_place(|| count_work(pool.name, &fleet.database.address()));
    let wanted = (work.div_ceil(pool.slots) as usize).min(pool.nodes.len());
    let running = pool.nodes.clone().filter(|number| fleet.nodes[*number].is_running()).count();
    if running < wanted {
        // A node is not free while a worker that was told to stop completes its jobs.
        let free = pool.nodes.clone().map(|number| &fleet.nodes[number]);
        let free = free.filter(|node| !node.is_running() && node.strike.try_lock().is_ok());
        free.take(wanted - running).for_each(super::node::Node::start);
        let running = pool.nodes.clone().filter(|number| fleet.nodes[*number].is_running()).count();
        pool.most.fetch_max(running, Ordering::SeqCst);
    } else if let Some(number) = pool.nodes.clone().find(|number| fleet.nodes[*number].is_running())
        && running > wanted
    {
        pool.stopped.fetch_add(1, Ordering::SeqCst);
        let fleet = Arc::clone(fleet);
        tokio::spawn(async move {
            let node = &fleet.nodes[number];
            let _draining = node.strike.lock().await;
            // If the node has been drained in the meantime, it has no process to stop.
            if let Some(status) = node.stop() {
                assert!(status.success(), "a worker that was told to stop ended with {status}");
            }
        });
    }
}
