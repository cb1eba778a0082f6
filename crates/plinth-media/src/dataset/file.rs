//! Files of a dataset with their hashes.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Path inside of the dataset, with slashes.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// In hex.
    pub(crate) sha256: String,
}

impl FileEntry {
    /// Creates the entry of a file that is about to be written.
    pub(crate) fn of(path: String, content: &[u8]) -> Self {
        Self { path, bytes: content.len() as u64, sha256: hex(Sha256::digest(content)) }
    }

    /// Whether the file under `root` still has this size and hash.
    pub(crate) fn is_there(&self, root: &Path) -> bool {
        let Ok(mut file) = std::fs::File::open(root.join(&self.path)) else { return false };
        let mut content = Vec::new();
        file.read_to_end(&mut content).is_ok() && Self::of(self.path.clone(), &content) == *self
    }
}

/// Formats bytes in hex.
pub(crate) fn hex(digest: impl IntoIterator<Item = u8>) -> String {
    digest.into_iter().fold(String::new(), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}
