//! Objects that no row names any more, until they are removed from the store.

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// Schedules everything under a prefix for removal. A mark never moves to an earlier time.
pub async fn insert(tx: &mut Tx, prefix: &str, due_at: i64) -> Result<()> {
    let sql = "INSERT INTO garbage (prefix, due_at) VALUES ($1, $2) ON CONFLICT (prefix) DO UPDATE SET \
               due_at = CASE WHEN garbage.due_at < excluded.due_at THEN excluded.due_at ELSE garbage.due_at END";
    tx.execute(sql, params![prefix, due_at]).await.map(drop)
}

/// Takes prefixes that are due, the oldest first, for the caller to remove. They are due again at `again_at`, in case that
/// fails; until then nobody else takes them.
pub async fn take_due(tx: &mut Tx, now: i64, again_at: i64, limit: u32) -> Result<Vec<String>> {
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

/// Forgets a prefix that was taken and is removed, unless it was scheduled anew meanwhile.
pub async fn delete_taken(tx: &mut Tx, prefix: &str, again_at: i64) -> Result<()> {
    tx.execute("DELETE FROM garbage WHERE prefix = $1 AND due_at <= $2", params![prefix, again_at]).await.map(drop)
}

/// Forgets a prefix: a row names its objects.
pub async fn delete(tx: &mut Tx, prefix: &str) -> Result<()> {
    tx.execute("DELETE FROM garbage WHERE prefix = $1", params![prefix]).await.map(drop)
}

/// All prefixes that are scheduled for removal.
pub async fn list(conn: &mut Conn) -> Result<Vec<String>> {
    let rows = conn.fetch_all("SELECT prefix FROM garbage ORDER BY prefix", params![]).await?;
    rows.iter().map(|row| row.text("prefix")).collect()
}
