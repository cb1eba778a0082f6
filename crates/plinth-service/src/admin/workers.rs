//! The list of workers, and the reports with which workers update this list.

use std::collections::BTreeMap;

use plinth_db::workers::{self, WorkerRow};
use plinth_db::workload;
use plinth_spec::WorkerState;

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Time in milliseconds after which a worker that does not report counts as lost. Workers report every 20 s.
const LOST_MS: i64 = 70_000;
/// Time in milliseconds after which a lost worker is no longer listed.
pub(crate) const FORGOTTEN_MS: i64 = 24 * 3_600_000;

/// A worker, as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerView {
    /// What the worker reports.
    pub row: WorkerRow,
    /// Whether the worker has stopped reporting.
    pub is_lost: bool,
    /// Number of jobs that workers of this name run.
    pub jobs: u64,
}

/// All workers.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// First the workers that have stopped reporting, then the workers that claim nothing, then all others; each group by name.
    pub workers: Vec<WorkerView>,
    /// Time at which the list was read.
    pub now: i64,
}

impl Fleet {
    /// Counts the workers that report this state.
    pub fn count(&self, state: WorkerState) -> usize {
        self.workers.iter().filter(|worker| !worker.is_lost && worker.row.state == state).count()
    }

    /// Counts the workers that have stopped reporting.
    pub fn lost(&self) -> usize {
        self.workers.iter().filter(|worker| worker.is_lost).count()
    }
}

impl Service {
    /// Stores the report of a worker. The times in `worker` are ignored.
    pub async fn report_worker(&self, worker: WorkerRow) -> Result<()> {
        let reported = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let worker = WorkerRow { started_at: now, seen_at: now, ..worker };
                Ok::<_, ServiceError>(workers::report(tx, &worker).await?)
            })
        });
        reported.await
    }

    /// Removes a worker that has ended from the list.
    pub async fn forget_worker(&self, id: String) -> Result<()> {
        let forgotten = self.write_lease(move |tx, _now| {
            Box::pin(async move { Ok::<_, ServiceError>(workers::delete(tx, &id).await?) })
        });
        forgotten.await
    }

    /// Lists all workers. Workers that need attention are first.
    pub async fn fleet(&self) -> Result<Fleet> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let jobs: BTreeMap<String, u64> = workload::count_by_worker(&mut conn).await?.into_iter().collect();
        let rows = workers::list(&mut conn).await?;
        let view = |row: WorkerRow| WorkerView {
            is_lost: now - row.seen_at > LOST_MS,
            jobs: jobs.get(&row.name).copied().unwrap_or_default(),
            row,
        };
        let mut workers: Vec<WorkerView> = rows.into_iter().map(view).collect();
        workers.sort_by(|one, other| order(one).cmp(&order(other)));
        Ok(Fleet { workers, now })
    }
}

fn order(worker: &WorkerView) -> (bool, bool, &str, &str) {
    let claims = worker.row.state == WorkerState::Claiming;
    (!worker.is_lost, claims, &worker.row.name, &worker.row.id)
}
