//! Decodes the most common JPEG images to RGBA without a copy that has three channels.

use std::borrow::Cow;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::raster::{Raster, scaled_down};
use crate::limits::Limits;

/// Decodes a JPEG image with the components Y, Cb and Cr to RGBA. The pixels are those of [`raster`], also for
/// damaged files.
///
/// Returns `None` for images that are left to [`raster`]: those with other components, those that take more than
/// `limits.decoded_bytes`, those with errors, so that each error has one message, and those with a side that is longer
/// than `max_side` pixels, because halving takes less time and memory with three channels.
///
/// [`raster`]: super::image::raster
pub(super) fn ycbcr_jpeg(bytes: &[u8], limits: Limits, max_side: u32) -> Option<Raster<'static>> {
    // Apart from the colours, these are the options of the crate `image`. They determine what is read of damaged files.
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_out_colorspace(ColorSpace::RGBA);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    let info = decoder.info()?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    // The decoder does not convert RGB to RGBA, and other components differently than to RGB.
    let is_ycbcr = decoder.input_colorspace() == Some(ColorSpace::YCbCr) && info.components == 3;
    let size = decoder.output_buffer_size()?;
    if !is_ycbcr || size as u64 > limits.decoded_bytes || scaled_down((width, height), max_side) != (width, height) {
        return None;
    }
    let mut rgba = vec![0_u8; size];
    decoder.decode_into(&mut rgba).ok()?;
    // The decoder writes whole rows. Those that are missing in a damaged file are left out, or all their bytes are 128.
    for row in rgba.chunks_exact_mut(4 * width as usize).filter(|row| row[3] != u8::MAX) {
        row.as_chunks_mut::<4>().0.iter_mut().for_each(|[_, _, _, alpha]| *alpha = u8::MAX);
    }
    Some(Raster { width, height, channels: 4, bytes: Cow::Owned(rgba) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a JPEG image of the seeds for fuzzing.
    fn seed(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../fuzz/seeds/image/{name}.jpg", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn images_with_luma_and_chroma_become_rgba_at_once() {
        let is_decoded = |name| ycbcr_jpeg(&seed(name), Limits::default(), 4096).is_some();
        for name in ["baseline422_odd", "baseline444_restart", "exif_orientation", "progressive420"] {
            assert!(is_decoded(name), "{name}");
        }
        for name in ["cmyk", "grey_progressive", "rgb_components", "ycck"] {
            assert!(!is_decoded(name), "{name}");
        }
    }

    #[test]
    fn images_that_are_halved_or_exceed_the_limit_keep_three_channels() {
        let jpeg = seed("progressive420");
        let is_decoded = |decoded_bytes, max_side| {
            ycbcr_jpeg(&jpeg, Limits { decoded_bytes, ..Limits::default() }, max_side).is_some()
        };
        let size = 24 * 24 * 4;
        assert!(is_decoded(size, 24) && !is_decoded(size - 1, 24) && !is_decoded(size, 23));
    }
}
