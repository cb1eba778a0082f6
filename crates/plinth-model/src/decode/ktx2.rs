//! Reads KTX2 headers, and KTX2 files with uncompressed 8-bit texels (Khronos, "KTX File Format Specification 2.0").
//! Files with Basis Universal textures are decoded by the crate `basisu`.

use std::io::Read as _;

use super::raster::rgba;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// Maximum number of mip levels. This suffices for an image whose sides are 32-bit numbers.
const MAX_LEVELS: u32 = 32;
/// Maximum number of bytes of a block of 4 × 4 texels: four uncompressed 8-bit channels.
const BLOCK_BYTES: u64 = 64;

/// Returns the width and the height of a file that contains a single 2D image. Returns `None` if the header refers to
/// bytes outside the file, or declares more unpacked bytes for a mip level than its size allows. The Basis Universal
/// decoder does not check these numbers.
pub(crate) fn checked_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let is_in_file = |offset: u64, length: u64| offset.checked_add(length).is_some_and(|end| end <= bytes.len() as u64);
    let [width, height, depth, layers, faces, levels] = [20, 24, 28, 32, 36, 40].map(|at| word(bytes, at));
    let (width, height, levels) = (width?, height?, levels?.max(1));
    let single = depth? == 0 && layers? <= 1 && faces? == 1 && levels <= MAX_LEVELS;
    if !single || width == 0 || height == 0 || !is_in_file(long(bytes, 64)?, long(bytes, 72)?) {
        return None;
    }
    for level in 0..levels {
        let at = 80 + 24 * level as usize;
        let (offset, length, unpacked) = (long(bytes, at)?, long(bytes, at + 8)?, long(bytes, at + 16)?);
        let blocks = [width, height].map(|side| u64::from(side.checked_shr(level).unwrap_or(0).max(1)).div_ceil(4));
        if !is_in_file(offset, length) || unpacked > blocks[0].saturating_mul(blocks[1]).saturating_mul(BLOCK_BYTES) {
            return None;
        }
    }
    Some((width, height))
}

/// Colour model of ETC1S textures (Khronos Data Format Specification, `KHR_DF_MODEL_ETC1S`).
const ETC1S: u8 = 163;
/// Channel of an ETC1S slice that contains green values (`KHR_DF_CHANNEL_ETC1S_GGG`).
const GREEN: u8 = 4;

/// Returns whether the second slice of an ETC1S texture contains green values. Otherwise, it contains alpha values. The
/// Basis Universal decoder does not distinguish the two.
pub(crate) fn second_slice_is_green(bytes: &[u8]) -> bool {
    let Some(descriptor) = data_format_descriptor(bytes) else { return false };
    // The sample that describes the second slice starts at byte 44. Its channel is in the low bits of its fourth byte.
    let channel = descriptor.get(47).map(|byte| byte & 0xF);
    descriptor.get(12) == Some(&ETC1S) && channel == Some(GREEN)
}

fn data_format_descriptor(bytes: &[u8]) -> Option<&[u8]> {
    let [offset, length] = [word(bytes, 48)?, word(bytes, 52)?].map(|n| n as usize);
    bytes.get(offset..offset.checked_add(length)?)
}

/// Returns the file without its key/value data, which does not affect the texels. The Basis Universal decoder would use
/// the lengths in this data without checking them.
pub(crate) fn without_key_values(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if let Some(range) = out.get_mut(56..64) {
        range.fill(0);
    }
    out
}

/// A KTX2 file with uncompressed 8-bit texels.
pub(crate) struct UncompressedKtx2<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    channels: usize,
    zstd: bool,
    level: &'a [u8],
}

impl<'a> UncompressedKtx2<'a> {
    /// Reads the header. Returns `None` if the file has another texel format or an unsupported compression.
    pub(crate) fn open(bytes: &'a [u8]) -> Option<Self> {
        // The formats R8, R8G8, R8G8B8 and R8G8B8A8 of Vulkan (`VkFormat`), each as UNORM and as SRGB.
        let channels = match word(bytes, 12)? {
            9 | 15 => 1,
            16 | 22 => 2,
            23 | 29 => 3,
            37 | 43 => 4,
            _ => return None,
        };
        let zstd = match word(bytes, 44)? {
            0 => false,
            2 => true,
            _ => return None,
        };
        let (offset, length) = (usize::try_from(long(bytes, 80)?).ok()?, usize::try_from(long(bytes, 88)?).ok()?);
        let level = bytes.get(offset..offset.checked_add(length)?)?;
        Some(Self { width: word(bytes, 20)?, height: word(bytes, 24)?, channels, zstd, level })
    }

    /// Returns the RGBA bytes of the largest mip level.
    pub(crate) fn rgba(&self) -> Option<Vec<u8>> {
        let count = usize::try_from(u64::from(self.width) * u64::from(self.height)).ok()?;
        let size = count.checked_mul(self.channels)?;
        let unpacked;
        let texels = if self.zstd {
            let mut reader = ruzstd::decoding::StreamingDecoder::new(self.level).ok()?;
            let mut out = Vec::new();
            reader.by_ref().take(size as u64).read_to_end(&mut out).ok()?;
            unpacked = out;
            unpacked.as_slice()
        } else {
            self.level
        };
        let texels = texels.get(..size)?;
        Some(match self.channels {
            1 => rgba(texels, |[r]: [u8; 1]| [r, r, r, 255]),
            2 => rgba(texels, |[r, g]: [u8; 2]| [r, g, 0, 255]),
            3 => rgba(texels, |[r, g, b]: [u8; 3]| [r, g, b, 255]),
            _ => texels.to_vec(),
        })
    }
}
