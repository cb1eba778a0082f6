//! Hash functions.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 hash in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
