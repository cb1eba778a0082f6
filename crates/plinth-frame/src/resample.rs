//! Scaling of RGBA images.
//!
//! The library `fast_image_resize` is generic: each crate that calls it compiles its own copy, which takes half a
//! minute. Therefore only this crate calls it.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

/// RGBA image with 8 bits per channel.
/// Shape: width × height × 4, row 0 at the top.
#[derive(Clone, Copy, Debug)]
pub struct RgbaImage<'a> {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Bytes in the order R, G, B, A.
    pub pixels: &'a [u8],
}

/// A rectangle of an image, in pixels. The edges of the rectangle need not coincide with pixel borders.
#[derive(Clone, Copy, Debug)]
pub struct Crop {
    /// Distance from the left edge of the image.
    pub left: f64,
    /// Distance from the top edge of the image.
    pub top: f64,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

/// The number of bytes of an image does not match its size, or a rectangle is not inside its image.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ResampleError(String);

/// Scales images, and reuses its working memory for later images.
#[derive(Debug, Default)]
pub struct Resampler {
    resizer: Resizer,
}

impl Resampler {
    /// Downscales an image by area averaging. Alpha is averaged like the colour channels, and does not weight the
    /// colours.
    pub fn average(&mut self, source: RgbaImage<'_>, width: u32, height: u32) -> Result<Vec<u8>, ResampleError> {
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Box)).use_alpha(false);
        self.resize(source, width, height, &options)
    }

    /// Scales a rectangle of an image with a Catmull-Rom filter. The colour of each pixel is weighted by its alpha.
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
        // `from_buffer` with a pixel type compiles the code of this type only. The untyped API compiles the code of all
        // pixel types, which takes a minute.
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
    fn averaging_weighs_all_pixels_alike() {
        let pixels: Vec<u8> = [[0, 10, 20, 255], [100, 30, 40, 255], [200, 50, 60, 0], [100, 70, 80, 0]].concat();
        let image = RgbaImage { width: 2, height: 2, pixels: &pixels };
        assert_eq!(Resampler::default().average(image, 1, 1).unwrap(), [100, 40, 50, 128]);
    }

    #[test]
    fn the_colour_of_transparent_pixels_has_no_effect_on_scaled_images() {
        let pixels: Vec<u8> = [[250, 0, 0, 0], [0, 0, 250, 255], [250, 0, 0, 0], [0, 0, 250, 255]].concat();
        let crop = Crop { left: 0.5, top: 0.0, width: 1.0, height: 2.0 };
        let scaled = Resampler::default().catmull_rom(RgbaImage { width: 2, height: 2, pixels: &pixels }, crop, 1, 1);
        let scaled = scaled.unwrap();
        // The resizer multiplies colours by alpha and later divides them by alpha. Both steps round, so the result may
        // be off by one.
        assert!(scaled[0] == 0 && scaled[2].abs_diff(250) <= 1, "{scaled:?}");
    }

    #[test]
    fn an_image_with_too_few_bytes_is_an_error() {
        let image = RgbaImage { width: 2, height: 2, pixels: &[0; 15] };
        assert!(Resampler::default().average(image, 1, 1).is_err());
    }
}
