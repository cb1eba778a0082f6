//! Gain maps: a displayable panorama, a map of how much brighter each texel really is, and the numbers that say so
//! (ISO 21496-1; the metadata are those of the library @monogrid/gainmap-js).

use serde::Deserialize;

use super::EnvironmentMap;
use crate::SceneError;

/// Largest radiance that is kept: the largest half float.
const MAX_RADIANCE: f32 = 65_504.0;
/// Longest side of an image that is read.
const MAX_SIDE: u32 = 16_384;

/// Metadata of a gain map; lists are per channel, R, G, B.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GainMap {
    /// Exponent of the stored map.
    pub gamma: [f32; 3],
    /// log2 of the display boost at which the map starts to apply.
    pub hdr_capacity_min: f32,
    /// log2 of the display boost at which it applies fully.
    pub hdr_capacity_max: f32,
    /// Added to the displayable picture before the gain.
    pub offset_sdr: [f32; 3],
    /// Subtracted after it.
    pub offset_hdr: [f32; 3],
    /// log2 of the smallest gain.
    pub gain_map_min: [f32; 3],
    /// log2 of the largest gain.
    pub gain_map_max: [f32; 3],
}

/// Puts a panorama together from its three parts (WebP, WebP, JSON), the gain fully applied.
/// Errors: a part that cannot be read, or images of different sizes.
pub fn gain_map(sdr: &[u8], gain: &[u8], metadata: &[u8]) -> Result<EnvironmentMap, SceneError> {
    let fault = |problem: String| SceneError::Environment { problem };
    let numbers: GainMap =
        serde_json::from_slice(metadata).map_err(|e| fault(format!("the metadata are not a gain map's: {e}")))?;
    let read = |what: &str, bytes: &[u8]| {
        let mut reader = image::ImageReader::with_format(std::io::Cursor::new(bytes), image::ImageFormat::WebP);
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        reader.limits(limits);
        reader.decode().map(|i| i.into_rgb8()).map_err(|e| fault(format!("the {what} image: {e}")))
    };
    let (sdr, gain) = (read("sdr", sdr)?, read("gainmap", gain)?);
    if sdr.dimensions() != gain.dimensions() {
        return Err(fault("the two images differ in size".to_owned()));
    }
    let (width, height) = sdr.dimensions();
    if width < 2 {
        return Err(fault("the images are too small".to_owned()));
    }
    let pixels = sdr.pixels().zip(gain.pixels()).map(|(s, g)| std::array::from_fn(|c| numbers.apply(c, s.0[c], g.0[c])));
    Ok(EnvironmentMap { width, height, pixels: pixels.collect() }.bounded())
}

impl GainMap {
    /// Radiance of one channel.
    fn apply(&self, c: usize, sdr: u8, gain: u8) -> f32 {
        let recovery = (f32::from(gain) / 255.0).powf(1.0 / self.gamma[c].max(1e-6));
        let boost = self.gain_map_min[c] * (1.0 - recovery) + self.gain_map_max[c] * recovery;
        let linear = linear_from_srgb(f32::from(sdr) / 255.0);
        ((linear + self.offset_sdr[c]) * boost.exp2() - self.offset_hdr[c]).clamp(0.0, MAX_RADIANCE)
    }
}

/// IEC 61966-2-1, decoding.
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_two_to_the_boost() {
        let numbers = GainMap {
            gamma: [1.0; 3],
            hdr_capacity_min: 0.0,
            hdr_capacity_max: 4.0,
            offset_sdr: [0.0; 3],
            offset_hdr: [0.0; 3],
            gain_map_min: [0.0; 3],
            gain_map_max: [4.0; 3],
        };
        assert!((numbers.apply(0, 255, 255) - 16.0).abs() < 1e-4);
        assert!((numbers.apply(0, 255, 0) - 1.0).abs() < 1e-5);
        assert!(numbers.apply(0, 0, 255).abs() < 1e-6);
    }
}
