//! Passwords, which only their hashes outlive.

use argon2::Argon2;
use argon2::password_hash::PasswordHasher as _;

use crate::error::{Result, ServiceError};

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
