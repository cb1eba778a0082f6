//! Password hashing. Only hashes are stored.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use plinth_spec::{ErrorCode, limits};

use super::ClientAddress;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum length of a password, in bytes.
const BYTES_MAX: usize = 1024;

/// Returns the Argon2id hash of a new password.
/// Errors: the password is too short or too long.
pub fn hash_password(password: &str) -> Result<String> {
    if password.chars().count() < limits::PASSWORD_MIN_CHARS || password.len() > BYTES_MAX {
        let chars_min = limits::PASSWORD_MIN_CHARS;
        let message = format!("a password has {chars_min} characters or more, and at most {BYTES_MAX} bytes");
        return Err(ServiceError::bad_request(message));
    }
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| ServiceError::internal(error.to_string()))
}

impl Service {
    /// Counts an attempt to enter the password of an account.
    /// Errors: `rate_limited` if there were too many attempts.
    pub(super) async fn count_attempt(&self, client: &ClientAddress, email: &str) -> Result<()> {
        self.count_password(&client.network(), client.is_shared, email).await.map_err(|over| {
            if over.code != ErrorCode::RateLimited {
                return over;
            }
            let message = format!("too many attempts; try again in {} s", over.retry_after_secs.unwrap_or_default());
            ServiceError { message, ..over }
        })
    }

    /// Returns the hash of a new password ([`hash_password`]). Takes a permit of the semaphore that also limits the number of
    /// concurrent password checks.
    pub(super) async fn hash_new_password(&self, client: &ClientAddress, password: String) -> Result<String> {
        let permit = self.passwords.acquire(&client.network(), 1).await?;
        let hashing = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            hash_password(&password)
        });
        hashing.await.map_err(ServiceError::internal)?
    }

    /// Returns whether a password matches a hash. Takes the same time without a hash, so that the response time does
    /// not reveal which accounts exist. Each check uses much memory and a CPU core, so only a few checks run
    /// concurrently. Waiting checks are served fairly: the client network with the fewest running checks is next.
    pub(super) async fn check_password(&self, client: String, password: String, hash: Option<String>) -> Result<bool> {
        if password.len() > BYTES_MAX {
            return Ok(false);
        }
        let permit = self.passwords.acquire(&client, 1).await?;
        let check = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            match hash {
                Some(hash) => Argon2::default().verify_password(password.as_bytes(), hash.as_str()).is_ok(),
                None => Argon2::default().hash_password(password.as_bytes()).is_err(),
            }
        });
        check.await.map_err(ServiceError::internal)
    }
}
