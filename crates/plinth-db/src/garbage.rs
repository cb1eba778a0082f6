//! Objects that no row names any more, until they are removed from the store.

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Marks everything under a prefix for removal.
pub async fn insert(tx: &mut Tx, prefix: &str, due_at: i64) -> Result<()> {
    let sql = "INSERT INTO garbage (prefix, due_at) VALUES ($1, $2) \
               ON CONFLICT (prefix) DO UPDATE SET due_at = excluded.due_at";
    tx.execute(sql, params![prefix, due_at]).await.map(drop)
}

/// Prefixes that are due, the oldest first.
pub async fn list_due(conn: &mut Conn, now: i64, limit: u32) -> Result<Vec<String>> {
    let sql = "SELECT prefix FROM garbage WHERE due_at <= $1 ORDER BY due_at, prefix LIMIT $2";
    conn.fetch_all(sql, params![now, i64::from(limit)]).await?.iter().map(|row| row.text("prefix")).collect()
}

/// Forgets a prefix: its objects are removed, or are wanted after all.
pub async fn delete(tx: &mut Tx, prefix: &str) -> Result<()> {
    tx.execute("DELETE FROM garbage WHERE prefix = $1", params![prefix]).await.map(drop)
}
