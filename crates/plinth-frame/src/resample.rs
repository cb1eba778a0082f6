//! Scaling of RGBA images.
//!
//! The library's code is generic and large: each crate that calls it compiles a copy of its own, which takes half a minute. It
//! is called here only.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

/// RGBA image with 8 bits a channel.
/// Shape: width × height × 4, row 0 at the top.
#[derive(Clone, Copy, Debug)]
pub struct RgbaImage<'a> {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// R, G, B, A bytes.
    pub pixels: &'a [u8],
}

/// Rectangle of an image, in its pixels. Its edges may lie inside of pixels.
#[derive(Clone, Copy, Debug)]
pub struct Crop {
    /// Distance from the left edge.
    pub left: f64,
    /// Distance from the top edge.
    pub top: f64,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

/// An image whose bytes are not as many as its size asks for, or a rectangle that is not inside of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ResampleError(String);

/// Scales images. Keeps its working memory from one image to the next.
#[derive(Debug, Default)]
pub struct Resampler {
    resizer: Resizer,
}

impl Resampler {
    /// Downscales by area averaging, each channel by itself.
    pub fn average(&mut self, source: RgbaImage<'_>, width: u32, height: u32) -> Result<Vec<u8>, ResampleError> {
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Box)).use_alpha(false);
        self.resize(source, width, height, &options)
    }

    /// Scales a rectangle of the image by a Catmull-Rom filter. Colours count by their alpha.
    pub fn catmull_rom(
        &mut self,
        source: RgbaImage<'_>,
        crop: Crop,
        width: u32,
        height: u32,
    ) -> Result<Vec<u8>, ResampleError> {
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom)).crop(
            crop.left,
            crop.top,
            crop.width,
            crop.height,
        );
        self.resize(source, width, height, &options)
    }

    fn resize(
        &mut self,
        source: RgbaImage<'_>,
        width: u32,
        height: u32,
        options: &ResizeOptions,
    ) -> Result<Vec<u8>, ResampleError> {
        let mut pixels = vec![0; width as usize * height as usize * 4];
        // The typed call compiles one pixel type only; the untyped one compiles all, which takes a minute.
        let from = TypedImageRef::<U8x4>::from_buffer(source.width, source.height, source.pixels)
            .map_err(|e| ResampleError(e.to_string()))?;
        let mut to =
            TypedImage::<U8x4>::from_buffer(width, height, &mut pixels).map_err(|e| ResampleError(e.to_string()))?;
        self.resizer.resize_typed(&from, &mut to, options).map_err(|e| ResampleError(e.to_string()))?;
        Ok(pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_take_each_pixel_once() {
        let pixels: Vec<u8> = [[0, 10, 20, 255], [100, 30, 40, 255], [200, 50, 60, 0], [100, 70, 80, 0]].concat();
        let image = RgbaImage { width: 2, height: 2, pixels: &pixels };
        assert_eq!(Resampler::default().average(image, 1, 1).unwrap(), [100, 40, 50, 128]);
    }

    #[test]
    fn transparent_pixels_lend_no_colour_to_scaled_ones() {
        let pixels: Vec<u8> = [[250, 0, 0, 0], [0, 0, 250, 255], [250, 0, 0, 0], [0, 0, 250, 255]].concat();
        let crop = Crop { left: 0.5, top: 0.0, width: 1.0, height: 2.0 };
        let scaled = Resampler::default().catmull_rom(RgbaImage { width: 2, height: 2, pixels: &pixels }, crop, 1, 1);
        let scaled = scaled.unwrap();
        assert_eq!((scaled[0], scaled[2]), (0, 250));
    }

    #[test]
    fn an_image_with_too_few_bytes_is_refused() {
        let image = RgbaImage { width: 2, height: 2, pixels: &[0; 15] };
        assert!(Resampler::default().average(image, 1, 1).is_err());
    }
}
