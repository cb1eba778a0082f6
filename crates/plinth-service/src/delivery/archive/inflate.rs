//! Decompresses a stream of DEFLATE data (RFC 1951) in pieces.

use std::io::{Error, Write as _};

use bytes::Bytes;
use flate2::write::DeflateDecoder;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plinth_store::{BlobStream, StoreError};

/// Number of compressed bytes that are decompressed at once. DEFLATE data becomes at most 1032 times as large.
const PIECE_BYTES: usize = 4 << 10;

struct Inflating {
    deflated: BlobStream,
    /// Compressed bytes that were read and not decompressed yet.
    pending: Bytes,
    decoder: DeflateDecoder<Vec<u8>>,
    /// Number of decompressed bytes that are still expected.
    missing: u64,
    is_finished: bool,
}

/// Decompresses a stream. `size` is the decompressed size in bytes. The returned stream ends with an error if the data is
/// damaged, or has another size.
pub(super) fn inflate(deflated: BlobStream, size: u64) -> BlobStream {
    let decoder = DeflateDecoder::new(Vec::new());
    let start = Inflating { deflated, pending: Bytes::new(), decoder, missing: size, is_finished: false };
    stream::try_unfold(start, |mut inflating| async move {
        Ok::<_, StoreError>(inflating.next().await?.map(|piece| (piece, inflating)))
    })
    .boxed()
}

impl Inflating {
    /// Returns the next decompressed bytes, or `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        while !self.is_finished {
            if self.pending.is_empty() {
                if let Some(piece) = self.deflated.try_next().await? {
                    self.pending = piece;
                } else {
                    self.decoder.try_finish()?;
                    self.is_finished = true;
                }
            }
            let piece = self.pending.split_to(self.pending.len().min(PIECE_BYTES));
            self.decoder.write_all(&piece)?;
            let made = std::mem::take(self.decoder.get_mut());
            let missing = self.missing.checked_sub(made.len() as u64);
            self.missing = missing.ok_or_else(|| Error::other("a file of the archive is longer than its list says"))?;
            if !made.is_empty() {
                return Ok(Some(made.into()));
            }
        }
        if self.missing > 0 {
            return Err(Error::other("a file of the archive is shorter than its list says").into());
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    fn deflated(content: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Decompresses bytes that arrive in pieces of 1000 bytes. Returns the content and the size of the largest piece.
    async fn read(bytes: &[u8], size: u64) -> Result<(Vec<u8>, usize), StoreError> {
        let pieces: Vec<_> = bytes.chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let mut made = inflate(stream::iter(pieces).boxed(), size);
        let (mut content, mut largest) = (Vec::new(), 0);
        while let Some(piece) = made.try_next().await? {
            largest = largest.max(piece.len());
            content.extend_from_slice(&piece);
        }
        Ok((content, largest))
    }

    #[tokio::test]
    async fn the_content_is_decompressed_in_bounded_pieces() {
        let content: Vec<u8> = (0..600_u32).flat_map(|i| [i.to_le_bytes()[0]; 5000]).collect();
        let (made, largest) = read(&deflated(&content), 3_000_000).await.unwrap();
        assert!(made == content && largest < 1100 * 1032, "{largest}");
        assert_eq!(read(&deflated(b""), 0).await.unwrap().0, b"");
    }

    #[tokio::test]
    async fn damaged_data_and_wrong_sizes_are_errors() {
        let content = vec![7; 100_000];
        let good = deflated(&content);
        for (bytes, size) in [
            (good.clone(), 99_999),
            (good.clone(), 100_001),
            (good[..good.len() / 2].to_vec(), 100_000),
            ([&good[..], b"more"].concat(), 100_000),
            (vec![0xff; 50], 100_000),
        ] {
            assert!(read(&bytes, size).await.is_err(), "{} bytes", bytes.len());
        }
    }
}
