//! Size and checksum of a stored object.

/// Size and checksum of a stored object. Both are sufficient to write a ZIP header without reading the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Size in bytes.
    pub size: u64,
    /// CRC-32 of the content.
    pub crc32: u32,
}
