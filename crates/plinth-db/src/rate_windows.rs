//! Request counters of the rate limits. Each key has one fixed time window.

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// State of a window after a request was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number of requests in this window, including the request that was just counted.
    pub requests: u64,
    /// End of the window.
    pub ends_at: i64,
}

/// Counts a request in the key's current window. Starts a new window if the current one has ended.
pub async fn count(tx: &mut Tx, key: &str, length_ms: i64, now: i64) -> Result<Window> {
    let sql = "INSERT INTO rate_windows (key, started_at, ends_at, requests) VALUES ($1, $2, $3, 1) \
               ON CONFLICT (key) DO UPDATE SET \
               requests = CASE WHEN rate_windows.ends_at <= $2 THEN 1 ELSE rate_windows.requests + 1 END, \
               started_at = CASE WHEN rate_windows.ends_at <= $2 THEN $2 ELSE rate_windows.started_at END, \
               ends_at = CASE WHEN rate_windows.ends_at <= $2 THEN $3 ELSE rate_windows.ends_at END \
               RETURNING requests, ends_at";
    let row = tx.fetch_one(sql, params![key, now, now + length_ms]).await?;
    Ok(Window { requests: row.count("requests")?, ends_at: row.int("ends_at")? })
}

/// Returns the key's window, which may have ended; `None` if the key has none.
pub async fn find(conn: &mut Conn, key: &str) -> Result<Option<Window>> {
    let sql = "SELECT requests, ends_at FROM rate_windows WHERE key = $1";
    let row = conn.fetch_optional(sql, params![key]).await?;
    row.map(|row| Ok(Window { requests: row.count("requests")?, ends_at: row.int("ends_at")? })).transpose()
}

/// Deletes windows that have ended. Returns the number of deleted windows.
pub async fn delete_ended(tx: &mut Tx, now: i64) -> Result<u64> {
    tx.execute("DELETE FROM rate_windows WHERE ends_at <= $1", params![now]).await
}
