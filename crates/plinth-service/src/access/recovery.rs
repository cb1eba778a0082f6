//! New passwords: by a mailed link, and by the account itself.

use plinth_db::sessions::{self, LinkPurpose};
use plinth_db::{Tx, accounts};
use plinth_spec::id::AccountId;
use plinth_spec::limits;

use super::account::normalized;
use super::caller::unauthorized;
use super::sign_in::{SECRET_CHARS, is_secret, open};
use super::{Caller, ClientAddress};
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::random_text;
use crate::mail::Mail;
use crate::service::Service;

impl Service {
    /// Mails a link for a new password to an account, in the background. `link_base` is the URL that the secret of the link
    /// completes. The result and the duration of the call do not depend on whether an account has the address.
    /// Errors: this is no e-mail address, or the client made too many requests.
    pub async fn recover_password(&self, client: &ClientAddress, email: &str, link_base: String) -> Result<()> {
        let email = normalized(email)?;
        if !self.count_recovery(&client.network(), client.is_shared, &email).await? {
            return Ok(());
        }
        let service = self.clone();
        tokio::spawn(async move {
            if let Err(error) = service.mail_link(email, &link_base).await {
                tracing::error!(cause = ?error.cause, "a link for a new password could not be created");
            }
        });
        Ok(())
    }

    async fn mail_link(&self, email: String, link_base: &str) -> Result<()> {
        let account = accounts::find_by_email(&mut self.db.read().await?, &email).await?;
        let Some(account) = account.filter(|account| account.suspended_at.is_none()) else { return Ok(()) };
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
        self.send_mail_later(Mail { to: email, subject: "Your new password for Plinth".to_owned(), text });
        Ok(())
    }

    /// Returns an error if a link for a new password is unknown, used or expired.
    pub async fn check_password_link(&self, secret: &str) -> Result<()> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let is_valid = is_secret(secret)
            && sessions::is_link_valid(&mut conn, &sha256_hex(secret), LinkPurpose::SetPassword, now).await?;
        if is_valid { Ok(()) } else { Err(no_such_link()) }
    }

    /// Sets a password by a mailed link. Ends all sessions of the account and invalidates its other links. Returns the
    /// secret of a new session.
    /// Errors: the link is unknown, used or expired, the password is too short, or the account is suspended.
    pub async fn set_password_by_link(
        &self,
        client: &ClientAddress,
        secret: &str,
        password: String,
        browser: &str,
    ) -> Result<String> {
        self.check_password_link(secret).await?;
        let hash = self.hash_new_password(client, password).await?;
        let (link, browser) = (sha256_hex(secret), browser.to_owned());
        let set = self.write_at(move |tx, now| {
            Box::pin(async move {
                let account = sessions::use_link(tx, &link, LinkPurpose::SetPassword, now).await?;
                let account = account.ok_or_else(no_such_link)?;
                accounts::set_password_hash(tx, &account, Some(&hash)).await?;
                sessions::delete_all(tx, &account).await?;
                let session = open(tx, &account, &browser, now).await?;
                Ok::<_, ServiceError>((session, email_of(tx, &account).await?))
            })
        });
        let (session, email) = set.await?;
        self.mail_notice(email);
        Ok(session)
    }

    /// Changes the password of the caller's account. Ends all its sessions except the one with the secret `session`.
    /// Errors: `old` is not the present password, or the new password is too short.
    pub async fn change_password(
        &self,
        caller: &Caller,
        client: &ClientAddress,
        session: &str,
        old: String,
        new: String,
    ) -> Result<()> {
        let account = accounts::find(&mut self.db.read().await?, &caller.account_id).await?;
        let account = account.ok_or_else(|| ServiceError::internal("the caller's account is missing"))?;
        if account.password_hash.is_some() {
            self.count_attempt(client, &account.email).await?;
            if !self.check_password(client.network(), old, account.password_hash).await? {
                return Err(ServiceError::bad_request("the present password is wrong"));
            }
        }
        let hash = self.hash_new_password(client, new).await?;
        let (id, kept) = (account.id, sha256_hex(session));
        let set = self.db.write(move |tx| {
            Box::pin(async move {
                accounts::set_password_hash(tx, &id, Some(&hash)).await?;
                Ok::<_, ServiceError>(sessions::delete_others(tx, &id, &kept).await?)
            })
        });
        set.await?;
        self.mail_notice(account.email);
        Ok(())
    }

    /// Returns whether an account has a password.
    pub async fn has_password(&self, caller: &Caller) -> Result<bool> {
        let account = accounts::find(&mut self.db.read().await?, &caller.account_id).await?;
        Ok(account.is_some_and(|account| account.password_hash.is_some()))
    }

    fn mail_notice(&self, to: String) {
        let text = "The password of your account at Plinth was changed, and all other sessions were ended.\n\n\
                    If you did not do this, ask for a new password on the sign-in page at once, and revoke your API keys.\n";
        self.send_mail_later(Mail {
            to,
            subject: "Your password for Plinth was changed".to_owned(),
            text: text.to_owned(),
        });
    }
}

async fn email_of(tx: &mut Tx, account: &AccountId) -> Result<String> {
    let account = accounts::find(tx, account).await?;
    Ok(account.ok_or_else(|| ServiceError::internal("the account of a link is missing"))?.email)
}

fn no_such_link() -> ServiceError {
    unauthorized("this link was used before or has expired; request a new one")
}
