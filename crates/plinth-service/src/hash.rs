//! SHA-256 hashes in hexadecimal, as database rows and API responses contain them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Buffer size for reading a file, in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Returns the SHA-256 of a file in lower-case hex, and the file's size in bytes. Blocks the thread.
pub fn file_sha256(path: &Path) -> io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
        hash.update(chunk);
        size += read as u64;
    }
    Ok((hex::encode(hash.finalize()), size))
}

/// Returns the SHA-256 of `bytes` in lower-case hex.
pub(crate) fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Parses a SHA-256 in hex and converts it to lower case. Returns `None` for any other text.
pub(crate) fn parse_sha256(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}
