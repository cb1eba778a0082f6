//! Browser sign-in, with a single-use link or with a password.

use plinth_db::sessions::LinkPurpose;
use plinth_db::{Tx, accounts, sessions};
use plinth_spec::id::AccountId;
use plinth_spec::{ErrorCode, limits};

use super::account::normalized;
use super::caller::unauthorized;
use super::client::ClientAddress;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::random_text;
use crate::service::Service;

/// Length of the secret of a link or session, in characters. 43 characters contain 256 random bits.
pub(crate) const SECRET_CHARS: usize = 43;

/// Returns whether a text has the format of the secret of a sign-in link or session. A text with another format is
/// rejected without a database query.
pub(super) fn is_secret(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

impl Service {
    /// Creates a single-use sign-in link and returns its secret.
    /// Errors: the account is suspended.
    pub async fn create_sign_in(&self, account: &AccountId, lifetime_secs: i64) -> Result<String> {
        let secret = random_text(SECRET_CHARS);
        let (account, sha256) = (account.clone(), sha256_hex(&secret));
        let created = self.write_at(move |tx, now| {
            Box::pin(async move {
                check_open(tx, &account).await?;
                let ends_at = now.saturating_add(lifetime_secs.saturating_mul(1000));
                Ok::<_, ServiceError>(sessions::insert_link(tx, &sha256, &account, LinkPurpose::SignIn, ends_at).await?)
            })
        });
        created.await?;
        Ok(secret)
    }

    /// Redeems a sign-in link and returns the secret of a new session.
    /// Errors: the link is unknown, used or expired, or the account is suspended.
    pub async fn sign_in(&self, link_secret: &str, browser: &str) -> Result<String> {
        let rejection = || unauthorized("this sign-in link was used before or has expired; request a new one");
        if !is_secret(link_secret) {
            return Err(rejection());
        }
        let (link, browser) = (sha256_hex(link_secret), browser.to_owned());
        let opened = self.write_at(move |tx, now| {
            Box::pin(async move {
                let account = sessions::use_link(tx, &link, LinkPurpose::SignIn, now).await?;
                open(tx, &account.ok_or_else(rejection)?, &browser, now).await
            })
        });
        opened.await
    }

    /// Checks a password and returns the secret of a new session.
    /// Errors: the address or the password is wrong, the account is suspended, or there were too many attempts.
    pub async fn sign_in_with_password(
        &self,
        client: ClientAddress,
        email: &str,
        password: String,
        browser: &str,
    ) -> Result<String> {
        let rejection = || unauthorized("the e-mail address or the password is wrong");
        let email = normalized(email).map_err(|_malformed| rejection())?;
        let network = client.network();
        self.count_attempt(&client, &email).await?;
        let account = accounts::find_by_email(&mut self.db.read().await?, &email).await?;
        let (id, hash) = account.map(|account| (account.id, account.password_hash)).unzip();
        let hash = hash.flatten();
        let is_right = self.check_password(network, password, hash.clone()).await?;
        let account = id.filter(|_known| is_right).ok_or_else(rejection)?;
        let browser = browser.to_owned();
        let opened = self.write_at(move |tx, now| {
            Box::pin(async move {
                // A change of the password ends all sessions. Afterwards, the old password must not create a new session.
                let current = accounts::lock(tx, &account).await?.and_then(|account| account.password_hash);
                if current != hash {
                    return Err(rejection());
                }
                open(tx, &account, &browser, now).await
            })
        });
        opened.await
    }
}

/// Maximum length of the stored description of a browser, in characters.
const BROWSER_CHARS: usize = 300;

/// Creates a session and returns its secret. `browser` is the header `User-Agent`.
pub(super) async fn open(tx: &mut Tx, account: &AccountId, browser: &str, now: i64) -> Result<String> {
    check_open(tx, account).await?;
    let secret = random_text(SECRET_CHARS);
    let browser: String = browser.chars().filter(|c| !c.is_control()).take(BROWSER_CHARS).collect();
    sessions::insert(tx, &sha256_hex(&secret), account, &browser, now, now + limits::SESSION_SECS * 1000).await?;
    Ok(secret)
}

/// Returns an error if the account is suspended.
pub(super) async fn check_open(tx: &mut Tx, account: &AccountId) -> Result<()> {
    let account = accounts::find(tx, account).await?;
    if account.is_some_and(|account| account.suspended_at.is_none()) {
        return Ok(());
    }
    Err(ServiceError::new(ErrorCode::Forbidden, "this account is suspended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_43_letters_and_digits() {
        let shorter = random_text(SECRET_CHARS - 1);
        assert!(is_secret(&format!("{shorter}a")));
        for text in [shorter.clone(), format!("{shorter}-"), format!("{shorter}aa")] {
            assert!(!is_secret(&text), "{text}");
        }
    }
}
