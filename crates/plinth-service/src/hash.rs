//! SHA-256 as it stands in rows and answers.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Bytes of a file that are read at once.
const PIECE: usize = 1 << 16;

/// The SHA-256 of a file in lower-case hex, and the file's size in bytes. Blocks.
pub fn file_sha256(path: &Path) -> io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    let mut size = 0;
    loop {
        let read = file.read(&mut piece)?;
        let Some(fresh) = piece.get(..read).filter(|fresh| !fresh.is_empty()) else { break };
        hash.update(fresh);
        size += read as u64;
    }
    Ok((hex(&hash.finalize()), size))
}

/// Lower-case hex SHA-256.
pub(crate) fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// A SHA-256 that a caller sent, in lower case; none: it is not one.
pub(crate) fn parse_sha256(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}
