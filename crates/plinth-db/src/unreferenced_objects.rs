//! The schedule by which objects are deleted from the store after no row references them any more.

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// Schedules the deletion of all objects under a prefix. If the prefix is scheduled already, the later of the two times
/// counts.
pub async fn insert(tx: &mut Tx, prefix: &str, due_at: i64) -> Result<()> {
    let sql = "INSERT INTO garbage (prefix, due_at) VALUES ($1, $2) ON CONFLICT (prefix) DO UPDATE SET \
               due_at = CASE WHEN garbage.due_at < excluded.due_at THEN excluded.due_at ELSE garbage.due_at END";
    tx.execute(sql, params![prefix, due_at]).await.map(drop)
}

/// Claims at most `limit` prefixes whose deletion time has come, those with the earliest time first. Returns the
/// prefixes in alphabetical order. The caller then deletes the objects. After `again_at` the prefixes can be claimed
/// again, in case the deletion failed.
pub async fn claim_due(tx: &mut Tx, now: i64, again_at: i64, limit: u32) -> Result<Vec<String>> {
    macro_rules! take {
        ($lock:literal) => {
            concat!(
                "WITH due AS MATERIALIZED (SELECT prefix FROM garbage WHERE due_at <= $1 ORDER BY due_at, prefix LIMIT $2",
                $lock,
                ") UPDATE garbage SET due_at = $3 WHERE prefix IN (SELECT prefix FROM due) RETURNING prefix"
            )
        };
    }
    let sql = Sql { sqlite: take!(""), postgres: take!(" FOR UPDATE SKIP LOCKED") };
    let rows = tx.fetch_all(sql, params![now, i64::from(limit), again_at]).await?;
    let mut prefixes = rows.iter().map(|row| row.text("prefix")).collect::<Result<Vec<_>>>()?;
    prefixes.sort_unstable();
    Ok(prefixes)
}

/// Removes a claimed prefix from the schedule, after its objects were deleted. Keeps the prefix if it was scheduled
/// again after the claim. Returns the number of removed prefixes.
pub async fn delete_claimed(tx: &mut Tx, prefix: &str, again_at: i64) -> Result<u64> {
    tx.execute("DELETE FROM garbage WHERE prefix = $1 AND due_at <= $2", params![prefix, again_at]).await
}

/// Removes a prefix from the schedule. Called when a row references its objects again.
pub async fn delete(tx: &mut Tx, prefix: &str) -> Result<()> {
    tx.execute("DELETE FROM garbage WHERE prefix = $1", params![prefix]).await.map(drop)
}

/// Lists all prefixes that are scheduled for deletion.
pub async fn list(conn: &mut Conn) -> Result<Vec<String>> {
    let rows = conn.fetch_all("SELECT prefix FROM garbage ORDER BY prefix", params![]).await?;
    rows.iter().map(|row| row.text("prefix")).collect()
}
