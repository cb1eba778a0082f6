//! The background of a frame: an image, a gradient or a colour.

use std::sync::Arc;

use glam::{DVec2, Vec3};
use plinth_frame::{Crop, Resampler, RgbaImage};
use plinth_model::Image;
use plinth_spec::settings::{Background as Settings, Gradient, RenderSettings};
use plinth_spec::wire::Alignment;
use rayon::prelude::*;

use crate::assets::SceneAssets;
use crate::environment::{linear_from_srgb, srgb_from_linear};
use crate::error::SceneError;
use crate::scene::Background;

/// Largest amplitude of the dither noise in a gradient, in 8-bit steps. Video encoders quantise more coarsely than 8
/// bits and remove about half of the noise, so one step is not enough.
const NOISE: f32 = 2.0;
/// Maximum length of the longer side of a background image in pixels. Larger images are scaled down.
const MAX_SIDE: u32 = 8192;

/// Builds the background of a render. If the video has alpha, only its poster shows the background.
/// Adds a warning to `warnings` if the background image is stretched.
/// Errors: if the background image is missing or cannot be read.
pub(crate) fn background(
    settings: &RenderSettings,
    assets: &SceneAssets<'_>,
    warnings: &mut Vec<String>,
) -> Result<Background, SceneError> {
    let look = settings.background();
    let (width, height) = settings.video().quality.size(settings.video().aspect);
    let Some(id) = &look.image else { return Ok(without_image(look, width, height)) };
    let image = assets.image(id, MAX_SIDE)?;
    if is_narrower(&image, width, height) {
        let least = settings.video().aspect.as_str();
        warnings.push(format!(
            "bgImageId: the image is narrower than the picture, so it is stretched; its aspect ratio should be at least {least}"
        ));
    }
    let mut picture = cover_and_crop(&image, look.align, width, height)
        .map_err(|problem| SceneError::Asset { id: id.clone(), problem })?;
    if picture.pixels.as_chunks::<4>().0.iter().any(|p| p[3] < 255) {
        composite_over_white(&mut picture);
    }
    Ok(Background::Picture(Arc::new(picture)))
}

fn without_image(look: &Settings, width: u32, height: u32) -> Background {
    match &look.gradient {
        Some(gradient) => Background::Picture(Arc::new(draw_gradient(gradient, width, height))),
        None => Background::Solid(look.color),
    }
}

fn opaque(width: u32, height: u32, pixels: Vec<u8>) -> Image {
    Image { width, height, pixels: pixels.into(), source_width: width, source_height: height, encoded_hash: None }
}

/// Returns whether an image that is scaled to the height of the frame is narrower than the frame. An image whose sides were
/// rounded to pixels is not.
fn is_narrower(image: &Image, width: u32, height: u32) -> bool {
    let least = f64::from(image.source_height) * f64::from(width) / f64::from(height);
    f64::from(image.source_width) + 1.0 <= least
}

/// Scales an image to the height of the frame, and crops it to the width of the frame. `align` chooses which part of the
/// width is kept. An image is never cropped vertically: one that is narrower than the frame is stretched to its width.
/// Images of at least 16:9 are wider than all frames, so they are never stretched.
fn cover_and_crop(image: &Image, align: Alignment, width: u32, height: u32) -> Result<Image, String> {
    let (from_width, from_height) = (f64::from(image.width), f64::from(image.height));
    let (to_width, to_height) = (f64::from(width), f64::from(height));
    let seen_width = (from_height * to_width / to_height).min(from_width);
    let left = match align {
        Alignment::Left => 0.0,
        Alignment::Center => (from_width - seen_width) * 0.5,
        Alignment::Right => from_width - seen_width,
    };
    let source = RgbaImage { width: image.width, height: image.height, pixels: &image.pixels };
    let crop = Crop { left, top: 0.0, width: seen_width, height: from_height };
    let pixels = Resampler::default()
        .catmull_rom(source, crop, width, height)
        .map_err(|e| format!("the image cannot be scaled: {e}"))?;
    Ok(opaque(width, height, pixels))
}

/// Composites an image over white, because a background must be opaque. The background colour of the settings only
/// applies if there is no image.
fn composite_over_white(picture: &mut Image) {
    for pixel in picture.pixels.as_chunks_mut::<4>().0 {
        let alpha = u32::from(pixel[3]);
        let mix = |c: usize| ((u32::from(pixel[c]) * alpha + 255 * (255 - alpha) + 127) / 255) as u8;
        *pixel = [mix(0), mix(1), mix(2), 255];
    }
}

/// Draws a linear gradient. The first and the last stop are at pixel centres, so the outermost pixels have exactly the
/// colours of these stops. CSS places the stops at the edges of the box instead.
fn draw_gradient(gradient: &Gradient, width: u32, height: u32) -> Image {
    let (sine, cosine) = gradient.angle_deg.to_radians().sin_cos();
    let along = DVec2::new(sine, -cosine);
    let last = DVec2::new(f64::from(width - 1), f64::from(height - 1));
    let length = (last.x * sine).abs() + (last.y * cosine).abs();
    let colors: Vec<[u8; 3]> = gradient.stops.iter().map(|stop| stop.color).collect();
    let stops: Vec<Vec3> = colors.iter().map(|color| oklab(*color)).collect();
    let pixels = (0..height)
        .into_par_iter()
        .flat_map_iter(|y| {
            let (stops, colors) = (&stops, &colors);
            (0..width).flat_map(move |x| {
                let place = DVec2::new(f64::from(x), f64::from(y)) - last * 0.5;
                let share = (place.dot(along) / length.max(1.0) + 0.5).clamp(0.0, 1.0);
                let [r, g, b] = dithered(srgb(between(stops, share as f32)), x, y, colors);
                [r, g, b, 255]
            })
        })
        .collect();
    opaque(width, height, pixels)
}

fn between(stops: &[Vec3], share: f32) -> Vec3 {
    let place = share * (stops.len() - 1) as f32;
    let below = (place as usize).min(stops.len() - 2);
    stops[below].lerp(stops[below + 1], place - below as f32)
}

/// Adds noise with a triangular distribution to a colour, so that the gradient has no visible bands, and converts the
/// colour to bytes. Near the colour of a stop, the noise decreases to zero, so that pixels with exactly this colour
/// stay unchanged.
fn dithered(color: Vec3, x: u32, y: u32, stops: &[[u8; 3]]) -> [u8; 3] {
    let steps = color * 255.0;
    let away = |stop: &[u8; 3]| (steps - Vec3::from(stop.map(f32::from))).abs().max_element();
    let amount = stops.iter().map(away).fold(NOISE, f32::min);
    std::array::from_fn(|c| {
        let even = noise(x + 31 * c as u32, y + 17 * c as u32);
        let triangular = if even < 0.5 { (2.0 * even).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * even).sqrt() };
        (steps[c] + triangular * amount).round().clamp(0.0, 255.0) as u8
    })
}

/// Returns noise in 0..1 with a uniform distribution. Neighbouring pixels get different values: this is interleaved
/// gradient noise (Jimenez 2014, "Next Generation Post Processing in Call of Duty: Advanced Warfare").
fn noise(x: u32, y: u32) -> f32 {
    let inner = (0.067_110_56 * f64::from(x) + 0.005_837_15 * f64::from(y)).fract();
    (52.982_918_9 * inner).fract() as f32
}

/// Converts sRGB bytes to Oklab (Björn Ottosson 2020, "A perceptual color space for image processing"). Interpolation
/// in Oklab keeps colours saturated; the same interpolation in sRGB would turn them grey.
fn oklab(color: [u8; 3]) -> Vec3 {
    let [r, g, b] = color.map(|c| linear_from_srgb(f32::from(c) / 255.0));
    let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    Vec3::new(
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    )
}

/// Converts an Oklab colour to sRGB-encoded components in 0..=1.
fn srgb(lab: Vec3) -> Vec3 {
    let l = (lab.x + 0.396_337_78 * lab.y + 0.215_803_76 * lab.z).powi(3);
    let m = (lab.x - 0.105_561_346 * lab.y - 0.063_854_17 * lab.z).powi(3);
    let s = (lab.x - 0.089_484_18 * lab.y - 1.291_485_5 * lab.z).powi(3);
    Vec3::new(
        srgb_from_linear(4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s),
        srgb_from_linear(-1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s),
        srgb_from_linear(-0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s),
    )
    .clamp(Vec3::ZERO, Vec3::ONE)
}

#[cfg(test)]
mod tests {
    use plinth_spec::settings::GradientStop;

    use super::*;

    fn gradient(stops: &[[u8; 3]], angle_deg: f64) -> Gradient {
        Gradient { stops: stops.iter().map(|color| GradientStop { color: *color }).collect(), angle_deg }
    }

    fn at(image: &Image, x: u32, y: u32) -> [u8; 3] {
        let i = (y * image.width + x) as usize * 4;
        [image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]]
    }

    #[test]
    fn the_outermost_pixels_along_the_angle_have_the_end_colours() {
        let (a, b) = ([13, 77, 201], [250, 240, 3]);
        let ends = [
            (0.0, (40, 63), (40, 0)),
            (90.0, (0, 30), (99, 30)),
            (180.0, (7, 0), (7, 63)),
            (270.0, (99, 5), (0, 5)),
            (45.0, (0, 63), (99, 0)),
        ];
        for (angle, first, last) in ends {
            let image = draw_gradient(&gradient(&[a, b], angle), 100, 64);
            assert_eq!(at(&image, first.0, first.1), a, "{angle}");
            assert_eq!(at(&image, last.0, last.1), b, "{angle}");
        }
    }

    #[test]
    fn stops_are_evenly_spaced() {
        let image = draw_gradient(&gradient(&[[255, 0, 0], [0, 255, 0], [0, 0, 255]], 90.0), 101, 4);
        assert_eq!(at(&image, 50, 2), [0, 255, 0]);
    }

    #[test]
    fn blue_to_yellow_does_not_darken_in_the_middle() {
        let image = draw_gradient(&gradient(&[[0, 0, 255], [255, 255, 0]], 90.0), 201, 2);
        let lightness: Vec<f32> = (0..201).map(|x| oklab(at(&image, x, 0)).x).collect();
        assert!(lightness.windows(2).all(|w| w[1] > w[0] - 0.01), "lightness does not rise monotonically");
    }

    #[test]
    fn a_shallow_gradient_has_no_bands() {
        // The gradient has four 8-bit steps over 400 columns. Without noise, each step would be a flat band of 100
        // columns.
        let image = draw_gradient(&gradient(&[[100, 100, 100], [104, 104, 104]], 90.0), 400, 64);
        let mean = |x: u32| (0..64).map(|y| f64::from(at(&image, x, y)[1])).sum::<f64>() / 64.0;
        let wide = |x: u32| (x..x + 8).map(mean).sum::<f64>() / 8.0;
        for x in (40..350).step_by(10) {
            let expected = 100.0 + 4.0 * (f64::from(x) + 3.5) / 399.0;
            assert!((wide(x) - expected).abs() < 0.25, "{x}: {} instead of {expected}", wide(x));
        }
    }

    /// Returns an image whose left third is red, whose middle third is green and whose right third is blue.
    fn thirds(width: u32, height: u32) -> Image {
        let pixel = |i: u32| match i % width * 3 / width {
            0 => [255, 0, 0, 255],
            1 => [0, 255, 0, 255],
            _ => [0, 0, 255, 255],
        };
        opaque(width, height, (0..width * height).flat_map(pixel).collect())
    }

    #[test]
    fn alignment_chooses_which_part_of_a_wide_image_is_kept() {
        // A square frame shows nine sixteenths of the width of the 16:9 box.
        for (align, left, right) in [(Alignment::Left, 0, 1), (Alignment::Center, 0, 2), (Alignment::Right, 1, 2)] {
            let image = cover_and_crop(&thirds(480, 270), align, 90, 90).unwrap();
            let strongest = |x| (0..3).max_by_key(|c| at(&image, x, 45)[*c]).unwrap();
            assert_eq!((strongest(1), strongest(88)), (left, right), "{align:?}");
        }
    }

    #[test]
    fn a_wide_image_is_cropped_and_not_squeezed() {
        let mut wide = thirds(900, 90);
        wide.pixels[..900 * 4].fill(255);
        let image = cover_and_crop(&wide, Alignment::Left, 160, 90).unwrap();
        assert_eq!(at(&image, 80, 0), [255; 3], "the first row is not visible");
        assert_eq!(at(&image, 159, 45), [255, 0, 0], "160 of 900 columns");
    }

    #[test]
    fn no_image_is_cropped_vertically() {
        // Rows become brighter from 0 at the top to 178 at the bottom.
        let tall = opaque(9, 90, (0..9 * 90_u32).flat_map(|i| [(i / 9 * 2) as u8, 0, 0, 255]).collect());
        for (width, height) in [(160, 90), (90, 90), (90, 160)] {
            let image = cover_and_crop(&tall, Alignment::Left, width, height).unwrap();
            assert_eq!((image.width, image.height), (width, height));
            for x in [0, width / 2, width - 1] {
                let ends = [0, height - 1].map(|y| at(&image, x, y)[0]);
                assert!(ends[0] <= 2 && ends[1] >= 176, "{width}×{height}: {ends:?}");
            }
        }
    }

    #[test]
    fn only_images_that_are_narrower_than_the_frame_are_stretched() {
        assert!(is_narrower(&thirds(90, 90), 160, 90));
        for (width, height) in [(90, 90), (160, 90), (300, 90), (853, 480)] {
            assert!(!is_narrower(&thirds(width, height), 90, 90), "{width}×{height}");
        }
        for (width, height, to) in [(853, 480, (3840, 2160)), (213, 120, (1920, 1080)), (480, 854, (2160, 3840))] {
            assert!(!is_narrower(&thirds(width, height), to.0, to.1), "{width}×{height}: a side is rounded");
        }
    }

    #[test]
    fn an_image_with_the_shape_of_the_frame_is_shown_whole() {
        for align in [Alignment::Left, Alignment::Center, Alignment::Right] {
            let square = thirds(90, 90);
            assert_eq!(cover_and_crop(&square, align, 90, 90).unwrap().pixels, square.pixels);
        }
    }

    #[test]
    fn transparent_texels_become_white() {
        let mut picture = opaque(1, 2, vec![200, 100, 0, 0, 200, 100, 0, 128]);
        composite_over_white(&mut picture);
        assert_eq!(at(&picture, 0, 0), [255, 255, 255]);
        assert_eq!(at(&picture, 0, 1), [227, 177, 127]);
    }
}
