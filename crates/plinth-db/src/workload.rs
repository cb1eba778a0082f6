//! The queued and the running jobs of all machines.

use std::sync::LazyLock;

use plinth_spec::WorkClass;
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::state::{HlsEvent, RenderEvent, RenderStatus};

use crate::queue::Kind;
use crate::row::Row;
use crate::sql::params;
use crate::states::{BuiltSql, is_in, may, may_package};
use crate::{Conn, Result};

/// The queued or the running jobs of one kind and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Kind of work.
    pub kind: Kind,
    /// Class of the renders; `None` for renders that were created before classes were stored.
    pub class: Option<WorkClass>,
    /// True for running jobs, false for queued jobs.
    pub is_running: bool,
    pub jobs: u64,
    /// Time at which the oldest of these renders was created.
    pub oldest_at: i64,
}

/// A job that a worker runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningJob {
    pub render_id: RenderId,
    /// Kind of work.
    pub kind: Kind,
    /// Class of the render.
    pub class: Option<WorkClass>,
    /// State of the render.
    pub status: RenderStatus,
    /// Account that pays for the render.
    pub account_id: AccountId,
    /// E-mail address of this account.
    pub email: String,
    /// Name of the worker.
    pub worker: Option<String>,
    /// Number of the attempt.
    pub attempt: i64,
    /// Fraction of the work that is done, from 0 to 1; `None` if the attempt has not reported any.
    pub progress: Option<f64>,
    /// Time of the last change of the render's state.
    pub updated_at: i64,
}

fn kind_of(row: &Row) -> Result<Kind> {
    let is_packaging = row.parsed("status", RenderStatus::from_name)? == RenderStatus::Done;
    Ok(if is_packaging { Kind::Package } else { Kind::Render })
}

/// Counts the queued and the running jobs of each kind and class.
pub async fn list(conn: &mut Conn) -> Result<Vec<Workload>> {
    // The statement contains a separate query for each partial index.
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        let counted = |running: bool, condition: &str, status: &str| {
            format!(
                "SELECT {status} AS status, work_class, {running} AS is_running, count(*) AS n, min(created_at) AS oldest_at \
                 FROM renders WHERE {condition} GROUP BY work_class"
            )
        };
        let (pending, done) = (RenderStatus::Pending.as_str(), RenderStatus::Done.as_str());
        let parts = [
            counted(false, &format!("{} AND deleted_at IS NULL", may(RenderEvent::Claim)), &format!("'{pending}'")),
            counted(false, &format!("{} AND deleted_at IS NULL", may_package(HlsEvent::Claim)), &format!("'{done}'")),
            counted(
                true,
                &format!("lease_token IS NOT NULL AND {}", is_in(RenderStatus::is_held)),
                &format!("'{pending}'"),
            ),
            counted(true, &format!("lease_token IS NOT NULL AND status = '{done}'"), &format!("'{done}'")),
        ];
        BuiltSql::same(parts.join(" UNION ALL "))
    });
    let read = |row: &Row| {
        Ok(Workload {
            kind: kind_of(row)?,
            class: row.maybe_parsed("work_class", WorkClass::from_name)?,
            is_running: row.flag("is_running")?,
            jobs: row.count("n")?,
            oldest_at: row.int("oldest_at")?,
        })
    };
    conn.fetch_all(&SQL, params![]).await?.iter().map(read).collect()
}

/// Lists the jobs that workers run, the longest unchanged first.
pub async fn list_running(conn: &mut Conn, limit: u32) -> Result<Vec<RunningJob>> {
    let sql = "SELECT r.id, r.status, r.work_class, r.payer_id, a.email, r.worker, r.updated_at, \
               CASE WHEN r.status = $2 THEN r.hls_attempt ELSE r.attempt END AS attempt, \
               CASE WHEN r.status <> $2 AND r.progress_attempt = r.attempt THEN r.progress END AS progress \
               FROM renders r JOIN accounts a ON a.id = r.payer_id WHERE r.lease_token IS NOT NULL \
               ORDER BY r.updated_at, r.id LIMIT $1";
    let read = |row: &Row| {
        Ok(RunningJob {
            render_id: row.parsed("id", RenderId::parse)?,
            kind: kind_of(row)?,
            class: row.maybe_parsed("work_class", WorkClass::from_name)?,
            status: row.parsed("status", RenderStatus::from_name)?,
            account_id: row.parsed("payer_id", AccountId::parse)?,
            email: row.text("email")?,
            worker: row.maybe_text("worker")?,
            attempt: row.int("attempt")?,
            progress: row.maybe_real("progress")?,
            updated_at: row.int("updated_at")?,
        })
    };
    conn.fetch_all(sql, params![i64::from(limit), RenderStatus::Done.as_str()]).await?.iter().map(read).collect()
}

/// Counts the running jobs of the workers, by the name of the worker.
pub async fn count_by_worker(conn: &mut Conn) -> Result<Vec<(String, u64)>> {
    let sql = "SELECT worker, count(*) AS n FROM renders WHERE lease_token IS NOT NULL AND worker IS NOT NULL \
               GROUP BY worker ORDER BY worker";
    conn.fetch_all(sql, params![]).await?.iter().map(|row| Ok((row.text("worker")?, row.count("n")?))).collect()
}
