//! Converts RGB to planar 4:4:4 with alpha for ProRes: BT.709 in limited range (ITU-R BT.709-6, sections 3.2 to 3.4).

use plinth_frame::{Frame, PixelFormat, Region};
use rayon::prelude::*;

use crate::watermark::Watermark;

/// Share of red in luma.
pub(crate) const KR: f32 = 0.2126;
/// Share of blue in luma.
pub(crate) const KB: f32 = 0.0722;

/// Image in planar 4:4:4 with alpha. Each value is stored in the lower 10 bits of a little-endian 16-bit word. The
/// order of the planes is Y, U, V, A. Alpha is straight and uses the full range.
pub(crate) struct Yuva444p10 {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
    around: Option<Region>,
}

impl Yuva444p10 {
    /// Creates a transparent black image.
    pub(crate) fn new(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self { width, height, bytes: vec![0; width * height * 8], around: None }
    }

    /// Draws the pixels of a frame's region, and transparent black around the region. `mark` is drawn over the whole
    /// image, and must be the same for all frames.
    pub(crate) fn put(&mut self, frame: &Frame, mark: Option<&Watermark>) {
        let region = frame.region;
        if self.around.replace(region) != Some(region) {
            let whole = Region::whole(self.width as u32, self.height as u32);
            self.fill(whole, mark, |_, colors| colors.fill([0.0; 4]));
        }
        let row_bytes = region.width as usize * frame.format.bytes_per_pixel();
        self.fill(region, mark, |row, colors| {
            read_row(frame.format, &frame.pixels[row * row_bytes..(row + 1) * row_bytes], colors);
        });
    }

    /// Sets the pixels of a region. `read` writes the colours of a row of the region, whose number it gets.
    fn fill(&mut self, region: Region, mark: Option<&Watermark>, read: impl Fn(usize, &mut [[f32; 4]]) + Sync) {
        let stride = self.width * 2;
        let [first, top, width, height] = [region.x, region.y, region.width, region.height].map(|side| side as usize);
        let mut planes = self.bytes.chunks_exact_mut(stride * self.height);
        let mut rows = || {
            let plane = planes.next().unwrap_or_default();
            plane[top * stride..(top + height) * stride].par_chunks_exact_mut(stride)
        };
        let rows = (rows(), rows(), rows(), rows()).into_par_iter();
        let no_colors = || vec![[0.0; 4]; width];
        rows.enumerate().for_each_init(no_colors, |colors, (row, (luma, blue, red, alpha))| {
            read(row, colors);
            if let Some(mark) = mark {
                for (x, color) in colors.iter_mut().enumerate() {
                    *color = mark.marked(first + x, top + row, *color);
                }
            }
            let [luma, blue, red, alpha] =
                [luma, blue, red, alpha].map(|row| row[first * 2..(first + width) * 2].as_chunks_mut::<2>().0);
            let planes = luma.iter_mut().zip(blue).zip(red).zip(alpha);
            for ((((luma, blue), red), alpha), color) in planes.zip(colors) {
                let is_clear = color.iter().all(|value| value.to_bits() == 0);
                let [y, u, v, a] = if is_clear { CLEAR } else { yuva(*color) };
                (*luma, *blue, *red, *alpha) = (y.to_le_bytes(), u.to_le_bytes(), v.to_le_bytes(), a.to_le_bytes());
            }
        });
    }

    /// Returns the bytes of all planes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Converts pixels to floating-point R, G, B, A in 0..=1.
fn read_row(format: PixelFormat, bytes: &[u8], colors: &mut [[f32; 4]]) {
    let values = colors.as_flattened_mut().iter_mut();
    match format {
        PixelFormat::Rgba8 => {
            for (value, byte) in values.zip(bytes) {
                *value = f32::from(*byte) / 255.0;
            }
        }
        PixelFormat::Rgba16 => {
            for (value, word) in values.zip(bytes.as_chunks::<2>().0) {
                *value = f32::from(u16::from_ne_bytes(*word)) / 65_535.0;
            }
        }
    }
}

/// Transparent black as Y, U, V and A. Most pixels of many frames have this colour, so it is not computed for each of them.
const CLEAR: [u16; 4] = [64, 512, 512, 0];

/// Converts a colour to Y, U, V and A as 10-bit values.
fn yuva([r, g, b, a]: [f32; 4]) -> [u16; 4] {
    let y = KR * r + (1.0 - KR - KB) * g + KB * b;
    let u = 512.0 + 896.0 * (b - y) / (2.0 * (1.0 - KB));
    let v = 512.0 + 896.0 * (r - y) / (2.0 * (1.0 - KR));
    // Adding 0.5 rounds to the nearest integer, because the conversion to an integer truncates and clamps negative
    // values to 0. `f32::round` would be slower, because it is a function call for each value.
    let ten_bits = |value: f32| ((value + 0.5) as u16).min(1023);
    [ten_bits(64.0 + 876.0 * y), ten_bits(u), ten_bits(v), ten_bits(1023.0 * a)]
}
