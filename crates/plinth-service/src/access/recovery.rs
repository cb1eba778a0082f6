//! Sets new passwords: with a mailed link, or for an account that is signed in.

use plinth_db::mails::MailKind;
use plinth_db::sessions::{self, LinkPurpose};
use plinth_db::{Tx, accounts};
use plinth_spec::id::AccountId;

use super::account::normalized;
use super::caller::unauthorized;
use super::sign_in::{is_secret, open};
use super::{Caller, ClientAddress};
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::service::Service;

impl Service {
    /// Queues a mail with a link for a new password. `link_base` is the beginning of the link; the secret is appended to
    /// it. The result and the duration of the call do not depend on whether an account has the address.
    /// Errors: `email` is no e-mail address, or the client made too many requests.
    pub async fn recover_password(&self, client: &ClientAddress, email: &str, link_base: String) -> Result<()> {
        let email = normalized(email)?;
        if !self.count_recovery(&client.network(), client.is_shared, &email).await? {
            return Ok(());
        }
        // Whether an account has the address is looked up when the mail is sent.
        let stored = self
            .write_at(move |tx, now| Box::pin(Self::store_mail(tx, (MailKind::PasswordLink, email), link_base, now)));
        stored.await?;
        self.mail_stored();
        Ok(())
    }

    /// Returns an error if a link for a new password is unknown, used or expired.
    pub async fn check_password_link(&self, secret: &str) -> Result<()> {
        self.account_of_password_link(secret).await.map(drop)
    }

    async fn account_of_password_link(&self, secret: &str) -> Result<AccountId> {
        if !is_secret(secret) {
            return Err(no_such_link());
        }
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let account = sessions::find_link(&mut conn, &sha256_hex(secret), LinkPurpose::SetPassword, now).await?;
        account.ok_or_else(no_such_link)
    }

    /// Sets a password with a mailed link. Ends all sessions of the account and invalidates its other links. Returns the
    /// secret of a new session.
    /// Errors: the link is unknown, used or expired, the password is too short, or the account is suspended.
    pub async fn set_password_by_link(
        &self,
        client: &ClientAddress,
        secret: &str,
        password: String,
        browser: &str,
    ) -> Result<String> {
        let account = self.account_of_password_link(secret).await?;
        let hash = self.hash_new_password(client, password).await?;
        let (link, browser) = (sha256_hex(secret), browser.to_owned());
        // The account is locked before its links are changed, as wherever its sessions are ended. Otherwise the two could deadlock.
        let set = self.write_locked(account, move |tx, now| {
            Box::pin(async move {
                let account = sessions::use_link(tx, &link, LinkPurpose::SetPassword, now).await?;
                let account = account.ok_or_else(no_such_link)?;
                accounts::set_password_hash(tx, &account, Some(&hash)).await?;
                sessions::delete_all(tx, &account).await?;
                let session = open(tx, &account, &browser, now).await?;
                let email = email_of(tx, &account).await?;
                Self::store_mail(tx, (MailKind::PasswordChanged, email), String::new(), now).await?;
                Ok(session)
            })
        });
        let session = set.await?;
        self.mail_stored();
        Ok(session)
    }

    /// Changes the password of the caller's account. Ends all its sessions except the one with the secret `session`.
    /// Errors: `old` is not the present password, the new password is too short, or the session has ended.
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
            if !self.check_password(client.network(), old, account.password_hash.clone()).await? {
                return Err(ServiceError::bad_request("the present password is wrong"));
            }
        }
        let hash = self.hash_new_password(client, new).await?;
        let (id, kept) = (account.id, sha256_hex(session));
        let set = self.write_as(caller, id.clone(), move |tx, now| {
            Box::pin(async move {
                // The password may have been set by a mailed link since it was checked.
                let current = accounts::find(tx, &id).await?.and_then(|account| account.password_hash);
                if current != account.password_hash {
                    return Err(ServiceError::bad_request("the present password was changed meanwhile"));
                }
                accounts::set_password_hash(tx, &id, Some(&hash)).await?;
                sessions::delete_others(tx, &id, &kept).await?;
                Self::store_mail(tx, (MailKind::PasswordChanged, account.email), String::new(), now).await
            })
        });
        set.await?;
        self.mail_stored();
        Ok(())
    }

    /// Returns whether an account has a password.
    pub async fn has_password(&self, caller: &Caller) -> Result<bool> {
        let account = accounts::find(&mut self.db.read().await?, &caller.account_id).await?;
        Ok(account.is_some_and(|account| account.password_hash.is_some()))
    }
}

async fn email_of(tx: &mut Tx, account: &AccountId) -> Result<String> {
    let account = accounts::find(tx, account).await?;
    Ok(account.ok_or_else(|| ServiceError::internal("the account of a link is missing"))?.email)
}

fn no_such_link() -> ServiceError {
    unauthorized("this link was used before or has expired; request a new one")
}
