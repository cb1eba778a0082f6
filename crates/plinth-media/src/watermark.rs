//! The watermark of free previews: the product's name, repeated in diagonal lines over the whole image.
//!
//! The letters are white with a dark outline, so that they are visible on any background. Each letter consists of line
//! segments. The colour of a pixel depends on its distance to the nearest segment. Therefore no font is needed, and the
//! watermark depends only on the size of the image.

use rayon::prelude::*;

/// Opacity of the letters and their outline, from 0 to 255.
const OPACITY: f32 = 0.28 * 255.0;
/// Height of the letters as a fraction of the shorter side of the image.
const LETTER_HEIGHT: f32 = 1.0 / 16.0;
/// Half the width of a stroke. The unit of this and of all following lengths is the height of a letter.
const STROKE: f32 = 0.085;
/// Width of the dark outline.
const EDGE: f32 = 0.08;
/// Space between two words in a line.
const WORD_GAP: f32 = 1.9;
/// Distance between the base lines of neighbouring lines.
const LINE_HEIGHT: f32 = 3.0;
/// Cosine and sine of the angle between the lines of text and the horizontal (30°).
const SLANT: [f32; 2] = [0.866_025_4, 0.5];
const WORD_WIDTH: f32 = 5.06;

/// Strokes of the word as line segments [x0, y0, x1, y1]. The base line is at y = 0, and letters are 1 unit high.
const STROKES: [[f32; 4]; 20] = [
    // P
    [0.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.35, 1.0],
    [0.35, 1.0, 0.48, 0.965],
    [0.48, 0.965, 0.575, 0.87],
    [0.575, 0.87, 0.61, 0.74],
    [0.61, 0.74, 0.575, 0.61],
    [0.575, 0.61, 0.48, 0.515],
    [0.48, 0.515, 0.35, 0.48],
    [0.35, 0.48, 0.0, 0.48],
    // L
    [0.99, 0.0, 0.99, 1.0],
    [0.99, 0.0, 1.54, 0.0],
    // I
    [1.92, 0.0, 1.92, 1.0],
    // N
    [2.30, 0.0, 2.30, 1.0],
    [2.30, 1.0, 2.95, 0.0],
    [2.95, 0.0, 2.95, 1.0],
    // T
    [3.33, 1.0, 4.03, 1.0],
    [3.68, 0.0, 3.68, 1.0],
    // H
    [4.41, 0.0, 4.41, 1.0],
    [5.06, 0.0, 5.06, 1.0],
    [4.41, 0.5, 5.06, 0.5],
];

/// Watermark for images of one size. It is computed once, and can then be drawn on many images.
#[derive(Clone, Debug)]
pub struct Watermark {
    width: usize,
    /// Grey level and opacity of each pixel, from 0 to 255. Row 0 is at the top.
    pixels: Vec<[u8; 2]>,
}

impl Watermark {
    /// Computes the watermark for images of `width` × `height` pixels.
    pub fn new(width: u32, height: u32) -> Self {
        let letter = (width.min(height) as f32 * LETTER_HEIGHT).max(1.0);
        let (width, height) = (width as usize, height as usize);
        let mut pixels = vec![[0; 2]; width * height];
        pixels.par_chunks_exact_mut(width.max(1)).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = mark([x as f32 + 0.5, y as f32 + 0.5], letter);
            }
        });
        Self { width, pixels }
    }

    /// Draws the watermark over an opaque image of the same size.
    pub fn mark_rgb(&self, pixels: &mut [[u8; 3]]) {
        for (to, mark) in pixels.iter_mut().zip(&self.pixels) {
            *to = to.map(|below| over(*mark, below));
        }
    }

    /// Draws the watermark over an image of the same size with straight alpha. The watermark is also visible on
    /// transparent pixels.
    pub fn mark_rgba(&self, pixels: &mut [[u8; 4]]) {
        for (to, mark) in pixels.iter_mut().zip(&self.pixels) {
            let marked = over_straight(*mark, to.map(|c| f32::from(c) / 255.0));
            *to = marked.map(|c| (c * 255.0).round() as u8);
        }
    }

    /// Draws the watermark over consecutive pixels of an opaque image. The first pixel is at column `x` of row `y`.
    pub(crate) fn mark_run(&self, x: usize, y: usize, run: &mut [[u8; 4]]) {
        let at = y * self.width + x;
        // Other pixels are skipped, because the opacity is 0 except on letters and their outline.
        for ([r, g, b, _], mark) in run.iter_mut().zip(&self.pixels[at..]).filter(|(_, mark)| mark[1] > 0) {
            for c in [r, g, b] {
                *c = over(*mark, *c);
            }
        }
    }

    /// Returns the pixel at (x, y) with the watermark over it. `below` is the pixel without watermark. Components are
    /// in 0..=1; alpha is straight.
    pub(crate) fn marked(&self, x: usize, y: usize, below: [f32; 4]) -> [f32; 4] {
        over_straight(self.pixels[y * self.width + x], below)
    }
}

/// Composites the watermark over one component of an opaque pixel.
fn over([level, opacity]: [u8; 2], below: u8) -> u8 {
    let [level, opacity, below] = [level, opacity, below].map(u16::from);
    // The sum is at most 255 × 255 + 127, so it does not overflow.
    ((level * opacity + below * (255 - opacity) + 127) / 255) as u8
}

/// Composites the watermark over a pixel with straight alpha (Porter and Duff 1984, the operator "over").
fn over_straight([level, opacity]: [u8; 2], [r, g, b, alpha]: [f32; 4]) -> [f32; 4] {
    if opacity == 0 {
        return [r, g, b, alpha];
    }
    let [level, opacity] = [level, opacity].map(|c| f32::from(c) / 255.0);
    let shown = alpha * (1.0 - opacity);
    let sum = opacity + shown;
    let [r, g, b] = [r, g, b].map(|c| (level * opacity + c * shown) / sum);
    [r, g, b, sum]
}

/// Returns the grey level and the opacity of the watermark at a point, given in pixels from the top left.
fn mark([x, y]: [f32; 2], letter: f32) -> [u8; 2] {
    let [cos, sin] = SLANT;
    // `along` is the coordinate along the base line of the slanted text, and `up` the coordinate perpendicular to it.
    let (along, up) = ((x * cos - y * sin) / letter, (-x * sin - y * cos) / letter);
    let line = (up / LINE_HEIGHT).floor();
    let up = up - line * LINE_HEIGHT - (LINE_HEIGHT - 1.0) / 2.0;
    let pitch = WORD_WIDTH + WORD_GAP;
    // Every second line is shifted by half the distance between words.
    let along = (along + 0.5 * pitch * line).rem_euclid(pitch) - WORD_GAP / 2.0;
    // Half a pixel is added, so that the edge of the outline is antialiased.
    let reach = STROKE + EDGE + 0.5 / letter;
    if up < -reach || up > 1.0 + reach || along < -reach || along > WORD_WIDTH + reach {
        return [0; 2];
    }
    let distance = STROKES.iter().map(|stroke| distance([along, up], *stroke)).fold(f32::MAX, f32::min);
    let covered = |half: f32| ((half - distance) * letter + 0.5).clamp(0.0, 1.0);
    let (inner, whole) = (covered(STROKE), covered(STROKE + EDGE));
    if whole <= 0.0 {
        return [0; 2];
    }
    [(255.0 * inner / whole).round() as u8, (OPACITY * whole).round() as u8]
}

/// Returns the distance between a point and a line segment.
fn distance([x, y]: [f32; 2], [from_x, from_y, to_x, to_y]: [f32; 4]) -> f32 {
    let (dx, dy) = (to_x - from_x, to_y - from_y);
    let (px, py) = (x - from_x, y - from_y);
    let t = ((px * dx + py * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
    let (ex, ey) = (px - t * dx, py - t * dy);
    (ex * ex + ey * ey).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divides an image with one grey level into 8 × 8 cells, and returns the largest difference that the watermark
    /// causes in each cell.
    fn contrast(level: u8, width: u32, height: u32) -> Vec<u8> {
        let mut pixels = vec![[level; 3]; (width * height) as usize];
        Watermark::new(width, height).mark_rgb(&mut pixels);
        let mut most = vec![0; 64];
        for (i, pixel) in pixels.iter().enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            let part = &mut most[(y * 8 / height * 8 + x * 8 / width) as usize];
            *part = pixel[0].abs_diff(level).max(*part);
        }
        most
    }

    #[test]
    fn the_watermark_is_visible_on_any_background() {
        for (width, height) in [(960, 540), (540, 540), (540, 960), (240, 136)] {
            for (level, least) in [(0, 50), (255, 50), (128, 25)] {
                // In small images, the outline is thinner than a pixel.
                let least = if height < 200 { least / 2 } else { least };
                let parts = contrast(level, width, height);
                let seen = parts.iter().filter(|most| **most >= least).count();
                // A word and the gap after it are together not much longer than the width of a cell.
                assert!(seen >= 56, "{width}×{height} on {level}: visible in {seen} of 64 parts");
            }
        }
    }

    #[test]
    fn the_watermark_scales_with_the_image() {
        let share = |width, height| {
            let mark = Watermark::new(width, height);
            mark.pixels.iter().filter(|[_, opacity]| *opacity > 0).count() as f32 / (width * height) as f32
        };
        assert!((share(960, 540) - share(3840, 2160)).abs() < 0.03);
        assert!((0.1..0.3).contains(&share(1920, 1080)), "{}", share(1920, 1080));
    }

    #[test]
    fn alpha_increases_by_the_opacity_of_the_watermark() {
        let mark = Watermark::new(320, 180);
        let mut nothing = vec![[0; 4]; 320 * 180];
        let mut opaque = vec![[10, 20, 30, 255]; 320 * 180];
        let mut rgb = vec![[10, 20, 30]; 320 * 180];
        mark.mark_rgba(&mut nothing);
        mark.mark_rgba(&mut opaque);
        mark.mark_rgb(&mut rgb);
        for (i, [level, opacity]) in mark.pixels.iter().enumerate() {
            let level = if *opacity == 0 { 0 } else { *level };
            assert_eq!(nothing[i], [level, level, level, *opacity]);
            assert_eq!(opaque[i][3], 255);
            assert!((0..3).all(|c| opaque[i][c].abs_diff(rgb[i][c]) <= 1));
        }
        let strongest = nothing.iter().map(|pixel| pixel[3]).max();
        assert!(strongest.is_some_and(|alpha| (51..=77).contains(&alpha)), "{strongest:?} of 255");
    }

    #[test]
    fn watermark_and_pixel_are_weighted_by_their_alpha() {
        let [r, _, _, a] = over_straight([255, 51], [0.5, 0.5, 0.5, 0.5]);
        assert!((a - 0.6).abs() < 1e-6);
        assert!((r - (0.2 + 0.5 * 0.4) / 0.6).abs() < 1e-6);
    }
}
