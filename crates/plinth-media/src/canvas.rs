//! The whole picture, put together from the part that a frame carries.

use plinth_frame::{Backdrop, Frame, PixelFormat, Region};

use crate::watermark::Watermark;

/// An opaque picture: R, G, B, 255 bytes, row 0 at the top.
pub(crate) struct Canvas {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
    /// What was put here last: where the next frame has the same, its region covers all that changes.
    around: Option<(Region, [u8; 3])>,
}

impl Canvas {
    /// An empty picture.
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self::from_pixels(width, height, vec![0; width as usize * height as usize * 4])
    }

    /// A finished picture.
    pub(crate) fn from_pixels(width: u32, height: u32, pixels: Vec<u8>) -> Self {
        Self { width, height, pixels, around: None }
    }

    /// Puts a frame's region in its place and its backdrop around it; straight alpha is composed over `background` in
    /// display space. All of it is under `mark`, which is the same for all frames.
    pub(crate) fn put(&mut self, frame: &Frame, background: [u8; 3], mark: Option<&Watermark>) {
        let region = frame.region;
        let backdrop = match frame.backdrop {
            Backdrop::Solid(color) => color,
            Backdrop::Transparent => background,
        };
        if self.around.replace((region, backdrop)) != Some((region, backdrop)) {
            let [r, g, b] = backdrop;
            let pixels = self.pixels.as_chunks_mut::<4>().0;
            pixels.fill([r, g, b, 255]);
            if let Some(mark) = mark {
                mark.mark_run(0, 0, pixels);
            }
        }
        let pixel = frame.format.bytes_per_pixel();
        let row_bytes = region.width as usize * pixel;
        for (y, row) in frame.pixels.chunks_exact(row_bytes.max(1)).enumerate() {
            let at = ((region.y as usize + y) * self.width as usize + region.x as usize) * 4;
            let target = &mut self.pixels[at..at + region.width as usize * 4];
            match (frame.format, frame.backdrop) {
                (PixelFormat::Rgba8, Backdrop::Solid(_)) => target.copy_from_slice(row),
                (PixelFormat::Rgba8, Backdrop::Transparent) => {
                    for (to, from) in target.chunks_exact_mut(4).zip(row.chunks_exact(4)) {
                        let read = |i: usize| u32::from(from[i]) * 257;
                        compose(to, [read(0), read(1), read(2), read(3)], background);
                    }
                }
                (PixelFormat::Rgba16, _) => {
                    for (to, from) in target.chunks_exact_mut(4).zip(row.chunks_exact(8)) {
                        let read = |i: usize| u32::from(u16::from_ne_bytes([from[2 * i], from[2 * i + 1]]));
                        compose(to, [read(0), read(1), read(2), read(3)], background);
                    }
                }
            }
            if let Some(mark) = mark {
                mark.mark_run(region.x as usize, region.y as usize + y, target.as_chunks_mut::<4>().0);
            }
        }
    }
}

/// 16-bit straight alpha over an opaque colour.
fn compose(to: &mut [u8], from: [u32; 4], background: [u8; 3]) {
    let alpha = u64::from(from[3]);
    for c in 0..3 {
        let below = u64::from(background[c]) * 257;
        let mixed = (u64::from(from[c]) * alpha + below * (65_535 - alpha) + 32_767) / 65_535;
        to[c] = ((mixed + 128) / 257).min(255) as u8;
    }
    to[3] = 255;
}
