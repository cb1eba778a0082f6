//! Decodes gain maps. A gain map consists of a panorama with standard dynamic range (SDR), an image that contains a
//! gain for each texel of the panorama, and metadata (ISO 21496-1). The metadata has the format of the library
//! @monogrid/gainmap-js.

use serde::{Deserialize, Serialize};

use super::map::{EnvironmentMap, MAX_FILE_HEIGHT, MAX_FILE_WIDTH};
use crate::SceneError;

/// Maximum radiance: the largest half-precision float. Higher values are clamped.
pub(super) const MAX_RADIANCE: f32 = 65_504.0;
/// Metadata of a gain map. Arrays have one value per channel (R, G, B).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GainMap {
    /// Exponent of the encoding of the gain image, as in gamma correction.
    pub gamma: [f32; 3],
    /// Binary logarithm of the display boost above which the gain map is applied.
    pub hdr_capacity_min: f32,
    /// Binary logarithm of the display boost at which the gain map is applied fully.
    pub hdr_capacity_max: f32,
    /// Offset that is added to the linear SDR value before the gain is applied.
    pub offset_sdr: [f32; 3],
    /// Offset that is subtracted after the gain is applied.
    pub offset_hdr: [f32; 3],
    /// Binary logarithm of the smallest gain.
    pub gain_map_min: [f32; 3],
    /// Binary logarithm of the largest gain.
    pub gain_map_max: [f32; 3],
}

/// Decodes a panorama from an SDR image (WebP), a gain image (WebP) and metadata (JSON). The gain is applied fully.
/// Errors: if the images or the metadata cannot be read, or the images differ in size.
pub fn gain_map(sdr: &[u8], gain: &[u8], metadata: &[u8]) -> Result<EnvironmentMap, SceneError> {
    let fault = |problem: String| SceneError::Environment { problem };
    let numbers: GainMap =
        serde_json::from_slice(metadata).map_err(|e| fault(format!("the metadata are not valid: {e}")))?;
    let read = |what: &str, bytes: &[u8]| {
        let mut reader = image::ImageReader::with_format(std::io::Cursor::new(bytes), image::ImageFormat::WebP);
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(MAX_FILE_WIDTH);
        limits.max_image_height = Some(MAX_FILE_HEIGHT);
        reader.limits(limits);
        reader
            .decode()
            .map(image::DynamicImage::into_rgb8)
            .map_err(|e| fault(format!("the {what} image cannot be decoded: {e}")))
    };
    if !numbers.is_finite() {
        return Err(fault("the metadata contain a number that is not finite, or a gamma of 0 or less".to_owned()));
    }
    let (sdr, gain) = (read("sdr", sdr)?, read("gainmap", gain)?);
    if sdr.dimensions() != gain.dimensions() {
        let ((w, h), (w2, h2)) = (sdr.dimensions(), gain.dimensions());
        return Err(fault(format!(
            "the sdr image is {w}×{h}, the gainmap image {w2}×{h2}; they must have the same size"
        )));
    }
    let (width, height) = sdr.dimensions();
    if width < 2 {
        return Err(fault("the images are less than 2 pixels wide".to_owned()));
    }
    let tables = [0, 1, 2].map(|c| numbers.tables(c));
    let (sdr, gain) = (sdr.into_raw(), gain.into_raw());
    Ok(EnvironmentMap::gathered(width, height, |x, y| {
        let at = (y as usize * width as usize + x as usize) * 3;
        std::array::from_fn(|c| tables[c].radiance(sdr[at + c], gain[at + c], numbers.offset_hdr[c]))
    }))
}

impl GainMap {
    fn is_finite(&self) -> bool {
        let lists = [self.gamma, self.offset_sdr, self.offset_hdr, self.gain_map_min, self.gain_map_max];
        lists.as_flattened().iter().all(|x| x.is_finite()) && self.gamma.iter().all(|g| *g > 0.0)
    }

    /// Returns the lookup tables that decode channel `c` of the SDR image and of the gain image.
    pub(super) fn tables(&self, c: usize) -> Tables {
        let byte = |i: usize| i as f32 / 255.0;
        Tables {
            displayed: std::array::from_fn(|i| linear_from_srgb(byte(i)) + self.offset_sdr[c]),
            gain: std::array::from_fn(|i| {
                let recovery = byte(i).powf(self.gamma[c].recip());
                (self.gain_map_min[c] * (1.0 - recovery) + self.gain_map_max[c] * recovery).exp2()
            }),
        }
    }
}

/// Lookup tables of one channel, with an entry for each value of a byte. `displayed` contains linear SDR values plus
/// `offset_sdr`, and `gain` contains the factors by which they are multiplied.
pub(super) struct Tables {
    pub(super) displayed: [f32; 256],
    gain: [f32; 256],
}

impl Tables {
    fn radiance(&self, sdr: u8, gain: u8, offset_hdr: f32) -> f32 {
        (self.displayed[usize::from(sdr)] * self.gain[usize::from(gain)] - offset_hdr).clamp(0.0, MAX_RADIANCE)
    }
}

/// Decodes an sRGB-encoded value (IEC 61966-2-1).
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// Encodes a linear value as sRGB (IEC 61966-2-1).
pub(crate) fn srgb_from_linear(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const NUMBERS: &str = r#"{"gamma":[1,1,2],"hdrCapacityMin":0,"hdrCapacityMax":4,"offsetSdr":[0.015625,0,0],
        "offsetHdr":[0.015625,0,0],"gainMapMin":[0,-2,0],"gainMapMax":[4,4,4]}"#;

    fn webp(width: u32, height: u32, color: [u8; 3]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let picture = image::RgbImage::from_pixel(width, height, image::Rgb(color));
        picture.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::WebP).unwrap();
        bytes
    }

    #[test]
    fn the_gain_is_two_to_the_power_of_the_map() {
        // SDR bytes: white, half and dark grey. Gain bytes: the full gain, no gain, and half the maximum on the
        // logarithmic scale (√0.25 at gamma 2).
        let map = gain_map(&webp(4, 2, [255, 188, 99]), &webp(4, 2, [255, 0, 64]), NUMBERS.as_bytes()).unwrap();
        assert_eq!((map.width, map.height), (4, 2));
        let [r, g, b] = map.pixels[5];
        assert!((r - (1.015_625 * 16.0 - 0.015_625)).abs() < 1e-3, "{r}");
        assert!((g - 0.502_9 * 0.25).abs() < 1e-3, "{g}");
        assert!((b - 0.124_8 * 4.0).abs() < 5e-3, "{b}");
    }

    #[test]
    fn radiance_is_clamped_to_half_floats() {
        let far = NUMBERS.replace("\"gainMapMax\":[4,4,4]", "\"gainMapMax\":[100,4,1e9]");
        let map = gain_map(&webp(4, 2, [255; 3]), &webp(4, 2, [255; 3]), far.as_bytes()).unwrap();
        assert!((map.pixels[0][0] - 65_504.0).abs() < 1.0 && (map.pixels[0][2] - 65_504.0).abs() < 1.0);
    }

    #[test]
    fn errors_name_the_part_and_the_cause() {
        let told = |sdr: &[u8], gain: &[u8], json: &str| gain_map(sdr, gain, json.as_bytes()).unwrap_err().to_string();
        let good = webp(4, 2, [9; 3]);
        assert!(told(&good, &webp(2, 2, [9; 3]), NUMBERS).contains("4×2, the gainmap image 2×2"));
        assert!(told(b"RIFF", &good, NUMBERS).contains("the sdr image"));
        assert!(told(&good, &good, "{}").contains("metadata"));
        assert!(told(&good, &good, &NUMBERS.replace("[1,1,2]", "[1,0,2]")).contains("gamma"));
    }
}
