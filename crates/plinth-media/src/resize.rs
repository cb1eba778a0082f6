//! Downscaling of images.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use crate::MediaError;
use crate::canvas::Canvas;

/// Downscales images of one size to another by area averaging.
pub(crate) struct Reducer {
    resizer: Resizer,
    width: u32,
    height: u32,
}

impl Reducer {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self { resizer: Resizer::new(), width, height }
    }

    /// Returns the downscaled image.
    pub(crate) fn reduce(&mut self, canvas: &Canvas) -> Result<Canvas, MediaError> {
        let fault = |e: String| MediaError::Frames { problem: format!("a frame cannot be scaled: {e}") };
        // The typed call compiles one pixel type only; the untyped one compiles all, which takes a minute.
        let source = TypedImageRef::<U8x4>::from_buffer(canvas.width, canvas.height, &canvas.pixels)
            .map_err(|e| fault(e.to_string()))?;
        let mut smaller = Canvas::new(self.width, self.height);
        let mut target = TypedImage::<U8x4>::from_buffer(self.width, self.height, &mut smaller.pixels)
            .map_err(|e| fault(e.to_string()))?;
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Box)).use_alpha(false);
        self.resizer.resize_typed(&source, &mut target, &options).map_err(|e| fault(e.to_string()))?;
        Ok(smaller)
    }
}

/// Returns the size with the longer side at most `limit` and both sides even.
pub(crate) fn within(width: u32, height: u32, limit: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= limit {
        return (width, height);
    }
    let scaled = |side: u32| even((u64::from(side) * u64::from(limit) + u64::from(long) / 2) / u64::from(long));
    (scaled(width), scaled(height))
}

/// Returns a quarter of each side, rounded to even.
pub(crate) fn quarter(width: u32, height: u32) -> (u32, u32) {
    (even(u64::from(width.div_ceil(4))), even(u64::from(height.div_ceil(4))))
}

fn even(side: u64) -> u32 {
    (side.div_ceil(2) * 2).max(2) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_even_and_keep_the_aspect_ratio() {
        assert_eq!(within(3840, 2160, 1920), (1920, 1080));
        assert_eq!(within(2160, 3840, 1920), (1080, 1920));
        assert_eq!(within(960, 540, 1920), (960, 540));
        assert_eq!(within(1920, 1080, 480), (480, 270));
        assert_eq!(quarter(1920, 1080), (480, 270));
        assert_eq!(quarter(960, 540), (240, 136));
    }
}
