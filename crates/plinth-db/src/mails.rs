//! Mails that wait to be sent. A server claims a mail for a limited time, so that another server sends the mail if the
//! claiming server is lost.

use std::sync::LazyLock;

use plinth_spec::names;

use crate::row::Row;
use crate::sql::{Sql, params};
use crate::states::BuiltSql;
use crate::table::insert;
use crate::{Result, Tx};

names! {
    /// Content of a mail.
    MailKind {
        /// A link with which the account chooses a new password.
        PasswordLink = "password_link",
        /// The password of the account was changed.
        PasswordChanged = "password_changed",
    }
}

/// A mail that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMail {
    pub id: String,
    pub kind: MailKind,
    pub recipient: String,
    /// First part of the link's URL; a secret is appended when the mail is sent. Empty if the mail contains no link.
    pub link_base: String,
    pub created_at: i64,
    /// Number of times that the mail was claimed.
    pub attempts: i64,
}

/// Inserts a mail that can be claimed immediately.
pub async fn insert(tx: &mut Tx, mail: &WaitingMail) -> Result<()> {
    let WaitingMail { id, kind, recipient, link_base, created_at, attempts } = mail;
    insert!(
        tx, "mails", id: id.as_str(), kind: kind.as_str(), recipient: recipient.as_str(), link_base: link_base.as_str(),
        created_at: *created_at, due_at: *created_at, attempts: *attempts
    )
}

static CLAIM: LazyLock<BuiltSql> = LazyLock::new(|| {
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!(
            "WITH picked AS MATERIALIZED (SELECT id FROM mails WHERE due_at <= $1 ORDER BY due_at, id LIMIT 1{lock}) \
             UPDATE mails SET due_at = $2, attempts = attempts + 1 WHERE id IN (SELECT id FROM picked) \
             RETURNING id, kind, recipient, link_base, created_at, attempts"
        )
    })
});

/// Claims the mail that has been due for the longest time. No other server can claim this mail before `until`.
pub async fn claim(tx: &mut Tx, now: i64, until: i64) -> Result<Option<WaitingMail>> {
    tx.fetch_optional(&CLAIM, params![now, until]).await?.as_ref().map(mail).transpose()
}

fn mail(row: &Row) -> Result<WaitingMail> {
    Ok(WaitingMail {
        id: row.text("id")?,
        kind: row.parsed("kind", MailKind::from_name)?,
        recipient: row.text("recipient")?,
        link_base: row.text("link_base")?,
        created_at: row.int("created_at")?,
        attempts: row.int("attempts")?,
    })
}

/// Makes a claimed mail that could not be sent due again at `due_at`. Does nothing if another server has claimed the mail
/// since.
pub async fn postpone(tx: &mut Tx, mail: &WaitingMail, due_at: i64) -> Result<()> {
    let sql = "UPDATE mails SET due_at = $3 WHERE id = $1 AND attempts = $2";
    tx.execute(sql, params![mail.id.as_str(), mail.attempts, due_at]).await.map(drop)
}

/// Makes mails that are due after `latest` due at `due_at`. A mail is due that late only if the clock was set back since. Skips mails that
/// other transactions are changing. Returns the number of changed mails.
pub async fn bring_forward(tx: &mut Tx, latest: i64, due_at: i64) -> Result<u64> {
    macro_rules! update {
        ($lock:literal) => {
            concat!("UPDATE mails SET due_at = $2 WHERE id IN (SELECT id FROM mails WHERE due_at > $1", $lock, ")")
        };
    }
    let sql = Sql { sqlite: update!(""), postgres: update!(" FOR UPDATE SKIP LOCKED") };
    tx.execute(sql, params![latest, due_at]).await
}

/// Deletes a mail that was sent, or will not be sent.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<()> {
    tx.execute("DELETE FROM mails WHERE id = $1", params![id]).await.map(drop)
}
