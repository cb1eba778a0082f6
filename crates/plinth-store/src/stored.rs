//! Size and checksum of a stored object.

/// Size and checksum of a stored object. With them, a ZIP header can be written without reading the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Size in bytes.
    pub size: u64,
    /// CRC-32 of the content.
    pub crc32: u32,
}
