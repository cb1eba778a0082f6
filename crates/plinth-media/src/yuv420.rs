//! Converts 8-bit RGB to planar 4:2:0 for H.264: BT.709 in limited range (ITU-R BT.709-6, sections 3.2 to 3.4).

use rayon::prelude::*;

use crate::canvas::Canvas;
use crate::convert::{KB, KR};

/// Number of fractional bits of the factors. With 15, a factor fits into the 16 bits that processors multiply fastest.
const FRACTION: u32 = 15;
/// Additional fractional bits of chroma, whose inputs are sums of four pixels.
const FOUR: u32 = 2;

/// Factors of R, G and B.
type Factors = [i32; 3];

/// Factors of Y. 255 becomes 219, the range of Y.
const LUMA: Factors =
    [fixed(KR * (219.0 / 255.0)), fixed((1.0 - KR - KB) * (219.0 / 255.0)), fixed(KB * (219.0 / 255.0))];
/// Factors of U, which is proportional to B − Y.
const BLUE: Factors = chroma(-KR / (1.0 - KB), 1.0);
/// Factors of V, which is proportional to R − Y.
const RED: Factors = chroma(1.0, -KB / (1.0 - KR));

/// Returns the factors of U or V. `red` and `blue` are the factors of R and B with which the result is between −1 and 1, if
/// the colours are between 0 and 1. This range becomes 224. The factors add up to 0, so that grey becomes exactly 128.
const fn chroma(red: f32, blue: f32) -> Factors {
    let [red, blue] = [fixed(red * (112.0 / 255.0)), fixed(blue * (112.0 / 255.0))];
    [red, -red - blue, blue]
}

/// Rounds a factor to a fixed-point number.
const fn fixed(factor: f32) -> i32 {
    (factor * (1 << FRACTION) as f32).round() as i32
}

/// Converts an image of even width and height. The output contains the Y plane, then U, then V. Each chroma sample is the mean of
/// 2 × 2 pixels, so its position is the centre of these pixels. Each value is the nearest integer, except where the exact value is
/// within 0.02 of the middle between two.
pub(crate) fn yuv420p(canvas: &Canvas, out: &mut Vec<u8>) {
    let width = canvas.width as usize;
    let luma = width * canvas.height as usize;
    out.resize(luma + luma / 2, 0);
    let (y, chroma) = out.split_at_mut(luma);
    let (u, v) = chroma.split_at_mut(luma / 4);
    let convert = converter();
    let pairs = (
        canvas.pixels.par_chunks_exact(width * 8),
        y.par_chunks_exact_mut(width * 2),
        u.par_chunks_exact_mut(width / 2),
        v.par_chunks_exact_mut(width / 2),
    );
    pairs.into_par_iter().for_each(|(pixels, y, u, v)| convert(pixels.as_chunks::<4>().0, y, u, v));
}

/// Converts two rows of pixels to two rows of Y and a row each of U and V.
type ConvertRows = fn(&[[u8; 4]], &mut [u8], &mut [u8], &mut [u8]);

/// Returns the fastest function for this processor. All have the same results.
fn converter() -> ConvertRows {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |pixels, y, u, v| {
            #[expect(unsafe_code, reason = "a function with target features; see decision 0086")]
            // SAFETY: The processor has AVX2, which is all that the function requires.
            unsafe {
                rows_avx2(pixels, y, u, v);
            }
        };
    }
    rows
}

/// Same as [`rows`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2(pixels: &[[u8; 4]], y: &mut [u8], u: &mut [u8], v: &mut [u8]) {
    rows(pixels, y, u, v);
}

#[expect(clippy::inline_always, reason = "the target features of the caller must apply to the loops")]
#[inline(always)]
fn rows(pixels: &[[u8; 4]], y: &mut [u8], u: &mut [u8], v: &mut [u8]) {
    for (y, pixel) in y.iter_mut().zip(pixels) {
        let pixel = u32::from_le_bytes(*pixel);
        let [r, g, b] = [0, 8, 16].map(|shift| (pixel >> shift & 255).cast_signed());
        *y = weighted(LUMA, [r, g, b], 16, FRACTION) as u8;
    }
    let (above, below) = pixels.split_at(pixels.len() / 2);
    let blocks = above.as_chunks::<2>().0.iter().zip(below.as_chunks::<2>().0);
    for ((u, v), (above, below)) in u.iter_mut().zip(v).zip(blocks) {
        let four = [above[0], above[1], below[0], below[1]].map(u32::from_le_bytes);
        // Red is added in the lower half of the word, blue in the upper half.
        let red_and_blue: u32 = four.iter().map(|pixel| pixel & 0x00ff_00ff).sum();
        let green: u32 = four.iter().map(|pixel| pixel >> 8 & 255).sum();
        let sums = [red_and_blue & 0xffff, green, red_and_blue >> 16].map(u32::cast_signed);
        *u = weighted(BLUE, sums, 128, FRACTION + FOUR) as u8;
        *v = weighted(RED, sums, 128, FRACTION + FOUR) as u8;
    }
}

/// Returns the weighted sum of R, G and B plus an offset, rounded to the nearest integer. `fraction` is the number of fractional
/// bits of the sum.
#[expect(clippy::inline_always, reason = "part of the loops of `rows`")]
#[inline(always)]
const fn weighted(factors: Factors, [r, g, b]: [i32; 3], offset: i32, fraction: u32) -> i32 {
    let half = 1 << (fraction - 1);
    (factors[0] * r + factors[1] * g + factors[2] * b + (offset << fraction) + half) >> fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(pixels: &[[u8; 4]; 8], convert: ConvertRows) -> ([u8; 8], [u8; 2], [u8; 2]) {
        let (mut y, mut u, mut v) = ([0; 8], [0; 2], [0; 2]);
        convert(pixels, &mut y, &mut u, &mut v);
        (y, u, v)
    }

    #[test]
    fn colours_become_the_nearest_values() {
        // Multiples of 15 contain 0 and 255.
        let channel = || (0..=255_u8).step_by(15);
        for r in channel() {
            for (g, b) in channel().flat_map(|g| channel().map(move |b| (g, b))) {
                let (y, u, v) = converted(&[[r, g, b, 255]; 8], converter());
                let [red, green, blue] = [r, g, b].map(|value| f64::from(value) / 255.0);
                let luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
                let exact = [
                    16.0 + 219.0 * luma,
                    128.0 + 224.0 * (blue - luma) / 1.8556,
                    128.0 + 224.0 * (red - luma) / 1.5748,
                ];
                for (value, exact) in [y[7], u[1], v[1]].into_iter().zip(exact) {
                    assert!((f64::from(value) - exact).abs() < 0.52, "{value} for {exact} of {:?}", [r, g, b]);
                }
            }
        }
    }

    #[test]
    fn chroma_is_the_mean_of_four_pixels() {
        let block = |at: usize| {
            let mut pixels = [[0, 0, 0, 255]; 8];
            pixels[at] = [0, 0, 255, 255];
            converted(&pixels, converter()).1
        };
        // Rows of four pixels: the first block contains the pixels 0, 1, 4 and 5. 128 + 112 / 4 = 156.
        for (at, blocks) in [[156, 128], [156, 128], [128, 156], [128, 156]].into_iter().cycle().take(8).enumerate() {
            assert_eq!(block(at), blocks, "pixel {at}");
        }
    }

    #[test]
    fn all_processors_get_the_same_values() {
        let mut random = 1_u32;
        let mut byte = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        };
        for _ in 0..1000 {
            let pixels = std::array::from_fn(|_| [byte(), byte(), byte(), 255]);
            assert_eq!(converted(&pixels, converter()), converted(&pixels, rows), "{pixels:?}");
        }
    }
}
