//! The list of workers. Each worker reports its properties and its state.

use plinth_spec::WorkerState;

use crate::sql::params;
use crate::table::table;
use crate::{Conn, Result, Tx};

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Random identifier of the worker's process.
    pub id: String,
    /// Display name, which is also stored with the worker's leases.
    pub name: String,
    /// Pool that the worker belongs to; empty if it belongs to none.
    pub pool: String,
    /// Classes of renders that the worker claims, separated by commas.
    pub takes: String,
    /// Version of the program.
    pub version: String,
    /// Graphics adapter.
    pub adapter: String,
    /// H.264 encoder.
    pub encoder: String,
    /// Number of renders that the worker runs at the same time.
    pub slots: u64,
    pub state: WorkerState,
    /// Time of the first report.
    pub started_at: i64,
    /// Time of the last report.
    pub seen_at: i64,
}

table!(WorkerRow in "workers", columns: id, name, pool, takes, version, adapter, encoder, slots, state, started_at, seen_at);

/// Stores the report of a worker. The first report inserts a row, later ones change its state and the time of the last
/// report.
pub async fn report(tx: &mut Tx, worker: &WorkerRow) -> Result<()> {
    let sql = "UPDATE workers SET state = $2, seen_at = $3 WHERE id = $1";
    let params = params![worker.id.as_str(), worker.state.as_str(), worker.seen_at];
    if tx.execute(sql, params).await? == 0 { worker.add(tx).await } else { Ok(()) }
}

/// Lists all workers, the one with the oldest last report first.
pub async fn list(conn: &mut Conn) -> Result<Vec<WorkerRow>> {
    let sql = concat!("SELECT ", columns!(), " FROM workers ORDER BY seen_at, id");
    conn.fetch_all(sql, params![]).await?.iter().map(WorkerRow::of).collect()
}

/// Deletes a worker that has ended.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<()> {
    tx.execute("DELETE FROM workers WHERE id = $1", params![id]).await.map(drop)
}

/// Deletes workers that have not reported since a time. Returns the number of deleted workers.
pub async fn delete_unseen(tx: &mut Tx, since: i64) -> Result<u64> {
    tx.execute("DELETE FROM workers WHERE seen_at < $1", params![since]).await
}
