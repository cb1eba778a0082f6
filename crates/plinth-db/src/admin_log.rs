//! The log of actions by administrators. Entries are never changed or deleted.

use plinth_spec::AdminAction;
use plinth_spec::id::{AccountId, LogEntryId};

use crate::row::Row;
use crate::sql::params;
use crate::table::insert;
use crate::{Conn, Result, Tx};

/// A new entry of the log.
#[derive(Clone, Debug)]
pub struct NewLogEntry {
    pub id: LogEntryId,
    /// The administrator; `None` for an action on the command line.
    pub admin_id: Option<AccountId>,
    /// What the administrator did.
    pub action: AdminAction,
    /// The account concerned, or the account that owns the object concerned.
    pub account_id: Option<AccountId>,
    /// What was changed, in words.
    pub subject: String,
    /// Why; may be empty.
    pub reason: String,
    /// Time of the action.
    pub created_at: i64,
}

/// An entry of the log, with the e-mail addresses of the administrator and of the account concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub id: LogEntryId,
    /// E-mail address of the administrator; `None` for an action on the command line.
    pub admin: Option<String>,
    /// What the administrator did.
    pub action: AdminAction,
    /// The account concerned.
    pub account_id: Option<AccountId>,
    /// E-mail address of the account concerned.
    pub account: Option<String>,
    /// What was changed, in words.
    pub subject: String,
    /// Why; may be empty.
    pub reason: String,
    /// Time of the action.
    pub created_at: i64,
}

pub async fn insert(tx: &mut Tx, entry: &NewLogEntry) -> Result<()> {
    let e = entry;
    insert!(
        tx,
        "admin_log",
        id: &e.id,
        admin_id: e.admin_id.as_ref(),
        action: e.action.as_str(),
        account_id: e.account_id.as_ref(),
        subject: e.subject.as_str(),
        reason: e.reason.as_str(),
        created_at: e.created_at,
    )
}

/// Returns a page of the log, newest first; with an `account`, only the entries that concern it.
pub async fn list(conn: &mut Conn, account: Option<&AccountId>, limit: u32, offset: u64) -> Result<Vec<LogEntry>> {
    // The condition differs with and without an account, so that each of the two statements can use its own index.
    macro_rules! select {
        ($which:literal) => {
            concat!(
                "SELECT l.id, l.action, l.account_id, l.subject, l.reason, l.created_at, a.email AS admin, c.email AS concerned \
                 FROM admin_log l LEFT JOIN accounts a ON a.id = l.admin_id LEFT JOIN accounts c ON c.id = l.account_id WHERE ",
                $which,
                " ORDER BY l.created_at DESC, l.id DESC LIMIT $2 OFFSET $3"
            )
        };
    }
    let sql = if account.is_some() { select!("l.account_id = $1") } else { select!("$1 IS NULL") };
    let rows = conn.fetch_all(sql, params![account, i64::from(limit), offset.cast_signed()]).await?;
    rows.iter().map(read).collect()
}

pub async fn count(conn: &mut Conn) -> Result<u64> {
    conn.fetch_one("SELECT count(*) AS n FROM admin_log", params![]).await?.count("n")
}

fn read(row: &Row) -> Result<LogEntry> {
    Ok(LogEntry {
        id: row.parsed("id", LogEntryId::parse)?,
        admin: row.maybe_text("admin")?,
        action: row.parsed("action", AdminAction::from_name)?,
        account_id: row.maybe_parsed("account_id", AccountId::parse)?,
        account: row.maybe_text("concerned")?,
        subject: row.text("subject")?,
        reason: row.text("reason")?,
        created_at: row.int("created_at")?,
    })
}
