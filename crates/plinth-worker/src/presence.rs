//! Reports the worker to the service while it runs, so that administrators see it.

use std::sync::Arc;
use std::time::Duration;

use plinth_service::jobs::WorkerRow;
use plinth_spec::WorkerState;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::node::{Node, jittered, random};

/// Interval of the reports.
const INTERVAL: Duration = Duration::from_secs(20);
/// Time limit for removing a worker that ends from the list of workers.
const FAREWELL: Duration = Duration::from_secs(5);

/// Reports a worker until [`end`](Self::end) is called.
#[derive(Debug)]
pub(crate) struct Presence {
    node: Arc<Node>,
    id: String,
    reporting: JoinHandle<()>,
    stop: CancellationToken,
}

impl Presence {
    /// Starts to report a worker. `state` is the channel of its current state.
    pub(crate) fn begin(node: &Arc<Node>, adapter: &str, slots: usize, state: watch::Receiver<WorkerState>) -> Self {
        let id = format!("{:016x}{:016x}", random(), random());
        let options = &node.options;
        let row = WorkerRow {
            id: id.clone(),
            name: options.name.clone(),
            pool: options.pool.clone(),
            takes: options.takes.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adapter: adapter.to_owned(),
            encoder: node.encoder.to_string(),
            slots: slots as u64,
            state: *state.borrow(),
            started_at: 0,
            seen_at: 0,
        };
        let stop = CancellationToken::new();
        let reporting = tokio::spawn(report(Arc::clone(node), row, state, stop.clone()));
        Self { node: Arc::clone(node), id, reporting, stop }
    }

    /// Removes the worker from the list. If the database does not respond, the worker counts as lost.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let leaving = async {
            // Waits for a report that is being written, because this report would add the worker again after the removal.
            let _ended = self.reporting.await;
            self.node.service.forget_worker(self.id).await
        };
        match timeout(FAREWELL, leaving).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(error = %error, cause = ?error.cause, "the worker could not sign off"),
            Err(_elapsed) => tracing::warn!("the database did not respond when the worker signed off"),
        }
    }
}

/// Reports the worker at once, at intervals, and after each change of its state.
async fn report(node: Arc<Node>, mut row: WorkerRow, mut state: watch::Receiver<WorkerState>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        row.state = *state.borrow_and_update();
        if let Err(error) = node.service.report_worker(row.clone()).await {
            tracing::warn!(error = %error, cause = ?error.cause, "the worker could not report itself");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(jittered(INTERVAL)) => {}
            changed = state.changed() => if changed.is_err() { return },
        }
    }
}
