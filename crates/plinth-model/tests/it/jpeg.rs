//! Tests that JPEG images are decoded as the crate `image` decodes them.

use image::ImageFormat::Jpeg;

use crate::decoded::{expected, file, loaded, seeds};

/// Returns JPEG images of many kinds and their names.
fn files() -> Vec<(String, Vec<u8>)> {
    let gradient = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/gradient_420.jpg");
    seeds("jpg").into_iter().chain([file(gradient.as_ref()), ("noise".to_owned(), noise())]).collect()
}

/// Encodes an image of several rows of blocks without subsampling.
fn noise() -> Vec<u8> {
    let rgb: Vec<u8> = (0..35 * 30 * 3_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let mut jpeg = Vec::new();
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 50);
    image::ImageEncoder::write_image(encoder, &rgb, 35, 30, image::ExtendedColorType::Rgb8).unwrap();
    jpeg
}

/// Returns damaged copies of an image: the bytes from `cut` are missing, or the decoder finds an end or a comment in
/// the middle of the pixels.
fn damaged(jpeg: &[u8], cut: usize) -> Vec<Vec<u8>> {
    const SCAN_HEADER: usize = 14;
    let (kept, rest) = jpeg.split_at(cut);
    let mut copies = vec![kept.to_vec()];
    let scan = jpeg.windows(2).position(|pair| *pair == [0xFF, 0xDA]).unwrap();
    if cut > scan + SCAN_HEADER {
        copies.extend([[kept, &[0xFF, 0xD9]].concat(), [kept, &[0xFF, 0xFE, 0, 2], rest].concat()]);
    }
    copies
}

#[test]
fn jpeg_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    let files = files();
    assert!(files.iter().any(|(name, _)| name.ends_with("progressive420.jpg")), "the seeds for fuzzing are missing");
    for (name, jpeg) in files {
        assert!(loaded(Jpeg, &jpeg) == expected(Jpeg, &jpeg), "{name}");
    }
}

#[test]
fn damaged_jpeg_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    for (name, jpeg) in files() {
        for cut in (4..jpeg.len()).step_by(7) {
            for (kind, copy) in damaged(&jpeg, cut).iter().enumerate() {
                assert!(loaded(Jpeg, copy) == expected(Jpeg, copy), "{name} at byte {cut}, damage {kind}");
            }
        }
    }
}
