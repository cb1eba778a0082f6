//! Reads Radiance HDR files (`.hdr`).

use std::io::Cursor;

use image::codecs::hdr::HdrDecoder;
use image::{ImageDecoder, Rgb32FImage};

use super::map::{EnvironmentMap, check_size};
use crate::SceneError;

/// Reads a panorama from a Radiance HDR file.
/// Errors: if the file has another format, or the panorama is larger than 8192 × 4096 pixels.
pub fn radiance_hdr(bytes: &[u8]) -> Result<EnvironmentMap, SceneError> {
    let picture = picture(bytes)?;
    Ok(EnvironmentMap::gathered(picture.width(), picture.height(), |x, y| picture.get_pixel(x, y).0))
}

/// Reads the texels of a Radiance HDR file.
/// Errors: see [`radiance_hdr`].
pub(super) fn picture(bytes: &[u8]) -> Result<Rgb32FImage, SceneError> {
    let fault = |problem: String| SceneError::Environment { problem };
    let decoder = HdrDecoder::new(Cursor::new(bytes)).map_err(|e| fault(e.to_string()))?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    // A run-length encoded scanline takes at least two bytes per channel and 127 pixels. A shorter file is truncated.
    // It is rejected here, before memory is allocated for its pixels.
    let least = u64::from(height) * (u64::from(width) * 4 * 2 / 127);
    if (bytes.len() as u64) < least {
        return Err(fault(format!("{} bytes are too few for {width}×{height} pixels", bytes.len())));
    }
    Ok(image::DynamicImage::from_decoder(decoder).map_err(|e| fault(e.to_string()))?.into_rgb32f())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with uncompressed pixels. Each pixel has three mantissas and an exponent.
    fn hdr(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
        let mut out = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n").into_bytes();
        out.extend((0..width * height).flat_map(|i| pixel(i % width, i / width)));
        out
    }

    #[test]
    fn pixels_keep_their_position_and_brightness() {
        let bytes = hdr(4, 2, |x, y| if (x, y) == (3, 1) { [128, 64, 0, 139] } else { [128, 128, 128, 129] });
        let map = radiance_hdr(&bytes).unwrap();
        assert_eq!((map.width, map.height), (4, 2));
        let [r, g, b] = map.pixels[7];
        assert!((r / 1024.0 - 1.0).abs() < 0.01 && (g / 512.0 - 1.0).abs() < 0.02 && b < 8.0, "{r} {g} {b}");
        assert!((map.pixels[0][0] - 1.0).abs() < 0.01);
    }

    #[test]
    fn damaged_files_are_rejected() {
        assert!(radiance_hdr(b"no panorama").is_err());
        assert!(radiance_hdr(&[]).is_err());
        let cut = hdr(64, 64, |_, _| [1, 2, 3, 4]);
        assert!(radiance_hdr(&cut[..cut.len() / 2]).is_err());
        let huge = hdr(1, 1, |_, _| [0; 4]);
        let huge = String::from_utf8_lossy(&huge).replace("-Y 1 +X 1", "-Y 4000 +X 8000");
        assert!(radiance_hdr(huge.as_bytes()).unwrap_err().to_string().contains("too few"));
        let wide = String::from_utf8_lossy(&hdr(1, 1, |_, _| [0; 4])).replace("-Y 1 +X 1", "-Y 2 +X 90000");
        assert!(radiance_hdr(wide.as_bytes()).unwrap_err().to_string().contains("90000×2"));
    }
}
