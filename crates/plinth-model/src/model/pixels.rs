//! The pixels of an image, which may be decoded only when they are read.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// R, G, B, A bytes of an image. The pixels of an image that is [known](KnownImages) are decoded when they are first
/// read.
#[derive(Clone, Default)]
pub struct Pixels {
    bytes: OnceLock<Vec<u8>>,
    /// The source of `bytes` if the image is known.
    known: Option<Arc<KnownPixels>>,
}

struct KnownPixels {
    facts: ImageFacts,
    /// Size of the encoded image, which is kept in memory.
    encoded_bytes: usize,
    decode: Box<dyn Fn() -> Vec<u8> + Send + Sync>,
}

/// Facts about the pixels of an image, for which they need not be decoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// The smallest red, green, blue and alpha value of all pixels.
    pub least: [u8; 4],
}

/// Returns the facts about an image that this build of the program has decoded before without an error, or `None` if
/// the image is not known. The arguments are [`Image::encoded_hash`](super::Image::encoded_hash), and the width and the
/// height after downscaling.
pub type KnownImages<'a> = &'a (dyn Fn(&[u8; 16], (u32, u32)) -> Option<ImageFacts> + Sync);

impl Pixels {
    /// Creates pixels that `decode` returns when they are first read. `encoded_bytes` is the number of bytes that `decode`
    /// keeps in memory.
    pub fn known(
        facts: ImageFacts,
        encoded_bytes: usize,
        decode: impl Fn() -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let known = KnownPixels { facts, encoded_bytes, decode: Box::new(decode) };
        Self { bytes: OnceLock::new(), known: Some(Arc::new(known)) }
    }

    /// Returns the size of the encoded image if it is kept in memory, otherwise 0.
    pub(super) fn encoded_bytes(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.encoded_bytes)
    }

    /// Decodes the image if its pixels were not read before.
    pub fn decode(&self) {
        self.bytes.get_or_init(|| self.known.as_ref().map(|known| (known.decode)()).unwrap_or_default());
    }

    /// Returns the facts about the pixels if they are known. Does not decode the image.
    pub fn known_facts(&self) -> Option<ImageFacts> {
        self.known.as_ref().map(|known| known.facts)
    }

    /// Returns the facts about the pixels. If they are not known, reads all pixels.
    pub fn facts(&self) -> ImageFacts {
        self.known_facts().unwrap_or_else(|| {
            // SIMD instructions compare the bytes of many pixels at once.
            let (blocks, rest) = self.as_chunks::<64>();
            let least = blocks.iter().fold([u8::MAX; 64], smaller);
            let pixels = least.as_chunks().0.iter().chain(rest.as_chunks().0);
            ImageFacts { least: pixels.fold([u8::MAX; 4], smaller) }
        })
    }
}

/// Returns the smaller byte of each pair.
fn smaller<const N: usize>(mut least: [u8; N], bytes: &[u8; N]) -> [u8; N] {
    for (least, byte) in least.iter_mut().zip(bytes) {
        *least = (*least).min(*byte);
    }
    least
}

impl Deref for Pixels {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.decode();
        self.bytes.get().map(Vec::as_slice).unwrap_or_default()
    }
}

impl DerefMut for Pixels {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.decode();
        // The pixels may be changed, so they will no longer be known.
        self.known = None;
        self.bytes.get_mut().map(Vec::as_mut_slice).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Pixels {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), known: None }
    }
}

impl fmt::Debug for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pixels").field("known_facts", &self.known_facts()).finish_non_exhaustive()
    }
}

impl PartialEq for Pixels {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Pixels {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_those_of_all_pixels() {
        for count in [1, 15, 16, 17, 40] {
            for least in 0..count {
                let mut bytes = vec![200; count * 4];
                bytes[least * 4..][..4].copy_from_slice(&[9, 7, 30, 128]);
                assert_eq!(Pixels::from(bytes).facts(), ImageFacts { least: [9, 7, 30, 128] }, "{least} of {count}");
            }
        }
    }
}
