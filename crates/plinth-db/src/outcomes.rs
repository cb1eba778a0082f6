//! Counters of ended jobs, by outcome.

use plinth_spec::FailureCode;
use plinth_spec::id::RenderId;

use crate::row::Row;
use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Length of a period, in milliseconds. Each counter counts the jobs of one period.
const PERIOD_MS: i64 = 300_000;
/// Number of counters of one outcome in one period. With several counters, jobs that end at the same time mostly lock different
/// rows.
const SHARDS: i64 = 32;
const HOUR_MS: i64 = 3_600_000;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A render is done.
    Done,
    /// A render failed.
    Failed(FailureCode),
    /// A video was packaged for streaming.
    Packaged,
    /// The packaging of a video failed.
    PackagingFailed,
}

impl Outcome {
    /// Returns the name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(code) => code.as_str(),
            Self::Packaged => "packaged",
            Self::PackagingFailed => "packaging_failed",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let others = [Self::Done, Self::Packaged, Self::PackagingFailed];
        let other = others.into_iter().find(|outcome| outcome.as_str() == name);
        other.or_else(|| FailureCode::from_name(name).map(Self::Failed))
    }
}

/// Numbers of jobs with the same outcome. They include jobs that ended up to five minutes before the start of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeCount {
    pub outcome: Outcome,
    /// In the last hour.
    pub hour: u64,
    /// In the last 24 hours.
    pub day: u64,
    /// In the last seven days.
    pub week: u64,
}

/// Number of renders that ended in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourCount {
    /// Start of the hour.
    pub begin: i64,
    /// Number of renders that succeeded.
    pub done: u64,
    pub failed: u64,
}

/// Counts the end of a job. Must be the last call of a transaction that takes locks, so that two transactions never deadlock.
pub async fn count(tx: &mut Tx, outcome: Outcome, render: &RenderId, now: i64) -> Result<()> {
    let sql = "INSERT INTO outcomes (period, outcome, shard, jobs) VALUES ($1, $2, $3, 1) \
               ON CONFLICT (period, outcome, shard) DO UPDATE SET jobs = outcomes.jobs + 1";
    tx.execute(sql, params![now / PERIOD_MS, outcome.as_str(), shard_of(render)]).await.map(drop)
}

/// Returns the number of the counter that counts a render, from 0 to [`SHARDS`] - 1.
fn shard_of(render: &RenderId) -> i64 {
    render.as_str().bytes().map(i64::from).sum::<i64>() % SHARDS
}

/// Counts the jobs that ended in the last hour, day and week, by outcome. Leaves out outcomes that no job had, and outcomes
/// that only a newer version of the program knows.
pub async fn list(conn: &mut Conn, now: i64) -> Result<Vec<OutcomeCount>> {
    let sql = "SELECT outcome, \
               CAST(sum(CASE WHEN period >= $1 THEN jobs ELSE 0 END) AS BIGINT) AS hour, \
               CAST(sum(CASE WHEN period >= $2 THEN jobs ELSE 0 END) AS BIGINT) AS day, \
               CAST(sum(jobs) AS BIGINT) AS week \
               FROM outcomes WHERE period >= $3 GROUP BY outcome ORDER BY outcome";
    let since = |hours: i64| (now - hours * HOUR_MS) / PERIOD_MS;
    let rows = conn.fetch_all(sql, params![since(1), since(24), since(7 * 24)]).await?;
    let read = |row: &Row| {
        let Some(outcome) = Outcome::from_name(&row.text("outcome")?) else { return Ok(None) };
        Ok(Some(OutcomeCount { outcome, hour: row.count("hour")?, day: row.count("day")?, week: row.count("week")? }))
    };
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Counts the renders that ended in each of the last 24 hours, the oldest first. The last entry is the current hour.
pub async fn by_hour(conn: &mut Conn, now: i64) -> Result<Vec<HourCount>> {
    let sql = "SELECT period / $1 AS hour, \
               CAST(sum(CASE WHEN outcome = $3 THEN jobs ELSE 0 END) AS BIGINT) AS done, \
               CAST(sum(CASE WHEN outcome IN ($3, $4, $5) THEN 0 ELSE jobs END) AS BIGINT) AS failed \
               FROM outcomes WHERE period >= $2 GROUP BY period / $1 ORDER BY 1";
    let periods = HOUR_MS / PERIOD_MS;
    let first = now / HOUR_MS - 23;
    let [done, packaged, packaging_failed] =
        [Outcome::Done, Outcome::Packaged, Outcome::PackagingFailed].map(Outcome::as_str);
    let values = params![periods, first * periods, done, packaged, packaging_failed];
    let rows = conn.fetch_all(sql, values).await?;
    let mut hours: Vec<HourCount> =
        (0..24).map(|hour| HourCount { begin: (first + hour) * HOUR_MS, done: 0, failed: 0 }).collect();
    for row in &rows {
        let number = usize::try_from(row.int("hour")? - first).ok();
        if let Some(hour) = number.and_then(|number| hours.get_mut(number)) {
            (hour.done, hour.failed) = (row.count("done")?, row.count("failed")?);
        }
    }
    Ok(hours)
}

/// Deletes counters of periods that ended before a time. Returns the number of deleted counters.
pub async fn delete_before(tx: &mut Tx, time: i64) -> Result<u64> {
    tx.execute("DELETE FROM outcomes WHERE period < $1", params![time / PERIOD_MS]).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn renders_are_spread_over_all_counters() {
        let ids =
            (0..1000).flat_map(|n| ["a", "k", "z"].map(|kind| RenderId::parse(&format!("{kind}{n:011}")).unwrap()));
        assert_eq!(ids.map(|id| shard_of(&id)).collect::<BTreeSet<_>>(), (0..SHARDS).collect());
    }
}
