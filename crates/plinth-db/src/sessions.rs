//! Sign-in links and browser sessions. Only the hashes of their secrets are stored.

use plinth_spec::id::{AccountId, WorkspaceId};

use crate::row::Row;
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

/// A session, as shown to its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Hash of the secret.
    pub sha256: String,
    /// The header `User-Agent` of the browser that signed in.
    pub browser: String,
    /// Time of the sign-in.
    pub created_at: i64,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: i64,
}

/// Inserts a session. `browser` is the header `User-Agent` of the browser that signed in.
pub async fn insert(
    tx: &mut Tx,
    sha256: &str,
    account: &AccountId,
    browser: &str,
    now: i64,
    expires_at: i64,
) -> Result<()> {
    insert!(tx, "sessions", sha256: sha256, account_id: account, browser: browser, created_at: now, expires_at: expires_at, seen_at: now)
}

/// Lists the valid sessions of an account, the last used first.
pub async fn list(conn: &mut Conn, account: &AccountId, now: i64, seen_after: i64) -> Result<Vec<ListedSession>> {
    let sql = "SELECT sha256, browser, created_at, seen_at FROM sessions \
               WHERE account_id = $1 AND expires_at > $2 AND seen_at > $3 ORDER BY seen_at DESC, created_at DESC, sha256";
    let read = |row: &Row| {
        Ok(ListedSession {
            sha256: row.text("sha256")?,
            browser: row.text("browser")?,
            created_at: row.int("created_at")?,
            seen_at: row.int("seen_at")?,
        })
    };
    conn.fetch_all(sql, params![account, now, seen_after]).await?.iter().map(read).collect()
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

pub async fn delete(tx: &mut Tx, sha256: &str) -> Result<()> {
    tx.execute("DELETE FROM sessions WHERE sha256 = $1", params![sha256]).await.map(drop)
}

/// Deletes all sessions and sign-in links of an account.
pub async fn delete_all(tx: &mut Tx, account: &AccountId) -> Result<()> {
    tx.execute("DELETE FROM sign_in_links WHERE account_id = $1", params![account]).await?;
    tx.execute("DELETE FROM sessions WHERE account_id = $1", params![account]).await.map(drop)
}

/// Deletes all sessions and sign-in links of an account except the session `kept`.
pub async fn delete_others(tx: &mut Tx, account: &AccountId, kept: &str) -> Result<()> {
    tx.execute("DELETE FROM sign_in_links WHERE account_id = $1", params![account]).await?;
    tx.execute("DELETE FROM sessions WHERE account_id = $1 AND sha256 <> $2", params![account, kept]).await.map(drop)
}

/// What a link allows its owner to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPurpose {
    /// To sign in.
    SignIn,
    /// To set a new password, and to sign in.
    SetPassword,
}

impl LinkPurpose {
    const fn sets_password(self) -> bool {
        matches!(self, Self::SetPassword)
    }
}

/// Inserts a link that can be used once.
pub async fn insert_link(
    tx: &mut Tx,
    sha256: &str,
    account: &AccountId,
    purpose: LinkPurpose,
    expires_at: i64,
) -> Result<()> {
    let sets_password = purpose.sets_password();
    insert!(tx, "sign_in_links", sha256: sha256, account_id: account, sets_password: sets_password, expires_at: expires_at)
}

/// Returns the account of a link; `None` if the link cannot be used for this purpose.
pub async fn find_link(conn: &mut Conn, sha256: &str, purpose: LinkPurpose, now: i64) -> Result<Option<AccountId>> {
    let sql = "SELECT account_id FROM sign_in_links \
               WHERE sha256 = $1 AND used_at IS NULL AND expires_at > $2 AND sets_password = $3";
    let row = conn.fetch_optional(sql, params![sha256, now, purpose.sets_password()]).await?;
    row.map(|row| row.parsed("account_id", AccountId::parse)).transpose()
}

/// Marks a link as used and returns its account. Returns `None` if the link is unknown, used or expired, or has another
/// purpose.
pub async fn use_link(tx: &mut Tx, sha256: &str, purpose: LinkPurpose, now: i64) -> Result<Option<AccountId>> {
    let sql = "UPDATE sign_in_links SET used_at = $2 \
               WHERE sha256 = $1 AND used_at IS NULL AND expires_at > $2 AND sets_password = $3 RETURNING account_id";
    let row = tx.fetch_optional(sql, params![sha256, now, purpose.sets_password()]).await?;
    row.map(|row| row.parsed("account_id", AccountId::parse)).transpose()
}

/// Deletes expired links and sessions, and sessions that were not used after `seen_after`. Returns the number of
/// deleted rows.
pub async fn delete_expired(tx: &mut Tx, now: i64, seen_after: i64) -> Result<u64> {
    let links = tx.execute("DELETE FROM sign_in_links WHERE expires_at <= $1", params![now]).await?;
    let sql = "DELETE FROM sessions WHERE expires_at <= $1 OR seen_at <= $2";
    Ok(links + tx.execute(sql, params![now, seen_after]).await?)
}
