//! Summary of the installation for operators: queue, workers, failures, rate, storage, and health.

use plinth_db::outcomes::{self, HourCount, Outcome};
use plinth_db::queue::Kind;
use plinth_db::storage::{self, StorageOfAccount};
use plinth_db::workload::{self, RunningJob, Workload};
use plinth_spec::wire::Health;
use plinth_spec::{FailureCode, WorkClass};

use super::workers::Fleet;
use crate::error::Result;
use crate::service::Service;

/// Maximum number of running jobs that are listed.
const RUNNING: u32 = 50;
/// Number of accounts in [`Storage::largest`].
const LARGEST: u32 = 10;

/// Summary of the installation for operators.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Health of database and store.
    pub health: Health,
    pub accounts: u64,
    /// The queue, by kind and class. Includes kinds and classes without jobs.
    pub queue: Vec<QueueRow>,
    /// Running jobs. The job that has not changed for the longest time is first.
    pub running: Vec<RunningJob>,
    pub fleet: Fleet,
    /// Failures, by code. Leaves out codes without failures in the last week.
    pub failures: Vec<FailureCount>,
    /// Number of renders that were finished in the last hour, day and week.
    pub rate: Rate,
    /// Number of renders that ended in each of the last 24 hours, the oldest hour first.
    pub hours: Vec<HourCount>,
    /// Files in the store.
    pub storage: Storage,
    /// Time at which the summary was read.
    pub now: i64,
}

/// Jobs of one kind and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// Kind of work.
    pub kind: Kind,
    /// Class of renders; `None` for packagings, and for renders that were created by a version without classes.
    pub class: Option<WorkClass>,
    /// Number of queued jobs.
    pub waiting: u64,
    /// Time at which the oldest queued render was ordered.
    pub oldest_at: Option<i64>,
    /// Number of running jobs.
    pub running: u64,
}

/// Number of jobs that ended in the last hour, day and week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// In the last hour.
    pub hour: u64,
    /// In the last 24 hours.
    pub day: u64,
    /// In the last seven days.
    pub week: u64,
}

/// Number of failures with one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureCount {
    /// Code of a failed render; `None` for failed packagings.
    pub code: Option<FailureCode>,
    pub count: Rate,
}

/// Files in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Size of all files, in bytes.
    pub bytes: u64,
    /// The accounts with the most bytes.
    pub largest: Vec<StorageOfAccount>,
}

impl Service {
    /// Reads the summary of the installation.
    pub async fn admin_overview(&self) -> Result<Overview> {
        let health = self.health().await;
        let fleet = self.fleet().await?;
        let mut conn = self.db.read().await?;
        let (mut rate, mut failures) = (Rate::default(), Vec::new());
        for counted in outcomes::list(&mut conn, fleet.now).await? {
            let count = Rate { hour: counted.hour, day: counted.day, week: counted.week };
            match counted.outcome {
                Outcome::Done => rate = count,
                Outcome::Failed(code) => failures.push(FailureCount { code: Some(code), count }),
                Outcome::PackagingFailed => failures.push(FailureCount { code: None, count }),
                Outcome::Packaged => {}
            }
        }
        failures.sort_by_key(|failure| std::cmp::Reverse((failure.count.hour, failure.count.day, failure.count.week)));
        Ok(Overview {
            health,
            accounts: plinth_db::accounts::count(&mut conn).await?,
            queue: queue(&workload::list(&mut conn).await?),
            running: workload::list_running(&mut conn, RUNNING).await?,
            failures,
            rate,
            hours: outcomes::by_hour(&mut conn, fleet.now).await?,
            storage: Storage {
                bytes: storage::total(&mut conn).await?,
                largest: storage::largest(&mut conn, LARGEST).await?,
            },
            now: fleet.now,
            fleet,
        })
    }
}

/// Groups jobs into rows: one for each class of renders, and one for all packagings.
fn queue(workload: &[Workload]) -> Vec<QueueRow> {
    let empty = |kind, class| QueueRow { kind, class, waiting: 0, oldest_at: None, running: 0 };
    let mut rows: Vec<QueueRow> = WorkClass::ALL.iter().map(|class| empty(Kind::Render, Some(*class))).collect();
    rows.push(empty(Kind::Render, None));
    rows.push(empty(Kind::Package, None));
    for load in workload {
        let class = load.class.filter(|_class| load.kind == Kind::Render);
        let Some(row) = rows.iter_mut().find(|row| row.kind == load.kind && row.class == class) else { continue };
        if load.is_running {
            row.running += load.jobs;
        } else {
            row.waiting += load.jobs;
            row.oldest_at = Some(row.oldest_at.map_or(load.oldest_at, |oldest| oldest.min(load.oldest_at)));
        }
    }
    // Leaves out an empty row for renders without a class, because current versions store the class of every render.
    rows.retain(|row| row.kind == Kind::Package || row.class.is_some() || row.waiting + row.running > 0);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packagings_of_all_classes_are_one_row() {
        let load = |kind, class, is_running, jobs, oldest_at| Workload { kind, class, is_running, jobs, oldest_at };
        let rows = queue(&[
            load(Kind::Render, Some(WorkClass::Pro), false, 3, 50),
            load(Kind::Render, Some(WorkClass::Pro), true, 1, 40),
            load(Kind::Package, Some(WorkClass::Pro), false, 2, 30),
            load(Kind::Package, None, false, 1, 20),
        ]);
        assert_eq!(rows.len(), WorkClass::ALL.len() + 1);
        let pro = rows.iter().find(|row| row.class == Some(WorkClass::Pro)).unwrap();
        assert_eq!((pro.waiting, pro.oldest_at, pro.running), (3, Some(50), 1));
        let packagings = rows.last().unwrap();
        assert_eq!((packagings.kind, packagings.waiting, packagings.oldest_at), (Kind::Package, 3, Some(20)));
    }
}
