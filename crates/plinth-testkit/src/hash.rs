//! Hashes of files.

use sha2::{Digest as _, Sha256};

/// Hex SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
