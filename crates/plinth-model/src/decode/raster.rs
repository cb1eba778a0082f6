//! Decoded images. To save memory, images that are downscaled have as many channels as in the file, and are converted
//! to RGBA afterwards.

use std::borrow::Cow;

use image::DynamicImage;

use crate::model::Image;

/// An image with 8 bits per channel. It has 1 channel (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA). Row 0 is at the
/// top.
pub(crate) struct Raster<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: usize,
    pub(crate) bytes: Cow<'a, [u8]>,
}

impl From<DynamicImage> for Raster<'_> {
    fn from(decoded: DynamicImage) -> Self {
        let (width, height) = (decoded.width(), decoded.height());
        let (channels, bytes) = match decoded {
            DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
            DynamicImage::ImageLumaA8(grey) => (2, grey.into_raw()),
            DynamicImage::ImageRgb8(rgb) => (3, rgb.into_raw()),
            DynamicImage::ImageLuma16(_) => (1, decoded.into_luma8().into_raw()),
            DynamicImage::ImageLumaA16(_) => (2, decoded.into_luma_alpha8().into_raw()),
            DynamicImage::ImageRgb16(_) => (3, decoded.into_rgb8().into_raw()),
            other => (4, other.into_rgba8().into_raw()),
        };
        Self { width, height, channels, bytes: Cow::Owned(bytes) }
    }
}

/// Returns how often both sides of an image must be halved until neither is longer than `max_side` pixels.
pub(super) fn halvings(size: (u32, u32), max_side: u32) -> u32 {
    let sizes = std::iter::successors(Some(size), |size| Some(half(*size)));
    sizes.take_while(|size| is_too_large(*size, max_side)).count() as u32
}

/// Returns the size of an image after both sides are halved until neither is longer than `max_side` pixels.
pub(super) fn scaled_down(size: (u32, u32), max_side: u32) -> (u32, u32) {
    (0..halvings(size, max_side)).fold(size, |size, _time| half(size))
}

fn is_too_large((width, height): (u32, u32), max_side: u32) -> bool {
    width.max(height) > max_side.max(1)
}

fn half((width, height): (u32, u32)) -> (u32, u32) {
    ((width / 2).max(1), (height / 2).max(1))
}

impl Raster<'_> {
    /// Halves both sides until neither is longer than `max_side` pixels, then converts the image to RGBA.
    pub(crate) fn into_image(self, max_side: u32) -> Image {
        let (source_width, source_height) = (self.width, self.height);
        let (width, height) = scaled_down((source_width, source_height), max_side);
        let pixels = self.into_pixels(max_side).into();
        Image { width, height, pixels, source_width, source_height, encoded_hash: None }
    }

    /// Returns the pixels of [`Self::into_image`].
    pub(super) fn into_pixels(mut self, max_side: u32) -> Vec<u8> {
        while is_too_large((self.width, self.height), max_side) {
            self = self.halved();
        }
        match self.channels {
            4 => self.bytes.into_owned(),
            3 => opaque(&self.bytes),
            2 => rgba(&self.bytes, |[g, a]: [u8; 2]| [g, g, g, a]),
            _ => rgba(&self.bytes, |[g]: [u8; 1]| [g, g, g, 255]),
        }
    }

    /// Averages blocks of 2 × 2 pixels. The stored bytes are averaged without decoding sRGB. The error is not visible,
    /// because images that are halved are far larger than they are displayed.
    fn halved(&self) -> Self {
        let (width, height) = half((self.width, self.height));
        let bytes = match self.channels {
            4 => self.block_means::<4>(width, height),
            3 => self.block_means::<3>(width, height),
            2 => self.block_means::<2>(width, height),
            _ => self.block_means::<1>(width, height),
        };
        Self { width, height, channels: self.channels, bytes: Cow::Owned(bytes) }
    }

    /// Returns the means of `width` × `height` blocks of pixels with `N` channels.
    fn block_means<const N: usize>(&self, width: u32, height: u32) -> Vec<u8> {
        let row_bytes = self.width as usize * N;
        let row = |y: u32| {
            let first = y.min(self.height - 1) as usize * row_bytes;
            &self.bytes[first..first + row_bytes]
        };
        let mut means: Vec<[u8; N]> = Vec::with_capacity(width as usize * height as usize);
        // The sums of two rows. The compiler uses vectors for this loop.
        let mut sums = vec![[0_u16; N]; self.width as usize];
        for y in 0..height {
            let rows = row(2 * y).iter().zip(row(2 * y + 1));
            for (sum, (above, below)) in sums.as_flattened_mut().iter_mut().zip(rows) {
                *sum = u16::from(*above) + u16::from(*below);
            }
            let mean = |left: &[u16; N], right: &[u16; N]| {
                std::array::from_fn::<u8, N, _>(|channel| ((left[channel] + right[channel] + 2) / 4) as u8)
            };
            match sums.as_slice() {
                [only] => means.push(mean(only, only)),
                sums => means.extend(sums.as_chunks::<2>().0.iter().map(|[left, right]| mean(left, right))),
            }
        }
        means.into_flattened()
    }
}

/// Number of pixels that are read together by [`words`].
pub(super) const COLUMNS: usize = 4;

/// Returns the words at the beginning of pixels with 3 or 4 channels. Those of RGB pixels end with a byte that is not theirs.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the target features of the caller must apply to it")]
pub(super) fn words<const CHANNELS: usize>(pixels: &[[u8; CHANNELS]; COLUMNS]) -> [[u8; 4]; COLUMNS] {
    let bytes = pixels.as_flattened();
    // Reading words is faster than reading bytes.
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // The last pixel ends with the last word.
    let last = word(CHANNELS * COLUMNS - 4) >> (8 * (4 - CHANNELS));
    [word(0), word(CHANNELS), word(2 * CHANNELS), last].map(u32::to_le_bytes)
}

/// Converts RGB pixels to RGBA.
fn opaque(bytes: &[u8]) -> Vec<u8> {
    let mut pixels = vec![0_u8; bytes.len() / 3 * 4];
    let (blocks, rest) = bytes.as_chunks::<3>().0.as_chunks::<COLUMNS>();
    let (converted, converted_rest) = pixels.as_chunks_mut::<4>().0.split_at_mut(COLUMNS * blocks.len());
    for (converted, block) in converted.as_chunks_mut::<COLUMNS>().0.iter_mut().zip(blocks) {
        *converted = words(block).map(|[r, g, b, _]| [r, g, b, 255]);
    }
    for (converted, [r, g, b]) in converted_rest.iter_mut().zip(rest) {
        *converted = [*r, *g, *b, 255];
    }
    pixels
}

/// Converts pixels with `N` channels to RGBA.
pub(super) fn rgba<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> [u8; 4]) -> Vec<u8> {
    // The number of pixels is known, so the memory is allocated at once.
    let pixels: Vec<[u8; 4]> = bytes.as_chunks::<N>().0.iter().map(|pixel| convert(*pixel)).collect();
    pixels.into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_of_all_numbers_of_channels_become_rgba() {
        for count in [1, 3, 4, 5, 8, 11] {
            let byte = |pixel: usize, channel: usize| (pixel * 67 + channel * 29 + 200) as u8;
            for channels in 1..=4 {
                let bytes = (0..count).flat_map(|pixel| (0..channels).map(move |channel| byte(pixel, channel)));
                let bytes = Cow::Owned(bytes.collect());
                let raster = Raster { width: count as u32, height: 1, channels, bytes };
                let expected: Vec<u8> = (0..count)
                    .flat_map(|pixel| match channels {
                        1 => [byte(pixel, 0), byte(pixel, 0), byte(pixel, 0), 255],
                        2 => [byte(pixel, 0), byte(pixel, 0), byte(pixel, 0), byte(pixel, 1)],
                        3 => [byte(pixel, 0), byte(pixel, 1), byte(pixel, 2), 255],
                        _ => [0, 1, 2, 3].map(|channel| byte(pixel, channel)),
                    })
                    .collect();
                assert_eq!(raster.into_pixels(64), expected, "{count} pixels, {channels} channels");
            }
        }
    }
}
