//! Reads an object in the store as a seekable file.

use std::io::{self, Read, Seek, SeekFrom};

use futures_util::TryStreamExt as _;
use plinth_store::Store;
use tokio::runtime::Handle;

/// Number of bytes that are read from the store at once.
const BLOCK_BYTES: u64 = 64 << 10;

/// A stored archive as a file. May only be used on threads that may block. Reads one block at a time from the store, and
/// at most a limited number of bytes in total.
#[derive(Clone)]
pub(super) struct StoredArchive {
    store: Store,
    path: String,
    size: u64,
    position: u64,
    /// Position and content of the block that was read last.
    block: (u64, Vec<u8>),
    /// Number of bytes that may still be read from the store.
    left_bytes: u64,
}

impl StoredArchive {
    pub(super) const fn new(store: Store, path: String, size: u64, most_bytes: u64) -> Self {
        Self { store, path, size, position: 0, block: (0, Vec::new()), left_bytes: most_bytes }
    }

    /// Reads the block at the current position.
    fn fetch(&mut self) -> io::Result<()> {
        let start = self.position / BLOCK_BYTES * BLOCK_BYTES;
        let range = start..(start + BLOCK_BYTES).min(self.size);
        let left = self.left_bytes.checked_sub(range.end - range.start);
        self.left_bytes = left.ok_or_else(|| io::Error::other("the archive's list of files is too long"))?;
        let mut block = Vec::new();
        let reading = async {
            let mut pieces = self.store.read_path(&self.path, Some(range)).await?;
            while let Some(piece) = pieces.try_next().await? {
                block.extend_from_slice(&piece);
            }
            Ok(())
        };
        Handle::current().block_on(reading).map_err(|error: plinth_store::StoreError| io::Error::other(error))?;
        self.block = (start, block);
        Ok(())
    }

    /// Returns the bytes of the current block from the current position on.
    fn rest_of_block(&self) -> &[u8] {
        let (start, bytes) = &self.block;
        let skipped = self.position.checked_sub(*start).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| bytes.get(skipped..)).unwrap_or_default()
    }
}

impl Read for StoredArchive {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.size || to.is_empty() {
            return Ok(0);
        }
        if self.rest_of_block().is_empty() {
            self.fetch()?;
        }
        let count = self.rest_of_block().read(to)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for StoredArchive {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
