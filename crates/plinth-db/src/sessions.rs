//! Sign-in links and browser sessions. Only the hashes of their secrets are stored.

use plinth_spec::id::{AccountId, WorkspaceId};

use crate::sql::params;
use crate::table::{insert, row};
use crate::{Conn, Result, Tx};

/// A valid browser session and its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Account that is signed in.
    pub account_id: AccountId,
    /// The account's e-mail address.
    pub email: String,
    /// Whether the account is an administrator of the installation.
    pub is_admin: bool,
    /// The selected workspace; `None` for the account's personal workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: i64,
}

row!(columns, session -> Session {
    account_id: "account_id",
    email: "email",
    is_admin: "is_admin",
    workspace_id: "workspace_id",
    seen_at: "seen_at"
});

/// Inserts a session.
pub async fn insert(tx: &mut Tx, sha256: &str, account: &AccountId, now: i64, expires_at: i64) -> Result<()> {
    insert!(tx, "sessions", sha256: sha256, account_id: account, created_at: now, expires_at: expires_at, seen_at: now)
}

/// Finds a session by the hash of its secret. Returns `None` if the session has expired, if it was not used after
/// `seen_after`, or if its account is suspended.
pub async fn find(conn: &mut Conn, sha256: &str, now: i64, seen_after: i64) -> Result<Option<Session>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM sessions s JOIN accounts a ON a.id = s.account_id \
         WHERE s.sha256 = $1 AND s.expires_at > $2 AND s.seen_at > $3 AND a.suspended_at IS NULL"
    );
    conn.fetch_optional(sql, params![sha256, now, seen_after]).await?.as_ref().map(session).transpose()
}

/// Sets the time of a session's last use.
pub async fn touch(tx: &mut Tx, sha256: &str, now: i64) -> Result<()> {
    tx.execute("UPDATE sessions SET seen_at = $2 WHERE sha256 = $1", params![sha256, now]).await.map(drop)
}

/// Selects the workspace of a session. `None` selects the account's personal workspace.
pub async fn set_workspace(tx: &mut Tx, sha256: &str, workspace: Option<&WorkspaceId>) -> Result<()> {
    let sql = "UPDATE sessions SET workspace_id = $2 WHERE sha256 = $1";
    tx.execute(sql, params![sha256, workspace]).await.map(drop)
}

/// Deletes a session.
pub async fn delete(tx: &mut Tx, sha256: &str) -> Result<()> {
    tx.execute("DELETE FROM sessions WHERE sha256 = $1", params![sha256]).await.map(drop)
}

/// Deletes all sessions and sign-in links of an account.
pub async fn delete_all(tx: &mut Tx, account: &AccountId) -> Result<()> {
    tx.execute("DELETE FROM sign_in_links WHERE account_id = $1", params![account]).await?;
    tx.execute("DELETE FROM sessions WHERE account_id = $1", params![account]).await.map(drop)
}

/// Inserts a single-use sign-in link.
pub async fn insert_link(tx: &mut Tx, sha256: &str, account: &AccountId, expires_at: i64) -> Result<()> {
    insert!(tx, "sign_in_links", sha256: sha256, account_id: account, expires_at: expires_at)
}

/// Marks a sign-in link as used and returns its account. Returns `None` if the link is unknown, used or expired.
pub async fn use_link(tx: &mut Tx, sha256: &str, now: i64) -> Result<Option<AccountId>> {
    let sql = "UPDATE sign_in_links SET used_at = $2 WHERE sha256 = $1 AND used_at IS NULL AND expires_at > $2 \
               RETURNING account_id";
    let row = tx.fetch_optional(sql, params![sha256, now]).await?;
    row.map(|row| row.parsed("account_id", AccountId::parse)).transpose()
}

/// Deletes expired links and sessions, and sessions that were not used after `seen_after`. Returns the number of
/// deleted rows.
pub async fn delete_expired(tx: &mut Tx, now: i64, seen_after: i64) -> Result<u64> {
    let links = tx.execute("DELETE FROM sign_in_links WHERE expires_at <= $1", params![now]).await?;
    let sql = "DELETE FROM sessions WHERE expires_at <= $1 OR seen_at <= $2";
    Ok(links + tx.execute(sql, params![now, seen_after]).await?)
}
