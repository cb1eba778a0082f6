//! A key-value table for data of the installation itself.

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Finds the value of a key.
pub async fn find(conn: &mut Conn, key: &str) -> Result<Option<String>> {
    let row = conn.fetch_optional("SELECT value FROM instance WHERE key = $1", params![key]).await?;
    row.map(|row| row.text("value")).transpose()
}

/// Stores `value` unless the key has a value already. Returns the value that is stored after the call.
pub async fn insert_or_find(tx: &mut Tx, key: &str, value: &str) -> Result<String> {
    let sql = "INSERT INTO instance (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";
    tx.execute(sql, params![key, value]).await?;
    tx.fetch_one("SELECT value FROM instance WHERE key = $1", params![key]).await?.text("value")
}

/// Stores `value`, also if the key has a value already.
pub async fn set(tx: &mut Tx, key: &str, value: &str) -> Result<()> {
    let sql =
        "INSERT INTO instance (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    tx.execute(sql, params![key, value]).await.map(drop)
}
