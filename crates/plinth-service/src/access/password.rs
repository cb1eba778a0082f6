//! Passwords, which only their hashes outlive.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Fewest characters of a password.
const CHARS_MIN: usize = 8;
/// Most bytes of a password.
const BYTES_MAX: usize = 1024;

/// The Argon2id hash of a new password.
/// Errors: one that is too short or too long.
pub fn hash_password(password: &str) -> Result<String> {
    if password.chars().count() < CHARS_MIN || password.len() > BYTES_MAX {
        let words = format!("a password has {CHARS_MIN} characters or more, and at most {BYTES_MAX} bytes");
        return Err(ServiceError::bad_request(words));
    }
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| ServiceError::internal(error.to_string()))
}

impl Service {
    /// Whether a password is the one of a hash. Where there is no hash it takes as long, so that nobody learns which
    /// accounts there are.
    pub(super) async fn check_password(&self, password: String, hash: Option<String>) -> Result<bool> {
        if password.len() > BYTES_MAX {
            return Ok(false);
        }
        // Each takes much memory and a processor: few at a time, the others wait.
        let place = Arc::clone(&self.passwords).acquire_owned().await;
        let check = tokio::task::spawn_blocking(move || {
            let _place = place;
            match hash {
                Some(hash) => Argon2::default().verify_password(password.as_bytes(), hash.as_str()).is_ok(),
                None => Argon2::default().hash_password(password.as_bytes()).is_err(),
            }
        });
        check.await.map_err(ServiceError::internal)
    }
}
