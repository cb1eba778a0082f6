//! Tests that PNG images are decoded as the crate `image` decodes them.

use image::ImageFormat::Png;
use png::{BitDepth, ColorType, Encoder, Filter};

use crate::decoded::{expected, loaded, loaded_within, seeds};

/// Encodes an image of noise and gradients.
fn encoded(width: u32, height: u32, color: ColorType, filter: Filter) -> Vec<u8> {
    let row = width as usize * color.samples();
    let bytes: Vec<u8> = (0..row * height as usize)
        .map(|i| (i % row + 3 * (i / row)) as u8 ^ ((i as u32).wrapping_mul(0x9E37_79B1) >> 27) as u8)
        .collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_filter(filter);
    encoder.add_text_chunk("Software".to_owned(), "a test".to_owned()).unwrap();
    encoder.add_ztxt_chunk("Comment".to_owned(), "a longer text".to_owned()).unwrap();
    encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
    file
}

/// Returns the seeds for fuzzing without those with a palette, with which the crate panics if they are damaged.
fn files() -> Vec<(String, Vec<u8>)> {
    const COLOR_TYPE: usize = 25;
    let mut files = seeds("png");
    files.retain(|(_name, png)| png[COLOR_TYPE] != ColorType::Indexed as u8);
    files
}

#[test]
fn png_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    let files = files();
    assert!(files.iter().any(|(name, _)| name.ends_with("rgba8_filters.png")), "the seeds for fuzzing are missing");
    for (name, png) in files {
        assert!(loaded(Png, &png) == expected(Png, &png), "{name}");
    }
}

#[test]
fn png_images_of_all_sizes_have_the_same_pixels_with_all_filters() {
    let filters = [Filter::NoFilter, Filter::Sub, Filter::Up, Filter::Avg, Filter::Paeth, Filter::Adaptive];
    let sizes = (1..=20).flat_map(|width| [1, 2, 7, 8, 9, 17].map(|height| (width, height)));
    // The last one takes more memory than is decompressed at once.
    for (width, height) in sizes.chain([(700, 301)]) {
        for color in [ColorType::Rgb, ColorType::Rgba] {
            for filter in filters {
                let png = encoded(width, height, color, filter);
                assert!(loaded(Png, &png) == expected(Png, &png), "{width}×{height} {color:?} {filter:?}");
            }
        }
    }
}

#[test]
fn damaged_png_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    let noise = encoded(21, 19, ColorType::Rgb, Filter::Adaptive);
    for (name, png) in files().into_iter().chain([("noise".to_owned(), noise)]) {
        for at in 8..png.len() {
            let mut copies = [png[..at].to_vec(), png.clone(), [&png[..at], &png[at + 1..]].concat()];
            copies[1][at] ^= 1 << (at % 8);
            for (kind, copy) in copies.iter().enumerate() {
                assert!(loaded(Png, copy) == expected(Png, copy), "{name} at byte {at}, damage {kind}");
            }
        }
    }
}

/// Returns the means of blocks of 2 × 2 pixels, without an odd last row or column.
fn halved(width: usize, height: usize, rgba: &[u8]) -> Vec<u8> {
    let byte = |x: usize, y: usize, channel: usize| u16::from(rgba[(y * width + x) * 4 + channel]);
    let mut means = Vec::new();
    for y in 0..height / 2 {
        for x in 0..width / 2 {
            for channel in 0..4 {
                let [upper, lower] = [2 * y, 2 * y + 1].map(|y| byte(2 * x, y, channel) + byte(2 * x + 1, y, channel));
                means.push(((upper + lower + 2) / 4) as u8);
            }
        }
    }
    means
}

#[test]
fn large_png_images_become_means_of_blocks_of_their_pixels() {
    for (width, height) in [(64, 64), (65, 9), (100, 23), (17, 40), (9, 200), (333, 8), (16, 1)] {
        for color in [ColorType::Rgb, ColorType::Rgba, ColorType::Grayscale] {
            let png = encoded(width, height, color, Filter::Adaptive);
            let mut expected = expected(Png, &png).unwrap();
            let mut size = [width as usize, height as usize];
            for _time in 0..4 {
                let longest = size[0].max(size[1]);
                assert!(
                    loaded_within(Png, &png, longest as u32).unwrap() == expected,
                    "{width}×{height} {color:?} {size:?}"
                );
                if size[0].min(size[1]) < 2 {
                    break;
                }
                expected = halved(size[0], size[1], &expected);
                size = size.map(|side| side / 2);
            }
        }
    }
}

/// Such an image is decompressed on another thread.
#[test]
fn very_large_png_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    let [width, height] = [2901, 2903];
    let png = encoded(width, height, ColorType::Rgba, Filter::Up);
    let expected_pixels = expected(Png, &png).unwrap();
    assert!(loaded(Png, &png).unwrap() == expected_pixels);
    assert!(loaded_within(Png, &png, 1500).unwrap() == halved(width as usize, height as usize, &expected_pixels));
    let mut flipped = png.clone();
    flipped[png.len() - 30] ^= 8;
    for damaged in [&png[..png.len() / 2], &flipped] {
        let error = expected(Png, damaged);
        assert!(error.is_err());
        assert!(loaded(Png, damaged) == error && loaded_within(Png, damaged, 1500) == error);
    }
}
