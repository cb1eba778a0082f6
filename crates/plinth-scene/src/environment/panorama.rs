//! Reads panoramas that are to be encoded: Radiance HDR (`.hdr`) and OpenEXR (`.exr`). They must cover all directions,
//! unlike panoramas that are only used as light sources. The caller learns how many values were changed.

use std::io::Cursor;

use exr::meta::MetaData;
use exr::prelude::{ReadChannels as _, ReadLayers as _, Vec2, read};
use image::{Rgb, Rgb32FImage};

use super::gain_map::MAX_RADIANCE;
use super::map::{EnvironmentMap, check_size};
use super::radiance;
use crate::SceneError;

/// First bytes of an OpenEXR file.
const EXR_MAGIC: [u8; 4] = [0x76, 0x2f, 0x31, 0x01];

/// A panorama that covers all directions, and statistics about the values that were changed when it was read.
#[derive(Clone, Debug)]
pub struct Panorama {
    /// The panorama, scaled down if it was wider than the requested maximum.
    pub map: EnvironmentMap,
    /// Columns and rows in the file.
    pub file_size: (u32, u32),
    /// Number of negative values, which became 0.
    pub negative: u64,
    /// Number of values that are not a number (NaN), which became 0.
    pub not_a_number: u64,
    /// Number of infinite values, which became 65504.
    pub infinite: u64,
}

/// Reads a panorama, scaled down to at most `max_width` columns. Scaling preserves the total light.
/// Errors: if the file has another format, is damaged, is larger than 8192 × 4096, or is not twice as wide as high.
pub fn read_panorama(bytes: &[u8], max_width: u32) -> Result<Panorama, SceneError> {
    let mut picture = if bytes.starts_with(&EXR_MAGIC) {
        open_exr(bytes)?
    } else if bytes.starts_with(b"#?") {
        radiance::picture(bytes)?
    } else {
        return Err(fault("the file is neither Radiance HDR (.hdr) nor OpenEXR (.exr)"));
    };
    let (width, height) = picture.dimensions();
    check_covers_all_directions(width, height)?;
    let [mut negative, mut not_a_number, mut infinite] = [0; 3];
    for value in picture.iter_mut() {
        let (counter, replacement) = match *value {
            v if v.is_nan() => (&mut not_a_number, 0.0),
            v if v < 0.0 => (&mut negative, 0.0),
            v if v.is_infinite() => (&mut infinite, MAX_RADIANCE),
            _ => continue,
        };
        *counter += 1;
        *value = replacement;
    }
    let map = EnvironmentMap::gathered(width, height, |x, y| picture.get_pixel(x, y).0);
    drop(picture);
    let map = if map.width > max_width { map.reduced(max_width, max_width.div_ceil(2)) } else { map };
    Ok(Panorama { map, file_size: (width, height), negative, not_a_number, infinite })
}

fn fault(problem: impl Into<String>) -> SceneError {
    SceneError::Environment { problem: problem.into() }
}

fn check_covers_all_directions(width: u32, height: u32) -> Result<(), SceneError> {
    if width == height * 2 {
        return Ok(());
    }
    Err(fault(format!(
        "a size of {width}×{height} is not that of an equirectangular panorama, which is twice as wide as high"
    )))
}

/// Reads the texels of an OpenEXR file: the channels R, G and B of the first layer that has them.
fn open_exr(bytes: &[u8]) -> Result<Rgb32FImage, SceneError> {
    let unreadable = |e: exr::error::Error| fault(e.to_string());
    // The size is checked before memory is allocated for the texels.
    let metadata = MetaData::read_from_buffered(Cursor::new(bytes), false).map_err(unreadable)?;
    for header in &metadata.headers {
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        check_size(side(header.layer_size.0), side(header.layer_size.1))?;
    }
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(
            |size: Vec2<usize>, _channels| Rgb32FImage::new(size.0 as u32, size.1 as u32),
            |picture: &mut Rgb32FImage, at: Vec2<usize>, (r, g, b): (f32, f32, f32)| {
                picture.put_pixel(at.0 as u32, at.1 as u32, Rgb([r, g, b]));
            },
        )
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_buffered(Cursor::new(bytes))
        .map_err(unreadable)?;
    Ok(image.layer_data.channel_data.pixels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exr::prelude::{SpecificChannels, WritableImage as _};

    fn exr_file(size: (usize, usize), texel: impl Sync + Fn(usize, usize) -> (f32, f32, f32)) -> Vec<u8> {
        let channels = SpecificChannels::rgb(|at: Vec2<usize>| texel(at.0, at.1));
        let mut bytes = Cursor::new(Vec::new());
        exr::prelude::Image::from_channels(size, channels).write().non_parallel().to_buffered(&mut bytes).unwrap();
        bytes.into_inner()
    }

    fn told(bytes: &[u8]) -> String {
        read_panorama(bytes, 4096).unwrap_err().to_string()
    }

    #[test]
    fn open_exr_keeps_positions_and_values() {
        let file = exr_file((8, 4), |x, y| (x as f32 * 1000.0, y as f32 * 0.001, 0.5));
        let read = read_panorama(&file, 4096).unwrap();
        assert_eq!((read.map.width, read.map.height, read.file_size), (8, 4, (8, 4)));
        let [r, g, b] = read.map.pixels[2 * 8 + 5];
        assert!((r - 5000.0).abs() < 1e-3 && (g - 0.002).abs() < 1e-7 && (b - 0.5).abs() < 1e-6, "{r} {g} {b}");
        assert_eq!([read.negative, read.not_a_number, read.infinite], [0; 3]);
    }

    #[test]
    fn values_that_are_no_radiance_are_replaced_and_counted() {
        let file = exr_file((8, 4), |x, y| match (x, y) {
            (0, 0) => (f32::NAN, -1.0, f32::INFINITY),
            (1, 0) => (f32::NEG_INFINITY, -2.0, 1.0),
            _ => (1.0, 1.0, 1.0),
        });
        let read = read_panorama(&file, 4096).unwrap();
        assert_eq!([read.negative, read.not_a_number, read.infinite], [3, 1, 1]);
        assert_eq!(read.map.pixels[0].map(f32::to_bits), [0.0, 0.0, MAX_RADIANCE].map(f32::to_bits));
    }

    #[test]
    fn a_panorama_is_scaled_down_to_the_width_and_keeps_its_light() {
        let file = exr_file((64, 32), |x, y| if (x, y) == (20, 16) { (900.0, 0.0, 0.0) } else { (1.0, 1.0, 1.0) });
        let read = read_panorama(&file, 16).unwrap();
        assert_eq!((read.map.width, read.map.height, read.file_size), (16, 8, (64, 32)));
        let mean = |map: &EnvironmentMap| {
            let weight = |i: usize| ((i / map.width as usize) as f32 + 0.5) / map.height as f32;
            let weights = (0..map.pixels.len()).map(|i| (weight(i) * std::f32::consts::PI).sin());
            let (sum, total) = weights
                .zip(&map.pixels)
                .fold((0.0, 0.0), |(sum, total), (weight, texel)| (sum + weight * texel[0], total + weight));
            sum / total
        };
        let whole = read_panorama(&file, 64).unwrap();
        assert!((mean(&read.map) / mean(&whole.map) - 1.0).abs() < 0.01, "{} {}", mean(&read.map), mean(&whole.map));
    }

    #[test]
    fn errors_name_the_cause() {
        assert!(told(b"\x89PNG\r\n").contains("neither Radiance HDR (.hdr) nor OpenEXR (.exr)"));
        assert!(told(&exr_file((8, 8), |_, _| (1.0, 1.0, 1.0))).contains("8×8 is not that of an equirectangular"));
        assert!(told(&exr_file((8194, 1), |_, _| (1.0, 1.0, 1.0))).contains("8194×1 is not between"));
        let whole = exr_file((64, 32), |x, y| (x as f32, y as f32, 1.0));
        assert!(told(&whole[..whole.len() / 2]).contains("cannot be read"));
    }
}
