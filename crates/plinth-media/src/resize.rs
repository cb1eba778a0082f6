//! Downscales images.

use plinth_frame::Resampler;

use crate::MediaError;
use crate::canvas::Canvas;

/// Downscales images from one size to another by area averaging.
pub(crate) struct Reducer {
    resampler: Resampler,
    width: u32,
    height: u32,
}

impl Reducer {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self { resampler: Resampler::default(), width, height }
    }

    pub(crate) fn reduce(&mut self, canvas: &Canvas) -> Result<Canvas, MediaError> {
        let pixels = self
            .resampler
            .average(canvas.image(), self.width, self.height)
            .map_err(|e| MediaError::Frames { problem: format!("a frame cannot be scaled: {e}") })?;
        Ok(Canvas::from_pixels(self.width, self.height, pixels))
    }
}

/// Scales a size down so that its longer side is at most `limit`. Both sides of the result are even numbers.
pub(crate) fn within(width: u32, height: u32, limit: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= limit {
        return (width, height);
    }
    let scaled = |side: u32| even((u64::from(side) * u64::from(limit) + u64::from(long) / 2) / u64::from(long));
    (scaled(width), scaled(height))
}

/// Divides both sides by 4 and rounds them to even numbers.
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
