//! Halves the rows of an image as soon as they are decoded, while they are still in the processor's cache.

use super::filters::{Pixel, ROWS};

/// Maximum number of times that a group of [`ROWS`] rows can be halved.
const MAX_HALVINGS: u32 = ROWS.ilog2();

/// An image whose width and height are halved a number of times while its rows are decoded.
pub(super) struct HalvedImage {
    /// Number of columns before the image is halved.
    columns: usize,
    /// For each time, the rows of the current group after they are halved. The last entry contains the rows of all groups.
    halved: Vec<Vec<Pixel>>,
}

impl HalvedImage {
    /// Returns `None` if the image has too few rows or columns, or is halved too many times.
    pub(super) fn new((width, height): (u32, u32), times: u32) -> Option<Self> {
        let [last_width, last_height] = [width, height].map(|side| side.checked_shr(times).unwrap_or(0) as usize);
        if last_width == 0 || last_height == 0 || !(1..=MAX_HALVINGS).contains(&times) {
            return None;
        }
        let mut halved = vec![Vec::new(); times as usize];
        halved[times as usize - 1].reserve_exact(last_width * last_height);
        Some(Self { columns: width as usize, halved })
    }

    /// Adds the next rows, which are [`ROWS`] rows unless they are the last ones.
    pub(super) fn add(&mut self, rows: &[Pixel]) {
        let (mut above, mut columns) = (rows, self.columns);
        let last = self.halved.len() - 1;
        for (i, below) in self.halved.iter_mut().enumerate() {
            if i < last {
                below.clear();
            }
            // If there is an odd number of rows or columns, the last one is left out.
            for pair in above.chunks_exact(2 * columns) {
                let (upper, lower) = pair.split_at(columns);
                let blocks = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
                below.extend(blocks.map(|([a, b], [c, d])| mean([*a, *b, *c, *d])));
            }
            (above, columns) = (below, columns / 2);
        }
    }

    /// Returns R, G, B, A bytes of the halved image.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.halved.pop().unwrap_or_default().into_flattened()
    }
}

/// Returns the mean of four pixels. A fraction of one half is rounded up.
fn mean(pixels: [Pixel; 4]) -> Pixel {
    // The sums of two channels are in the halves of a number.
    const BYTES: u32 = 0x00FF_00FF;
    const ROUND: u32 = 0x0002_0002;
    let [a, b, c, d] = pixels.map(u32::from_le_bytes);
    let sums = |shift: u32| (a >> shift & BYTES) + (b >> shift & BYTES) + (c >> shift & BYTES) + (d >> shift & BYTES);
    let means = |shift: u32| (sums(shift) + ROUND) >> 2 & BYTES;
    (means(0) | means(8) << 8).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_rounded_like_that_of_a_downscaled_image() {
        for seed in 0..=u8::MAX {
            let pixels =
                [1, 7, 31, 127_u8].map(|factor| [0, 1, 2, 3].map(|c| seed.wrapping_mul(factor).wrapping_sub(c)));
            let expected = [0, 1, 2, 3].map(|c| {
                let sum: u16 = pixels.iter().map(|pixel| u16::from(pixel[c])).sum();
                ((sum + 2) / 4) as u8
            });
            assert_eq!(mean(pixels), expected);
        }
        assert_eq!(mean([[u8::MAX; 4]; 4]), [u8::MAX; 4]);
    }

    #[test]
    fn sizes_that_cannot_be_halved_in_groups_are_left_to_another_decoder() {
        let is_possible = |size, times| HalvedImage::new(size, times).is_some();
        assert!(is_possible((8, 9), 3) && is_possible((1000, 2), 1));
        assert!(!is_possible((7, 9), 3) && !is_possible((1000, 2), 2) && !is_possible((1000, 1000), 4));
        assert!(!is_possible((8, 8), 0));
    }
}
