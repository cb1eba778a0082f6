//! Deletion holds. While an unexpired hold exists, no object is deleted from the store.

use crate::sql::params;
use crate::table::insert;
use crate::{Conn, Result, Tx};

pub async fn insert(tx: &mut Tx, id: &str, expires_at: i64) -> Result<()> {
    insert!(tx, "holds", id: id, expires_at: expires_at)
}

/// Renews a hold. Returns false if the hold has expired; an expired hold cannot be renewed.
pub async fn renew(tx: &mut Tx, id: &str, now: i64, expires_at: i64) -> Result<bool> {
    let sql = "UPDATE holds SET expires_at = $3 WHERE id = $1 AND expires_at > $2";
    Ok(tx.execute(sql, params![id, now, expires_at]).await? == 1)
}

/// Deletes a hold. Returns false if the hold had expired already.
pub async fn delete(tx: &mut Tx, id: &str, now: i64) -> Result<bool> {
    let was_held = tx.execute("DELETE FROM holds WHERE id = $1 AND expires_at > $2", params![id, now]).await? == 1;
    tx.execute("DELETE FROM holds WHERE id = $1", params![id]).await?;
    Ok(was_held)
}

/// Returns whether an unexpired hold exists.
pub async fn is_held(conn: &mut Conn, now: i64) -> Result<bool> {
    let row = conn.fetch_optional("SELECT id FROM holds WHERE expires_at > $1 LIMIT 1", params![now]).await?;
    Ok(row.is_some())
}

pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<u64> {
    tx.execute("DELETE FROM holds WHERE expires_at <= $1", params![now]).await
}
