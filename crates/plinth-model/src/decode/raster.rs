//! Decoded images that have as many channels as in the file. To save memory, they are downscaled before they are
//! converted to RGBA.

use image::DynamicImage;

use crate::model::Image;

/// An image with 8 bits per channel. It has 1 channel (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA). Row 0 is at the
/// top.
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: usize,
    pub(crate) bytes: Vec<u8>,
}

impl From<DynamicImage> for Raster {
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
        Self { width, height, channels, bytes }
    }
}

impl Raster {
    /// Halves both sides until neither is longer than `max_side` pixels, then converts the image to RGBA.
    pub(crate) fn into_image(mut self, max_side: u32) -> Image {
        let (source_width, source_height) = (self.width, self.height);
        while self.width.max(self.height) > max_side.max(1) {
            self = self.halved();
        }
        let pixels = match self.channels {
            4 => self.bytes,
            3 => self.bytes.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect(),
            2 => self.bytes.as_chunks::<2>().0.iter().flat_map(|[g, a]| [*g, *g, *g, *a]).collect(),
            _ => self.bytes.iter().flat_map(|g| [*g, *g, *g, 255]).collect(),
        };
        Image { width: self.width, height: self.height, pixels, source_width, source_height }
    }

    /// Averages blocks of 2 × 2 pixels. The stored bytes are averaged without decoding sRGB. The error is not visible,
    /// because images that are halved are far larger than they are displayed.
    fn halved(&self) -> Self {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let (columns, channels) = (self.width as usize, self.channels);
        let mut bytes = Vec::with_capacity(width as usize * height as usize * channels);
        for y in 0..height {
            let [above, below] = [2 * y, 2 * y + 1].map(|row| row.min(self.height - 1) as usize * columns);
            for x in 0..width {
                let [left, right] = [2 * x, 2 * x + 1].map(|column| column.min(self.width - 1) as usize);
                let texels = [above + left, above + right, below + left, below + right];
                for c in 0..channels {
                    let sum: u32 = texels.iter().map(|t| u32::from(self.bytes[t * channels + c])).sum();
                    bytes.push(((sum + 2) / 4) as u8);
                }
            }
        }
        Self { width, height, channels, bytes }
    }
}
