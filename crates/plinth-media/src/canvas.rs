//! The full image of a frame, composed from the pixels of its region and its backdrop.

use plinth_frame::{Backdrop, Frame, PixelFormat, Region, RgbaImage};

use crate::watermark::Watermark;

/// Opaque image with the four bytes R, G, B, 255 for each pixel. Row 0 is at the top.
pub(crate) struct Canvas {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
    /// Region and backdrop of the frame that was drawn last. If the next frame has the same region and backdrop, only
    /// the pixels of the region are drawn again.
    around: Option<(Region, Backdrop)>,
}

impl Canvas {
    /// Creates a black image.
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self::from_pixels(width, height, vec![0; width as usize * height as usize * 4])
    }

    /// Creates an image from the four bytes R, G, B, 255 for each pixel.
    pub(crate) fn from_pixels(width: u32, height: u32, pixels: Vec<u8>) -> Self {
        Self { width, height, pixels, around: None }
    }

    /// Returns a reference to the image in the form that image resampling needs.
    pub(crate) fn image(&self) -> RgbaImage<'_> {
        RgbaImage { width: self.width, height: self.height, pixels: &self.pixels }
    }

    /// Draws a frame: the pixels of its region and, around the region, its backdrop. If the backdrop is transparent,
    /// pixels with straight alpha are composited over `background` in display space (without decoding sRGB). `mark` is
    /// drawn over the whole image, and must be the same for all frames.
    pub(crate) fn put(&mut self, frame: &Frame, background: &Backdrop, mark: Option<&Watermark>) {
        let region = frame.region;
        let backdrop = match &frame.backdrop {
            Backdrop::Transparent => background,
            opaque => opaque,
        };
        let around = Some((region, backdrop.clone()));
        if self.around != around {
            self.fill(backdrop);
            self.around = around;
            if let Some(mark) = mark {
                mark.mark_run(0, 0, self.pixels.as_chunks_mut::<4>().0);
            }
        }
        let pixel = frame.format.bytes_per_pixel();
        let row_bytes = region.width as usize * pixel;
        let opaque = frame.backdrop != Backdrop::Transparent;
        for (y, row) in frame.pixels.chunks_exact(row_bytes.max(1)).enumerate() {
            let first = (region.y as usize + y) * self.width as usize + region.x as usize;
            let target = &mut self.pixels[first * 4..(first + region.width as usize) * 4];
            match frame.format {
                PixelFormat::Rgba8 if opaque => target.copy_from_slice(row),
                PixelFormat::Rgba8 => {
                    for (x, (to, from)) in target.chunks_exact_mut(4).zip(row.chunks_exact(4)).enumerate() {
                        let read = |i: usize| u32::from(from[i]) * 257;
                        compose(to, [read(0), read(1), read(2), read(3)], color_at(background, first + x));
                    }
                }
                PixelFormat::Rgba16 => {
                    for (x, (to, from)) in target.chunks_exact_mut(4).zip(row.chunks_exact(8)).enumerate() {
                        let read = |i: usize| u32::from(u16::from_ne_bytes([from[2 * i], from[2 * i + 1]]));
                        compose(to, [read(0), read(1), read(2), read(3)], color_at(background, first + x));
                    }
                }
            }
            if let Some(mark) = mark {
                mark.mark_run(region.x as usize, region.y as usize + y, target.as_chunks_mut::<4>().0);
            }
        }
    }

    fn fill(&mut self, backdrop: &Backdrop) {
        match backdrop {
            Backdrop::Picture(pixels) => self.pixels.copy_from_slice(pixels),
            plain => {
                let [r, g, b] = color_at(plain, 0);
                self.pixels.as_chunks_mut::<4>().0.fill([r, g, b, 255]);
            }
        }
    }
}

/// Returns the colour of a backdrop at a pixel; black for [`Backdrop::Transparent`].
fn color_at(backdrop: &Backdrop, pixel: usize) -> [u8; 3] {
    match backdrop {
        Backdrop::Solid(color) => *color,
        Backdrop::Picture(pixels) => [0, 1, 2].map(|c| pixels[pixel * 4 + c]),
        Backdrop::Transparent => [0; 3],
    }
}

/// Composites a colour with 16-bit straight alpha over an opaque colour.
fn compose(to: &mut [u8], from: [u32; 4], background: [u8; 3]) {
    let alpha = u64::from(from[3]);
    for c in 0..3 {
        let below = u64::from(background[c]) * 257;
        let mixed = (u64::from(from[c]) * alpha + below * (65_535 - alpha) + 32_767) / 65_535;
        to[c] = ((mixed + 128) / 257).min(255) as u8;
    }
    to[3] = 255;
}
