//! What is known of bytes that went into the store.

/// What is known of bytes that went into the store: enough to put them into a ZIP without reading them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// How many.
    pub size: u64,
    /// Their checksum.
    pub crc32: u32,
}
