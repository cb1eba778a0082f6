//! Sign-in links and the browser sessions that they open. Only hashes of their secrets are known here.

use plinth_spec::id::{AccountId, WorkspaceId};

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// A session that lasts, and its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub account_id: AccountId,
    /// The account's address.
    pub email: String,
    /// Whether the account administers the installation.
    pub is_admin: bool,
    /// The workspace that was chosen; none: the account's own.
    pub workspace_id: Option<WorkspaceId>,
    /// When it was last used, to about a minute.
    pub seen_at: i64,
}

/// Opens a session.
pub async fn insert(tx: &mut Tx, sha256: &str, account: &AccountId, now: i64, expires_at: i64) -> Result<()> {
    let sql = "INSERT INTO sessions (sha256, account_id, created_at, expires_at, seen_at) VALUES ($1, $2, $3, $4, $3)";
    tx.execute(sql, params![sha256, account, now, expires_at]).await.map(drop)
}

/// A session that has not ended, was used after an instant, and whose account is not shut out.
pub async fn find(conn: &mut Conn, sha256: &str, now: i64, seen_after: i64) -> Result<Option<Session>> {
    let sql = "SELECT s.account_id, s.workspace_id, s.seen_at, a.email, a.is_admin \
               FROM sessions s JOIN accounts a ON a.id = s.account_id \
               WHERE s.sha256 = $1 AND s.expires_at > $2 AND s.seen_at > $3 AND a.suspended_at IS NULL";
    let row = conn.fetch_optional(sql, params![sha256, now, seen_after]).await?;
    row.map(|row| {
        Ok(Session {
            account_id: row.parsed("account_id", AccountId::parse)?,
            email: row.text("email")?,
            is_admin: row.flag("is_admin")?,
            workspace_id: row.maybe_parsed("workspace_id", WorkspaceId::parse)?,
            seen_at: row.int("seen_at")?,
        })
    })
    .transpose()
}

/// Remembers that a session was used.
pub async fn touch(tx: &mut Tx, sha256: &str, now: i64) -> Result<()> {
    tx.execute("UPDATE sessions SET seen_at = $2 WHERE sha256 = $1", params![sha256, now]).await.map(drop)
}

/// Chooses where a session works; none: in the account's own workspace.
pub async fn set_workspace(tx: &mut Tx, sha256: &str, workspace: Option<&WorkspaceId>) -> Result<()> {
    let sql = "UPDATE sessions SET workspace_id = $2 WHERE sha256 = $1";
    tx.execute(sql, params![sha256, workspace]).await.map(drop)
}

/// Ends a session.
pub async fn delete(tx: &mut Tx, sha256: &str) -> Result<()> {
    tx.execute("DELETE FROM sessions WHERE sha256 = $1", params![sha256]).await.map(drop)
}

/// Ends all sessions of an account, and its links that wait.
pub async fn delete_all(tx: &mut Tx, account: &AccountId) -> Result<()> {
    tx.execute("DELETE FROM sign_in_links WHERE account_id = $1", params![account]).await?;
    tx.execute("DELETE FROM sessions WHERE account_id = $1", params![account]).await.map(drop)
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

/// Removes what has ended, and sessions that were not used after an instant.
pub async fn delete_expired(tx: &mut Tx, now: i64, seen_after: i64) -> Result<u64> {
    let links = tx.execute("DELETE FROM sign_in_links WHERE expires_at <= $1", params![now]).await?;
    let sql = "DELETE FROM sessions WHERE expires_at <= $1 OR seen_at <= $2";
    Ok(links + tx.execute(sql, params![now, seen_after]).await?)
}
