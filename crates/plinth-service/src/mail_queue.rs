//! Mails that wait in the database until they are sent, so that no mail is lost by a restart or an outage of the mail
//! server.
//!
//! Each server process claims and sends the mails that are due. A claimed mail is deleted when the mail server has accepted
//! it. If the process is killed before the deletion, the mail is sent again.

use std::time::Duration;

use plinth_db::mails::{self, MailKind, WaitingMail};
use plinth_db::sessions::{self, LinkPurpose};
use plinth_db::{Tx, accounts};
use plinth_spec::limits;
use tokio::time::{sleep, timeout};

use crate::access::SECRET_CHARS;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::random_text;
use crate::mail::Mail;
use crate::service::Service;

/// Interval at which a server process queries for due mails. New mails of the same process are sent at once.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time limit of one attempt to send a mail.
const SENDING: Duration = Duration::from_secs(45);
/// Time for which no other server sends a claimed mail, in milliseconds. It is longer than an attempt.
const LEASE_MS: i64 = 60_000;
/// Time after which a mail without a link expires, in milliseconds.
const LIFETIME_MS: i64 = 24 * 3_600_000;
/// Delay before the second attempt in milliseconds. Each further delay is four times as long.
const FIRST_DELAY_MS: i64 = 10_000;
/// Maximum delay between two attempts, in milliseconds.
const MAX_DELAY_MS: i64 = 30 * 60_000;

const ID_CHARS: usize = 16;

impl Service {
    /// Stores a mail. The caller must call [`mail_stored`](Self::mail_stored) after the commit of the transaction.
    pub(crate) async fn store_mail(
        tx: &mut Tx,
        (kind, recipient): (MailKind, String),
        link_base: String,
        now: i64,
    ) -> Result<()> {
        let id = random_text(ID_CHARS);
        let mail = WaitingMail { id, kind, recipient, link_base, created_at: now, attempts: 0 };
        Ok(mails::insert(tx, &mail).await?)
    }

    /// Wakes [`send_mails`](Self::send_mails) of this process.
    pub(crate) fn mail_stored(&self) {
        self.mail_stored.notify_one();
    }

    /// Sends all mails that are due, including the mails that other servers have stored. Never returns.
    pub async fn send_mails(&self) {
        loop {
            match self.send_due_mail().await {
                Ok(true) => {}
                Ok(false) => {
                    tokio::select! {
                        () = self.mail_stored.notified() => {}
                        () = sleep(INTERVAL) => {}
                    }
                }
                Err(error) => {
                    tracing::error!(cause = ?error.cause, "waiting mails could not be read");
                    sleep(INTERVAL).await;
                }
            }
        }
    }

    /// Sends the mail that has been due for the longest time. Returns false if no mail is due.
    async fn send_due_mail(&self) -> Result<bool> {
        let claimed = self.write_at(|tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>((mails::claim(tx, now, now + LEASE_MS).await?, now)) })
        });
        let (Some(waiting), now) = claimed.await? else { return Ok(false) };
        let lifetime = match waiting.kind {
            MailKind::PasswordLink => limits::PASSWORD_LINK_SECS * 1000,
            MailKind::PasswordChanged => LIFETIME_MS,
        };
        if now > waiting.created_at + lifetime {
            tracing::error!(mail.attempts = waiting.attempts - 1, "a mail could not be sent before it expired");
        } else {
            let late = |_elapsed| ServiceError::internal("the mail server did not answer in time");
            let sent = timeout(SENDING, self.send_waiting(&waiting)).await.map_err(late).flatten();
            if let Err(error) = sent {
                tracing::warn!(cause = ?error.cause, "a mail could not be sent; the server will try again");
                self.write_at(move |tx, now| {
                    let due_at = now + delay_ms(waiting.attempts);
                    Box::pin(async move { mails::postpone(tx, &waiting, due_at).await })
                })
                .await?;
                return Ok(true);
            }
        }
        self.db.write(move |tx| Box::pin(async move { mails::delete(tx, &waiting.id).await })).await?;
        Ok(true)
    }

    async fn send_waiting(&self, waiting: &WaitingMail) -> Result<()> {
        let mail = match waiting.kind {
            MailKind::PasswordLink => self.mail_with_link(&waiting.recipient, &waiting.link_base).await?,
            MailKind::PasswordChanged => Some(notice(&waiting.recipient)),
        };
        match mail {
            Some(mail) => self.send_mail(&mail).await,
            None => Ok(()),
        }
    }

    /// Makes mails due soon that became due later than any attempt is delayed, because the clock was set back. A server that is sending
    /// such a mail keeps it for the time of an attempt.
    pub(crate) async fn bring_mails_forward(tx: &mut Tx, now: i64) -> Result<()> {
        Ok(mails::bring_forward(tx, now + MAX_DELAY_MS, now + LEASE_MS).await.map(drop)?)
    }

    /// Returns a mail with a new link for a new password; `None` if no account has the address, or if the account is suspended.
    async fn mail_with_link(&self, email: &str, link_base: &str) -> Result<Option<Mail>> {
        let account = accounts::find_by_email(&mut self.db.read().await?, email).await?;
        let Some(account) = account.filter(|account| account.suspended_at.is_none()) else { return Ok(None) };
        let secret = random_text(SECRET_CHARS);
        let sha256 = sha256_hex(&secret);
        let inserted = self.write_at(move |tx, now| {
            Box::pin(async move {
                let ends_at = now + limits::PASSWORD_LINK_SECS * 1000;
                Ok::<_, ServiceError>(
                    sessions::insert_link(tx, &sha256, &account.id, LinkPurpose::SetPassword, ends_at).await?,
                )
            })
        });
        inserted.await?;
        let text = format!(
            "Somebody, probably you, asked for a new password for your account at Plinth.\n\n\
             Open this link to choose one. It works once, for an hour:\n\n{link_base}{secret}\n\n\
             If you did not ask, ignore this mail: your password stays as it is.\n"
        );
        Ok(Some(Mail { to: email.to_owned(), subject: "Your new password for Plinth".to_owned(), text }))
    }
}

fn notice(email: &str) -> Mail {
    let text = "The password of your account at Plinth was changed, and all other sessions were ended. API keys stay \
                valid until you revoke them on the page API of the web UI.\n\n\
                If you did not do this, ask for a new password on the sign-in page at once, and revoke your API keys.\n";
    let subject = "Your password for Plinth was changed".to_owned();
    Mail { to: email.to_owned(), subject, text: text.to_owned() }
}

/// Returns the delay after a number of failed attempts.
fn delay_ms(attempts: i64) -> i64 {
    let exponent = u32::try_from(attempts - 1).unwrap_or(0).min(10);
    (FIRST_DELAY_MS * 4_i64.pow(exponent)).min(MAX_DELAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_maximum() {
        assert_eq!([1, 2, 3, 4, 5, 1000].map(delay_ms), [10_000, 40_000, 160_000, 640_000, 1_800_000, 1_800_000]);
    }
}
