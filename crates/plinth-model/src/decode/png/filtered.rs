//! Decompresses the pixels of a PNG image step by step.

use std::ops::Range;

use png::chunk::{IDAT, IEND};
use png::{DecodeOptions, Decoded, Info, StreamingDecoder, UnfilterRegion};

/// Minimum number of bytes that are decompressed before the rows among them are read.
const STEP: usize = 1 << 16;

/// Decompressed bytes of rows.
pub(super) struct FilteredBytes {
    buffer: Vec<u8>,
    range: Range<usize>,
}

impl FilteredBytes {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }

    /// Returns the memory of the bytes.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// The decompressed, but still filtered pixels of a PNG image.
pub(super) struct FilteredPixels<'a> {
    decoder: StreamingDecoder,
    /// The part of the file that has not been decoded yet.
    rest: &'a [u8],
    /// The pixels that were decompressed last.
    buffer: Vec<u8>,
    /// The parts of `buffer`. The decoder refers to the end of what it has decompressed.
    region: UnfilterRegion,
    /// Number of bytes at the beginning of `buffer` that have been taken.
    read: usize,
    /// Number of bytes of the image that have not been decompressed yet.
    missing: usize,
    /// Whether the decoder has reached the end of the chunks with pixels.
    is_flushed: bool,
}

impl<'a> FilteredPixels<'a> {
    /// Reads the chunks before the pixels. Returns `None` if the file is invalid.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        // These chunks do not change pixels, and may be very long after they are decompressed.
        let mut options = DecodeOptions::default();
        options.set_ignore_text_chunk(true);
        options.set_ignore_iccp_chunk(true);
        let decoder = StreamingDecoder::new_with_options(options);
        let region = UnfilterRegion::default();
        let mut pixels =
            Self { decoder, rest: bytes, buffer: Vec::new(), region, read: 0, missing: 0, is_flushed: false };
        while !matches!(pixels.skip()?, Decoded::ChunkBegin(_length, IDAT)) {}
        pixels.missing = pixels.size()?;
        Some(pixels)
    }

    pub(super) fn info(&self) -> Option<&Info<'static>> {
        self.decoder.info()
    }

    /// Returns the number of bytes of all rows, without interlacing.
    fn size(&self) -> Option<usize> {
        let info = self.info()?;
        info.raw_row_length().checked_mul(info.height as usize)
    }

    /// Decodes a part of the file without pixels.
    fn skip(&mut self) -> Option<Decoded> {
        let (length, decoded) = self.decoder.update(self.rest, None).ok()?;
        self.rest = &self.rest[length..];
        let is_at_end = length == 0 && self.rest.is_empty() || matches!(decoded, Decoded::ChunkComplete(IEND));
        (!is_at_end).then_some(decoded)
    }

    /// Returns the next `length` bytes, and reuses the memory of `spare`. Returns `None` if the file is invalid or has fewer
    /// bytes.
    pub(super) fn take(&mut self, length: usize, spare: Vec<u8>) -> Option<FilteredBytes> {
        while self.region.filled - self.read < length {
            if self.is_flushed {
                return None;
            }
            self.decompress(length)?;
        }
        let range = self.read..self.read + length;
        self.read = range.end;
        Some(FilteredBytes { buffer: self.continue_in(spare), range })
    }

    /// Continues in another buffer, with the bytes that are still needed. Returns the old buffer.
    fn continue_in(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        let unneeded = self.read.min(self.region.available);
        self.read -= unneeded;
        self.region.available -= unneeded;
        let needed = &self.buffer[unneeded..self.region.filled];
        self.region.filled = needed.len();
        buffer.resize(buffer.len().max(needed.len()), 0);
        buffer[..needed.len()].copy_from_slice(needed);
        // The space must end where the image ends: the decoder ignores what is compressed after it.
        buffer.truncate(needed.len() + self.missing);
        std::mem::replace(&mut self.buffer, buffer)
    }

    /// Decompresses some bytes. `length` bytes are needed after those that have been read.
    fn decompress(&mut self, length: usize) -> Option<()> {
        self.make_space(length);
        let filled = self.region.filled;
        let mut buffer = self.region.as_buf(&mut self.buffer);
        let (consumed, decoded) = self.decoder.update(self.rest, Some(&mut buffer)).ok()?;
        self.rest = &self.rest[consumed..];
        self.is_flushed = matches!(decoded, Decoded::ImageDataFlushed);
        self.missing -= self.region.filled - filled;
        let is_at_end = consumed == 0 && self.rest.is_empty();
        (!is_at_end).then_some(())
    }

    /// Provides space for decompressed bytes.
    fn make_space(&mut self, length: usize) {
        if self.region.filled == self.buffer.len() {
            let space = (length + STEP).min(self.missing);
            self.buffer.resize(self.region.filled + space, 0);
        }
    }

    /// Reads the end of the chunks with pixels. Returns `None` if one of them is damaged.
    pub(super) fn check_rest(mut self) -> Option<()> {
        while !self.is_flushed {
            self.is_flushed = matches!(self.skip()?, Decoded::ImageDataFlushed);
        }
        Some(())
    }
}
