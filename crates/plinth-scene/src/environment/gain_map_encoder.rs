//! Encodes panoramas as gain maps, which the module `gain_map` and other readers of ISO 21496-1 metadata can decode.
//!
//! The formula of the gain is from ISO 21496-1 and Adobe, "Gain Map Specification 1.0", 2023. The SDR image is
//! tone-mapped per channel with equation 3 of Reinhard et al., "Photographic Tone Reproduction for Digital
//! Images" (2002). This equation never brightens, so no gain is less than 1, and black stays black.

use std::io::Cursor;

use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, ImageEncoder as _};
use rayon::prelude::*;

use super::gain_map::{GainMap, MAX_RADIANCE, Tables, gain_map};
use super::map::EnvironmentMap;
use crate::GainMapError;

/// Minimum value by which the error of a radiance is divided to get its relative error. Smaller radiances look black.
pub const DARKEST_RADIANCE: f32 = 0.01;
/// Offset of both images (`offset_sdr` and `offset_hdr`). It limits the gain of dark texels.
const OFFSET: f32 = 1.0 / 64.0;
/// Minimum difference between the binary logarithms of the largest and the smallest gain.
const LEAST_SPAN: f32 = 1e-3;
/// Steps by which a byte of the SDR image may differ from the tone-mapped value, in the order in which they are tried.
/// With the tone-mapped value, the eight bits of the gain cause errors of up to 2 %. Other SDR values can
/// represent radiances in between, so trying them reduces the error.
const STEPS: [i16; 5] = [0, -1, 1, -2, 2];
/// Error of the binary logarithm of a radiance that is small enough, so that no further step is tried. It corresponds
/// to a relative error of about 0.4 %.
const GOOD_ENOUGH: f32 = 0.006;

/// A panorama that was encoded as a gain map.
#[derive(Clone, Debug)]
pub struct EncodedGainMap {
    /// Image for displays with standard dynamic range (lossless WebP).
    pub sdr: Vec<u8>,
    /// Image with the gain of each texel (lossless WebP).
    pub gain_map: Vec<u8>,
    /// Metadata (JSON).
    pub metadata: Vec<u8>,
    /// Number of values that were reduced to 65504, the largest radiance of a gain map.
    pub clamped: u64,
    /// Largest relative error of a radiance after decoding. The error of a radiance below [`DARKEST_RADIANCE`] is
    /// divided by that constant instead.
    pub largest_error: f32,
}

/// Encodes a panorama as a gain map. Decodes the result to measure the error.
/// Errors: if the images cannot be written.
pub fn encode_gain_map(map: &EnvironmentMap) -> Result<EncodedGainMap, GainMapError> {
    let fault = |problem: String| GainMapError { problem };
    let numbers = numbers(map);
    let channels = [0, 1, 2].map(|c| Channel::new(&numbers, c));
    let bytes: Vec<[[u8; 3]; 2]> = map.pixels.par_iter().map(|texel| encoded(*texel, &channels)).collect();
    let part = |part: usize| webp(map, &bytes.iter().flat_map(|texel| texel[part]).collect::<Vec<u8>>()).map_err(fault);
    let (sdr, gain) = (part(0)?, part(1)?);
    let metadata = serde_json::to_vec_pretty(&numbers).map_err(|e| fault(e.to_string()))?;
    let decoded = gain_map(&sdr, &gain, &metadata).map_err(|e| fault(e.to_string()))?;
    let clamped = map.pixels.as_flattened().iter().filter(|radiance| **radiance > MAX_RADIANCE).count();
    Ok(EncodedGainMap {
        sdr,
        gain_map: gain,
        metadata,
        clamped: clamped as u64,
        largest_error: largest_error(map, &decoded),
    })
}

/// Returns the metadata. In each channel, `gain_map_min` and `gain_map_max` are the smallest and the largest gain of
/// all texels.
fn numbers(map: &EnvironmentMap) -> GainMap {
    let none = GainMap {
        gamma: [1.0; 3],
        hdr_capacity_min: 0.0,
        hdr_capacity_max: 0.0,
        offset_sdr: [OFFSET; 3],
        offset_hdr: [OFFSET; 3],
        gain_map_min: [0.0; 3],
        gain_map_max: [0.0; 3],
    };
    let displayed = none.tables(0).displayed;
    let gain = |radiance: f32| {
        (log_radiance(radiance) - displayed[usize::from(tone_mapped(radiance, &displayed))].log2()).max(0.0)
    };
    let wider =
        |a: [[f32; 2]; 3], b: [[f32; 2]; 3]| std::array::from_fn(|c| [a[c][0].min(b[c][0]), a[c][1].max(b[c][1])]);
    let ranges = map.pixels.par_iter().map(|texel| texel.map(|radiance| [gain(radiance); 2]));
    let ranges = ranges.reduce(|| [[f32::MAX, 0.0]; 3], wider);
    let largest = ranges.map(|[least, largest]| largest.max(least + LEAST_SPAN));
    GainMap {
        hdr_capacity_max: largest.into_iter().fold(0.0, f32::max),
        gain_map_min: ranges.map(|[least, _]| least),
        gain_map_max: largest,
        ..none
    }
}

fn log_radiance(radiance: f32) -> f32 {
    (radiance.min(MAX_RADIANCE) + OFFSET).log2()
}

/// Returns the largest byte of the SDR image that does not exceed the tone-mapped radiance.
fn tone_mapped(radiance: f32, displayed: &[f32; 256]) -> u8 {
    let shown = radiance / (1.0 + radiance) + OFFSET;
    displayed.partition_point(|value| *value <= shown).saturating_sub(1) as u8
}

/// Encoder of one channel: the lookup tables, the binary logarithms of the SDR table, and the range of the gain.
struct Channel {
    tables: Tables,
    logs: [f32; 256],
    least: f32,
    span: f32,
}

impl Channel {
    fn new(numbers: &GainMap, c: usize) -> Self {
        let tables = numbers.tables(c);
        let logs = tables.displayed.map(f32::log2);
        let least = numbers.gain_map_min[c];
        Self { tables, logs, least, span: numbers.gain_map_max[c] - least }
    }

    /// Returns the byte of the SDR image and the byte of the gain image that together represent a radiance.
    fn encoded(&self, radiance: f32) -> [u8; 2] {
        let (wanted, mapped) = (log_radiance(radiance), tone_mapped(radiance, &self.tables.displayed));
        let (mut best, mut best_error) = ([mapped, 0], f32::INFINITY);
        for step in STEPS {
            let Ok(sdr) = u8::try_from(i16::from(mapped) + step) else { continue };
            let log = self.logs[usize::from(sdr)];
            let gain = ((wanted - log - self.least) / self.span * 255.0).round().clamp(0.0, 255.0);
            let error = (log + self.least + gain / 255.0 * self.span - wanted).abs();
            if error < best_error {
                (best, best_error) = ([sdr, gain as u8], error);
            }
            if best_error <= GOOD_ENOUGH {
                break;
            }
        }
        best
    }
}

/// Returns a texel of the SDR image and the corresponding texel of the gain image.
fn encoded(texel: [f32; 3], channels: &[Channel; 3]) -> [[u8; 3]; 2] {
    let bytes: [[u8; 2]; 3] = std::array::from_fn(|c| channels[c].encoded(texel[c]));
    [bytes.map(|[sdr, _]| sdr), bytes.map(|[_, gain]| gain)]
}

/// Encodes an RGB image with the size of the panorama as WebP.
fn webp(map: &EnvironmentMap, rgb: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let writer = WebPEncoder::new_lossless(Cursor::new(&mut out));
    writer.write_image(rgb, map.width, map.height, ExtendedColorType::Rgb8).map_err(|e| e.to_string())?;
    Ok(out)
}

fn largest_error(map: &EnvironmentMap, decoded: &EnvironmentMap) -> f32 {
    let pairs = map.pixels.as_flattened().par_iter().zip(decoded.pixels.as_flattened());
    let errors = pairs.map(|(a, b)| {
        let a = a.min(MAX_RADIANCE);
        (a - b).abs() / a.max(DARKEST_RADIANCE)
    });
    errors.reduce(|| 0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a panorama of 64 × 32 texels.
    fn map(texel: impl Fn(u32) -> [f32; 3]) -> EnvironmentMap {
        EnvironmentMap { width: 64, height: 32, pixels: (0..64 * 32).map(texel).collect() }
    }

    fn decoded(files: &EncodedGainMap) -> EnvironmentMap {
        gain_map(&files.sdr, &files.gain_map, &files.metadata).unwrap()
    }

    /// The radiances span nineteen stops, from a dark wall to a lamp of 5000. Each channel has its own range.
    #[test]
    fn a_lamp_beside_a_dark_wall_is_exact_to_one_and_a_half_percent() {
        let source = map(|i| {
            let stops = 19.0 * i as f32 / (64.0 * 32.0 - 1.0);
            [0.01 * stops.exp2() * 5000.0 / (0.01 * 19_f32.exp2()), 0.01 * (stops / 2.0).exp2(), 0.3]
        });
        assert!((source.pixels[2047][0] - 5000.0).abs() < 1.0);
        let files = encode_gain_map(&source).unwrap();
        assert!(files.largest_error < 0.015, "{}", files.largest_error);
        assert_eq!(files.clamped, 0);
        let decoded = decoded(&files);
        let errors = source.pixels.as_flattened().iter().zip(decoded.pixels.as_flattened());
        let worst = errors.map(|(a, b)| (a - b).abs() / a.max(0.01)).fold(0.0, f32::max);
        assert!((worst - files.largest_error).abs() < 1e-6, "{worst}, reported {}", files.largest_error);
    }

    #[test]
    fn black_stays_black_and_a_single_colour_is_kept() {
        let black = encode_gain_map(&map(|i| if i == 9 { [5000.0; 3] } else { [0.0; 3] })).unwrap();
        assert!(decoded(&black).pixels[0].iter().all(|c| *c < 1e-6));
        let plain = encode_gain_map(&map(|_| [0.8, 0.0, 3.0])).unwrap();
        assert!(plain.largest_error < 1e-4, "{}", plain.largest_error);
    }

    #[test]
    fn radiance_above_half_floats_is_clamped_and_counted() {
        let files = encode_gain_map(&map(|i| if i < 5 { [1e6, 1.0, 65_504.0] } else { [1.0; 3] })).unwrap();
        assert_eq!(files.clamped, 5);
        assert!((decoded(&files).pixels[0][0] / 65_504.0 - 1.0).abs() < 0.01);
    }
}
