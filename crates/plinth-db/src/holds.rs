//! Holds: while one has not run out, nothing is removed from the store.

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Begins a hold.
pub async fn insert(tx: &mut Tx, id: &str, expires_at: i64) -> Result<()> {
    tx.execute("INSERT INTO holds (id, expires_at) VALUES ($1, $2)", params![id, expires_at]).await.map(drop)
}

/// Prolongs a hold. False: it has run out, and is not begun anew.
pub async fn renew(tx: &mut Tx, id: &str, now: i64, expires_at: i64) -> Result<bool> {
    let sql = "UPDATE holds SET expires_at = $3 WHERE id = $1 AND expires_at > $2";
    Ok(tx.execute(sql, params![id, now, expires_at]).await? == 1)
}

/// Ends a hold. False: it had run out before.
pub async fn delete(tx: &mut Tx, id: &str, now: i64) -> Result<bool> {
    let was_held = tx.execute("DELETE FROM holds WHERE id = $1 AND expires_at > $2", params![id, now]).await? == 1;
    tx.execute("DELETE FROM holds WHERE id = $1", params![id]).await?;
    Ok(was_held)
}

/// Whether anybody holds.
pub async fn is_held(conn: &mut Conn, now: i64) -> Result<bool> {
    let row = conn.fetch_optional("SELECT id FROM holds WHERE expires_at > $1 LIMIT 1", params![now]).await?;
    Ok(row.is_some())
}

/// Forgets holds that have run out.
pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<u64> {
    tx.execute("DELETE FROM holds WHERE expires_at <= $1", params![now]).await
}
