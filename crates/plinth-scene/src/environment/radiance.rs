//! Radiance `.hdr` files.

use std::io::Cursor;

use image::ImageDecoder;
use image::codecs::hdr::HdrDecoder;

use super::EnvironmentMap;
use crate::SceneError;

/// Longest side of a file that is read.
const MAX_SIDE: u32 = 16_384;

/// Reads a Radiance panorama.
/// Errors: a file that is not one, or larger than 16384 pixels on a side.
pub fn radiance_hdr(bytes: &[u8]) -> Result<EnvironmentMap, SceneError> {
    let fault = |problem: String| SceneError::Environment { problem };
    let decoder = HdrDecoder::new(Cursor::new(bytes)).map_err(|e| fault(e.to_string()))?;
    let (width, height) = decoder.dimensions();
    if width < 2 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
        return Err(fault(format!("a size of {width}×{height} is not between 2×1 and {MAX_SIDE}×{MAX_SIDE}")));
    }
    let picture = image::DynamicImage::from_decoder(decoder).map_err(|e| fault(e.to_string()))?.into_rgb32f();
    let pixels = picture.pixels().map(|p| p.0).collect();
    Ok(EnvironmentMap { width, height, pixels }.bounded())
}
