//! Signing in with a browser.

use plinth_db::sessions;
use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;

use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::random_text;
use crate::service::Service;

/// How long a browser stays signed in, in seconds.
pub const SESSION_SECS: i64 = 14 * 24 * 3600;
/// How long a sign-in link works, in seconds.
const LINK_SECS: i64 = 24 * 3600;
const SECRET_CHARS: usize = 43;

impl Service {
    /// The secret of a link that signs in once.
    pub async fn create_sign_in(&self, account: &AccountId) -> Result<String> {
        let secret = random_text(SECRET_CHARS);
        let (account, sha256, clock) = (account.clone(), sha256_hex(&secret), self.options.clock.clone());
        let created = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                Ok::<_, ServiceError>(sessions::insert_link(tx, &sha256, &account, now + LINK_SECS * 1000).await?)
            })
        });
        created.await?;
        Ok(secret)
    }

    /// Uses a sign-in link up and returns the secret of a session.
    pub async fn sign_in(&self, link_secret: &str) -> Result<String> {
        let session = random_text(SECRET_CHARS);
        let (link, sha256, clock) = (sha256_hex(link_secret), sha256_hex(&session), self.options.clock.clone());
        let opened = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                let account = sessions::use_link(tx, &link, now).await?.ok_or_else(|| {
                    ServiceError::new(ErrorCode::Unauthorized, "this sign-in link was used or is too old")
                })?;
                Ok::<_, ServiceError>(sessions::insert(tx, &sha256, &account, now, now + SESSION_SECS * 1000).await?)
            })
        });
        opened.await?;
        Ok(session)
    }

    /// Whose session it is, while it lasts.
    pub async fn session_account(&self, session_secret: &str) -> Result<Option<AccountId>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(sessions::find(&mut conn, &sha256_hex(session_secret), now).await?)
    }

    /// Ends a session.
    pub async fn sign_out(&self, session_secret: &str) -> Result<()> {
        let sha256 = sha256_hex(session_secret);
        self.db.write(move |tx| Box::pin(async move { Ok(sessions::delete(tx, &sha256).await?) })).await
    }
}
