//! Reverses the filters of the rows of a PNG image (PNG specification, third edition, section 9).
//!
//! A filtered byte is the difference between a byte of a pixel and its prediction from the pixels to the left, above,
//! and above to the left. Within one row, each pixel has to wait for its left neighbour. Therefore eight rows are
//! processed together, each one column behind the row above it: the eight pixels of such a diagonal do not depend on each
//! other.

#![expect(clippy::inline_always, reason = "the target features of a function must apply to the loops that it calls")]

use super::super::raster::{COLUMNS, words};

/// Number of rows that are processed together.
pub(super) const ROWS: usize = 8;
/// R, G, B, A.
pub(super) type Pixel = [u8; 4];
/// The pixels of a diagonal, from the upper row to the lower one.
type Diagonal = [u8; ROWS * 4];

/// The channels of the pixels in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Rgb,
    Rgba,
}

impl Layout {
    const fn channels(self) -> usize {
        match self {
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    /// Returns the number of bytes of a filtered row: one with its filter, and those of its pixels.
    pub(super) const fn row_bytes(self, columns: usize) -> usize {
        1 + columns * self.channels()
    }

    /// Reverses the filters of as many rows as `out` has, which are at most [`ROWS`]. `above` is the row above them.
    /// Returns `None` if there is an unknown filter.
    pub(super) fn reverse(self, filtered: &[u8], above: &[Pixel], out: &mut [Pixel]) -> Option<()> {
        let (columns, row_bytes) = (above.len(), self.row_bytes(above.len()));
        let missing = ROWS - out.len() / columns;
        if missing > 0 {
            let mut all = vec![[0; 4]; ROWS * columns];
            self.reverse(&[filtered, &vec![0; missing * row_bytes]].concat(), above, &mut all)?;
            out.copy_from_slice(&all[..out.len()]);
            return Some(());
        }
        let rows: [&[u8]; ROWS] = std::array::from_fn(|row| &filtered[row * row_bytes..(row + 1) * row_bytes]);
        let predictors = Predictors::new(rows.map(|row| row[0]))?;
        let rows = rows.map(|row| &row[1..]);
        fastest(self)(rows, predictors, above, out);
        Some(())
    }
}

/// Reverses the filters of [`ROWS`] rows of pixels.
type Reverse = fn([&[u8]; ROWS], Predictors, &[Pixel], &mut [Pixel]);

/// Returns the fastest function for this processor. All have the same results.
fn fastest(layout: Layout) -> Reverse {
    match layout {
        Layout::Rgb => fastest_of::<3>(),
        Layout::Rgba => fastest_of::<4>(),
    }
}

/// Same as [`fastest`], for pixels with 3 or 4 channels.
fn fastest_of<const CHANNELS: usize>() -> Reverse {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |rows, predictors, above, out| {
            #[expect(unsafe_code, reason = "a function with target features; see decision 0094")]
            // SAFETY: The processor has AVX2, which is all that the function requires.
            unsafe {
                reverse_avx2::<CHANNELS>(rows, predictors, above, out);
            }
        };
    }
    reverse::<CHANNELS>
}

/// Same as [`reverse`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn reverse_avx2<const CHANNELS: usize>(
    rows: [&[u8]; ROWS],
    predictors: Predictors,
    above: &[Pixel],
    out: &mut [Pixel],
) {
    reverse::<CHANNELS>(rows, predictors, above, out);
}

/// Reverses the filters of rows of pixels with 3 or 4 channels.
#[inline(always)]
fn reverse<const CHANNELS: usize>(rows: [&[u8]; ROWS], predictors: Predictors, above: &[Pixel], out: &mut [Pixel]) {
    let columns = above.len();
    let mut out_rows = out.chunks_exact_mut(columns);
    let mut out: [&mut [Pixel]; ROWS] = std::array::from_fn(|_row| out_rows.next().unwrap_or_default());
    let mut wavefront = Wavefront::<CHANNELS> { predictors, left: [0; ROWS * 4], above_left: [0; ROWS * 4] };
    // In the first steps, the lower rows have not begun, and in the last ones, the upper rows have ended.
    let blocks = (columns + 1).saturating_sub(ROWS) / COLUMNS;
    let first = if blocks > 0 { ROWS - 1 } else { 0 };
    for step in 0..first {
        wavefront.advance_at_side(step, &rows, above, &mut out);
    }
    if blocks > 0 {
        wavefront.advance_by_blocks(blocks, &rows, above, &mut out);
    }
    for step in first + blocks * COLUMNS..columns + ROWS - 1 {
        wavefront.advance_at_side(step, &rows, above, &mut out);
    }
}

/// Returns a pixel of the image. An RGB pixel is opaque.
#[inline(always)]
const fn finished<const CHANNELS: usize>([r, g, b, a]: Pixel) -> Pixel {
    [r, g, b, if CHANNELS == 4 { a } else { u8::MAX }]
}

/// Returns whichever of three bytes is nearest to `left + above - above_left` (section 9.4). If two are equally near, it is the
/// first of them. All numbers are bytes, of which the most fit into a vector.
#[inline(always)]
fn paeth(left: u8, above: u8, above_left: u8) -> u8 {
    // The compiler converts bytes to longer numbers for `abs_diff`.
    let difference = |a: u8, b: u8| a.max(b).wrapping_sub(a.min(b));
    let (to_left, to_above) = (difference(above, above_left), difference(left, above_left));
    // If `above_left` is between the others, its distance is the difference between theirs. Otherwise, its distance is their
    // sum, so it is not the nearest one.
    let is_between = (left < above_left) == (above_left < above);
    let to_above_left = if is_between { difference(to_left, to_above) } else { u8::MAX };
    if to_left <= to_above && to_left <= to_above_left {
        left
    } else if to_above <= to_above_left {
        above
    } else {
        above_left
    }
}

/// Which prediction the bytes of a diagonal have: all bits of one of the masks are set, or none for filter 0.
#[derive(Clone, Copy)]
struct Predictors {
    left: Diagonal,
    above: Diagonal,
    mean: Diagonal,
    paeth: Diagonal,
}

impl Predictors {
    /// Returns `None` if one of the filters is unknown.
    fn new(filters: [u8; ROWS]) -> Option<Self> {
        let mask = |filter: u8| -> Diagonal {
            let rows = filters.map(|other| if other == filter { [u8::MAX; 4] } else { [0; 4] });
            std::array::from_fn(|byte| rows[byte / 4][byte % 4])
        };
        let are_known = filters.iter().all(|filter| *filter <= 4);
        are_known.then(|| Self { left: mask(1), above: mask(2), mean: mask(3), paeth: mask(4) })
    }
}

/// Reverses the filters of rows, diagonal by diagonal. The pixels in the file have `CHANNELS` bytes.
struct Wavefront<const CHANNELS: usize> {
    predictors: Predictors,
    /// The last diagonal, whose pixels are to the left of the next ones.
    left: Diagonal,
    /// The pixels above `left`.
    above_left: Diagonal,
}

impl<const CHANNELS: usize> Wavefront<CHANNELS> {
    /// Computes the next diagonal. `top` is the pixel above its first one.
    #[inline(always)]
    fn advance(&mut self, filtered: &Diagonal, top: Pixel) -> Diagonal {
        let mut all_above = [0; ROWS * 4];
        all_above[..4].copy_from_slice(&top);
        all_above[4..].copy_from_slice(&self.left[..ROWS * 4 - 4]);
        let mut next = *filtered;
        for (i, byte) in next.iter_mut().enumerate() {
            let (left, above, above_left) = (self.left[i], all_above[i], self.above_left[i]);
            let mean = (left & above).wrapping_add((left ^ above) >> 1);
            let prediction = self.predictors.left[i] & left
                | self.predictors.above[i] & above
                | self.predictors.mean[i] & mean
                | self.predictors.paeth[i] & paeth(left, above, above_left);
            *byte = byte.wrapping_add(prediction);
        }
        (self.left, self.above_left) = (next, all_above);
        next
    }

    /// Computes the diagonal of a step in which some rows may have no pixel. In these rows, the result is 0 before their
    /// first pixel, as the specification requires of what is to the left of it.
    #[inline(always)]
    fn advance_at_side(&mut self, step: usize, rows: &[&[u8]; ROWS], above: &[Pixel], out: &mut [&mut [Pixel]; ROWS]) {
        let mut filtered = [0; ROWS * 4];
        for (row, (bytes, pixel)) in rows.iter().zip(filtered.as_chunks_mut::<4>().0).enumerate() {
            let column = step.checked_sub(row);
            if let Some(bytes) = column.and_then(|column| bytes.as_chunks::<CHANNELS>().0.get(column)) {
                pixel[..CHANNELS].copy_from_slice(bytes);
            }
        }
        let next = self.advance(&filtered, above.get(step).copied().unwrap_or_default());
        for (row, (out, pixel)) in out.iter_mut().zip(next.as_chunks::<4>().0).enumerate() {
            if let Some(out) = step.checked_sub(row).and_then(|column| out.get_mut(column)) {
                *out = finished::<CHANNELS>(*pixel);
            }
        }
    }

    /// Computes `blocks` times [`COLUMNS`] diagonals from the first one in which all rows have a pixel.
    #[inline(always)]
    fn advance_by_blocks(
        &mut self,
        blocks: usize,
        rows: &[&[u8]; ROWS],
        above: &[Pixel],
        out: &mut [&mut [Pixel]; ROWS],
    ) {
        // The compiler omits checks of indices, because all slices have the length `blocks`.
        let above = &above[ROWS - 1..].as_chunks::<COLUMNS>().0[..blocks];
        let mut first = ROWS;
        let rows: [&[[[u8; CHANNELS]; COLUMNS]]; ROWS] = rows.map(|row| {
            first -= 1;
            &row.as_chunks().0[first..].as_chunks().0[..blocks]
        });
        let mut first = ROWS;
        let mut out: [&mut [[Pixel; COLUMNS]]; ROWS] = out.each_mut().map(|row| {
            first -= 1;
            &mut row[first..].as_chunks_mut().0[..blocks]
        });
        for block in 0..blocks {
            let mut diagonals = [[0; ROWS * 4]; COLUMNS];
            for (i, row) in rows.iter().enumerate() {
                for (diagonal, pixel) in diagonals.iter_mut().zip(words(&row[block])) {
                    diagonal[i * 4..i * 4 + 4].copy_from_slice(&pixel);
                }
            }
            for (diagonal, top) in diagonals.iter_mut().zip(above[block]) {
                *diagonal = self.advance(diagonal, top);
            }
            for (i, row) in out.iter_mut().enumerate() {
                for (pixel, diagonal) in row[block].iter_mut().zip(&diagonals) {
                    *pixel = finished::<CHANNELS>(diagonal.as_chunks().0[i]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that look random.
    fn bytes(number: usize) -> Vec<u8> {
        (0..number as u32).map(|i| (i.wrapping_mul(0x9E37_79B1).wrapping_add(0x1234_5678) >> 13) as u8).collect()
    }

    #[test]
    fn the_nearest_of_three_bytes_is_that_of_the_specification() {
        let specified = |a: u8, b: u8, c: u8| {
            let [a, b, c] = [a, b, c].map(i32::from);
            let p = a + b - c;
            let [pa, pb, pc] = [a, b, c].map(|byte| (p - byte).abs());
            if pa <= pb && pa <= pc {
                a
            } else if pb <= pc {
                b
            } else {
                c
            }
        };
        for a in 0..=u8::MAX {
            for b in 0..=u8::MAX {
                for c in (a % 3..=u8::MAX).step_by(3) {
                    assert_eq!(i32::from(paeth(a, b, c)), specified(a, b, c), "{a} {b} {c}");
                }
            }
        }
    }

    #[test]
    fn functions_for_all_processors_have_the_same_results() {
        for (layout, slowest) in [(Layout::Rgb, reverse::<3> as Reverse), (Layout::Rgba, reverse::<4>)] {
            for columns in [1, 6, 7, 8, 11, 12, 40] {
                let row_bytes = layout.row_bytes(columns) - 1;
                let (all, above) = (bytes(ROWS * row_bytes), bytes(columns * 4));
                let rows = std::array::from_fn(|row| &all[row * row_bytes..][..row_bytes]);
                let predictors = Predictors::new([4, 4, 3, 1, 2, 0, 4, 3]).unwrap();
                let result = |reverse: Reverse| {
                    let mut out = vec![[0; 4]; ROWS * columns];
                    reverse(rows, predictors, above.as_chunks().0, &mut out);
                    out
                };
                assert!(result(fastest(layout)) == result(slowest), "{layout:?} {columns}");
            }
        }
    }

    #[test]
    fn unknown_filters_are_errors() {
        let reverse = |filter: u8| {
            let filtered = [4, 10, 20, 30, 0, 1, 2, 3, filter, 1, 1, 1];
            let mut out = [[0; 4]; 3];
            Layout::Rgb.reverse(&filtered, &[[7, 7, 7, 255]], &mut out).map(|()| out)
        };
        assert_eq!(reverse(2), Some([[17, 27, 37, 255], [1, 2, 3, 255], [2, 3, 4, 255]]));
        assert_eq!(reverse(5), None);
    }
}
