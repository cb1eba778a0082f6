//! KTX2 with plain 8-bit texels (Khronos, "KTX File Format Specification 2.0"); Basis Universal is the crate's work.

use std::io::Read as _;

/// Size and texels of a plain KTX2 file; `None` when it is of another kind.
pub(crate) struct Plain<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    channels: usize,
    zstd: bool,
    level: &'a [u8],
}

impl<'a> Plain<'a> {
    /// Reads the header.
    pub(crate) fn open(bytes: &'a [u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let long = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        // VkFormat R8, R8G8, R8G8B8 and R8G8B8A8, UNORM and SRGB.
        let channels = match word(12)? {
            9 | 15 => 1,
            16 | 22 => 2,
            23 | 29 => 3,
            37 | 43 => 4,
            _ => return None,
        };
        let zstd = match word(44)? {
            0 => false,
            2 => true,
            _ => return None,
        };
        let (offset, length) = (usize::try_from(long(80)?).ok()?, usize::try_from(long(88)?).ok()?);
        let level = bytes.get(offset..offset.checked_add(length)?)?;
        Some(Self { width: word(20)?, height: word(24)?, channels, zstd, level })
    }

    /// R, G, B, A bytes of the largest level.
    pub(crate) fn rgba(&self) -> Option<Vec<u8>> {
        let count = usize::try_from(u64::from(self.width) * u64::from(self.height)).ok()?;
        let size = count.checked_mul(self.channels)?;
        let unpacked;
        let texels = if self.zstd {
            let mut reader = ruzstd::StreamingDecoder::new(self.level).ok()?;
            let mut out = Vec::new();
            reader.by_ref().take(size as u64).read_to_end(&mut out).ok()?;
            unpacked = out;
            unpacked.as_slice()
        } else {
            self.level
        };
        let rgba = |t: &[u8]| match *t {
            [r] => [r, r, r, 255],
            [r, g] => [r, g, 0, 255],
            [r, g, b] => [r, g, b, 255],
            [r, g, b, a, ..] => [r, g, b, a],
            [] => [255; 4],
        };
        (texels.len() >= size).then(|| texels[..size].chunks_exact(self.channels).flat_map(rgba).collect())
    }
}
