//! Signing in with a browser: by a link that works once, or by a password.

use plinth_db::{Tx, accounts, sessions};
use plinth_spec::id::AccountId;
use plinth_spec::{ErrorCode, limits};

use super::account::normalized;
use super::caller::unauthorized;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::random_text;
use crate::service::Service;

/// Characters of the secret of a link or a session: 256 bits.
const SECRET_CHARS: usize = 43;

/// Whether a text has the form of the secret of a link or a session; others need no look into the database.
pub(super) fn is_secret(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

impl Service {
    /// The secret of a link that signs in once.
    /// Errors: an account that is shut out.
    pub async fn create_sign_in(&self, account: &AccountId, lifetime_secs: i64) -> Result<String> {
        let secret = random_text(SECRET_CHARS);
        let (account, sha256) = (account.clone(), sha256_hex(&secret));
        let created = self.write_at(move |tx, now| {
            Box::pin(async move {
                check_open(tx, &account).await?;
                let ends_at = now.saturating_add(lifetime_secs.saturating_mul(1000));
                Ok::<_, ServiceError>(sessions::insert_link(tx, &sha256, &account, ends_at).await?)
            })
        });
        created.await?;
        Ok(secret)
    }

    /// Uses a sign-in link up and returns the secret of a session.
    /// Errors: a link that is unknown, was used or is too old; an account that is shut out.
    pub async fn sign_in(&self, link_secret: &str) -> Result<String> {
        let refusal = || unauthorized("this sign-in link was used before or is too old; ask for a new one");
        if !is_secret(link_secret) {
            return Err(refusal());
        }
        let link = sha256_hex(link_secret);
        let opened = self.write_at(move |tx, now| {
            Box::pin(async move {
                let account = sessions::use_link(tx, &link, now).await?.ok_or_else(refusal)?;
                open(tx, &account, now).await
            })
        });
        opened.await
    }

    /// Checks a password and returns the secret of a session.
    /// Errors: address and password that do not belong together, an account that is shut out, too many attempts.
    pub async fn sign_in_with_password(&self, email: &str, password: String) -> Result<String> {
        let refusal = || unauthorized("address and password do not belong together");
        let email = normalized(email).map_err(|_malformed| refusal())?;
        self.count_password(&email).await?.check().map_err(|over| {
            let words = format!("too many attempts; try again in {} s", over.retry_after_secs.unwrap_or_default());
            ServiceError { message: words, ..over }
        })?;
        let account = accounts::find_by_email(&mut self.db.read().await?, &email).await?;
        let (id, hash) = account.map(|account| (account.id, account.password_hash)).unzip();
        let is_right = self.check_password(password, hash.flatten()).await?;
        let account = id.filter(|_known| is_right).ok_or_else(refusal)?;
        let opened = self.write_at(move |tx, now| Box::pin(async move { open(tx, &account, now).await }));
        opened.await
    }
}

/// Opens a session and returns its secret.
async fn open(tx: &mut Tx, account: &AccountId, now: i64) -> Result<String> {
    check_open(tx, account).await?;
    let secret = random_text(SECRET_CHARS);
    sessions::insert(tx, &sha256_hex(&secret), account, now, now + limits::SESSION_SECS * 1000).await?;
    Ok(secret)
}

/// Refuses an account that is shut out.
async fn check_open(tx: &mut Tx, account: &AccountId) -> Result<()> {
    let account = accounts::find(tx, account).await?;
    if account.is_some_and(|account| account.suspended_at.is_none()) {
        return Ok(());
    }
    Err(ServiceError::new(ErrorCode::Forbidden, "this account is suspended"))
}
