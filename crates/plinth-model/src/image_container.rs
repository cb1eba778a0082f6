//! Checks parts of PNG and WebP images that the decoders of the crates `png` and `image-webp` trust.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

/// The first bytes of a PNG (ISO/IEC 15948, clause 5.2).
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Position of the colour type in a PNG (clause 11.2.1). The first chunk is the header.
const PNG_COLOR_TYPE: usize = 25;
/// Colour type of pixels that are indices into a palette.
const PNG_INDEXED: u8 = 3;
/// Number of bytes of a PNG chunk apart from its data: length, type and checksum.
const CHUNK_FRAME: usize = 12;

/// Checks that reading the orientation and the pixels of an image neither makes the decoder panic nor allocates far more memory than
/// the image needs. The decoder still has to reject all other damage.
/// Errors: a message with the reason why the image cannot be decoded.
pub fn check_picture(bytes: &[u8]) -> Result<(), String> {
    check_palette(bytes)?;
    let Some(mut webp) = bytes.starts_with(b"RIFF").then(|| WebPDecoder::new(Cursor::new(bytes)).ok()).flatten() else {
        return Ok(());
    };
    // Without this limit, the decoder would allocate the length that the file states.
    webp.set_memory_limit(bytes.len());
    if matches!(webp.exif_metadata(), Err(DecodingError::MemoryLimitExceeded)) {
        return Err("its metadata are longer than the file".to_owned());
    }
    Ok(())
}

/// Checks that reading the pixels of an image does not make the decoder panic.
/// Errors: a message with the reason why the image cannot be decoded.
pub(crate) fn check_palette(bytes: &[u8]) -> Result<(), String> {
    // The decoder reads the palettes of other images, but does not use them.
    let is_indexed = bytes.get(PNG_COLOR_TYPE) == Some(&PNG_INDEXED);
    if is_indexed && palette_lengths(bytes).any(|length| length % 3 != 0) {
        return Err("the length of its palette is not divisible by 3".to_owned());
    }
    Ok(())
}

/// Returns the length in bytes of each palette (`PLTE` chunk) of a PNG.
fn palette_lengths(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut rest = bytes.strip_prefix(PNG_SIGNATURE).unwrap_or_default();
    let chunks = std::iter::from_fn(move || {
        let ([length, kind], _) = rest.as_chunks::<4>().0.split_first_chunk::<2>()?;
        let length = u32::from_be_bytes(*length) as usize;
        rest = rest.get(length.checked_add(CHUNK_FRAME)?..).unwrap_or_default();
        Some((*kind, length))
    });
    chunks.filter(|(kind, _)| kind == b"PLTE").map(|(_, length)| length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a chunk of a PNG with a wrong checksum.
    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        [&(data.len() as u32).to_be_bytes(), kind, data, &[0; 4]].concat()
    }

    /// Returns the beginning of a PNG of one pixel with 8 bits.
    fn beginning(color_type: u8) -> Vec<u8> {
        [PNG_SIGNATURE, &chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, color_type, 0, 0, 0])].concat()
    }

    #[test]
    fn a_palette_has_three_bytes_for_each_colour() {
        for (length, is_accepted) in [(0, true), (1, false), (3, true), (49, false), (50, false), (768, true)] {
            let palette = chunk(b"PLTE", &vec![0; length]);
            assert_eq!(
                check_palette(&[beginning(PNG_INDEXED), palette.clone()].concat()).is_ok(),
                is_accepted,
                "{length}"
            );
            // Palettes of true-colour images are suggestions, which no decoder needs.
            assert_eq!(check_palette(&[beginning(2), palette].concat()), Ok(()), "{length}");
        }
    }

    #[test]
    fn damaged_chunks_are_left_to_the_decoder() {
        for rest in [&b""[..], b"\0\0", b"\0\0\0\x01PLT", b"\xff\xff\xff\xffIDAT", b"\xff\xff\xff\xf4IDAT"] {
            assert_eq!(check_picture(&[&beginning(PNG_INDEXED), rest].concat()), Ok(()));
        }
        for bytes in [&b""[..], b"RIFF", b"RIFF\x10\0\0\0WEBPVP8X", b"\xff\xd8\xff"] {
            assert_eq!(check_picture(bytes), Ok(()));
        }
    }
}
