//! Sign-in links and the browser sessions that they open. Only hashes of their secrets are known here.

use plinth_spec::id::AccountId;

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Opens a session.
pub async fn insert(tx: &mut Tx, sha256: &str, account: &AccountId, now: i64, expires_at: i64) -> Result<()> {
    let sql = "INSERT INTO sessions (sha256, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    tx.execute(sql, params![sha256, account, now, expires_at]).await.map(drop)
}

/// Whose session it is, while it lasts.
pub async fn find(conn: &mut Conn, sha256: &str, now: i64) -> Result<Option<AccountId>> {
    let sql = "SELECT account_id FROM sessions WHERE sha256 = $1 AND expires_at > $2";
    let row = conn.fetch_optional(sql, params![sha256, now]).await?;
    row.map(|row| row.parsed("account_id", AccountId::parse)).transpose()
}

/// Ends a session.
pub async fn delete(tx: &mut Tx, sha256: &str) -> Result<()> {
    tx.execute("DELETE FROM sessions WHERE sha256 = $1", params![sha256]).await.map(drop)
}

/// Makes a link that signs in once.
pub async fn insert_link(tx: &mut Tx, sha256: &str, account: &AccountId, expires_at: i64) -> Result<()> {
    let sql = "INSERT INTO sign_in_links (sha256, account_id, expires_at) VALUES ($1, $2, $3)";
    tx.execute(sql, params![sha256, account, expires_at]).await.map(drop)
}

/// Uses a link up. None: it is unknown, used or too old.
pub async fn use_link(tx: &mut Tx, sha256: &str, now: i64) -> Result<Option<AccountId>> {
    let sql = "UPDATE sign_in_links SET used_at = $2 WHERE sha256 = $1 AND used_at IS NULL AND expires_at > $2 \
               RETURNING account_id";
    let row = tx.fetch_optional(sql, params![sha256, now]).await?;
    row.map(|row| row.parsed("account_id", AccountId::parse)).transpose()
}

/// Removes what has ended.
pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<u64> {
    let links = tx.execute("DELETE FROM sign_in_links WHERE expires_at <= $1", params![now]).await?;
    Ok(links + tx.execute("DELETE FROM sessions WHERE expires_at <= $1", params![now]).await?)
}
