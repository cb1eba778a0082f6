//! The full image of a frame, composed from the pixels of its region and its backdrop.

use plinth_frame::{Backdrop, Frame, PixelFormat, Region, RgbaImage};
use rayon::prelude::*;

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
        let row_bytes = region.width as usize * frame.format.bytes_per_pixel();
        let opaque = frame.backdrop != Backdrop::Transparent;
        let width = self.width as usize;
        let rows = self.pixels.par_chunks_exact_mut(width * 4).skip(region.y as usize);
        rows.zip(frame.pixels.par_chunks_exact(row_bytes.max(1))).enumerate().for_each(|(row, (target, source))| {
            let [x, y] = [region.x as usize, region.y as usize + row];
            let target = target[x * 4..(x + region.width as usize) * 4].as_chunks_mut::<4>().0;
            let below = |i: usize| color_at(background, y * width + x + i);
            match frame.format {
                PixelFormat::Rgba8 if opaque => target.as_flattened_mut().copy_from_slice(source),
                PixelFormat::Rgba8 => {
                    for (i, (to, from)) in target.iter_mut().zip(source.as_chunks::<4>().0).enumerate() {
                        let [r, g, b, a] = *from;
                        let words = [u32::from(r) * 257, u32::from(g) * 257, u32::from(b) * 257, u32::from(a) * 257];
                        *to = compose(words, below(i));
                    }
                }
                PixelFormat::Rgba16 => {
                    for (i, (to, from)) in target.iter_mut().zip(source.as_chunks::<8>().0).enumerate() {
                        let [r, g, b, a]: [u16; 4] = bytemuck::cast(*from);
                        *to = compose([r.into(), g.into(), b.into(), a.into()], below(i));
                    }
                }
            }
            if let Some(mark) = mark {
                mark.mark_run(x, y, target);
            }
        });
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
fn compose([r, g, b, alpha]: [u32; 4], [red, green, blue]: [u8; 3]) -> [u8; 4] {
    if alpha == 0 {
        return [red, green, blue, 255];
    }
    let over = |color: u32, below: u8| {
        // The sum is at most 65 535² + 32 767, so it does not overflow.
        let mixed = (color * alpha + u32::from(below) * 257 * (65_535 - alpha) + 32_767) / 65_535;
        ((mixed + 128) / 257) as u8
    };
    [over(r, red), over(g, green), over(b, blue), 255]
}
