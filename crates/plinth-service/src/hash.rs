//! SHA-256 as it stands in rows and answers.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Lower-case hex SHA-256.
pub(crate) fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// A SHA-256 that a caller sent, in lower case; none: it is not one.
pub(crate) fn parse_sha256(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}
