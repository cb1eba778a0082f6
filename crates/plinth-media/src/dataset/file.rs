//! Files of a dataset with their hashes.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Path inside the dataset, with slashes as separators.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// SHA-256 hash in hexadecimal.
    pub(crate) sha256: String,
}

impl FileEntry {
    /// Creates the entry for a file with this content.
    pub(crate) fn of(path: String, content: &[u8]) -> Self {
        Self { path, bytes: content.len() as u64, sha256: hex::encode(Sha256::digest(content)) }
    }

    /// Returns whether the file exists under `root` with the size and the hash of this entry.
    pub(crate) fn is_stored_in(&self, root: &Path) -> bool {
        let Ok(mut file) = std::fs::File::open(root.join(&self.path)) else { return false };
        let mut content = Vec::new();
        file.read_to_end(&mut content).is_ok() && Self::of(self.path.clone(), &content) == *self
    }
}
