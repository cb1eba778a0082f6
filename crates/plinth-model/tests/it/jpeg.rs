//! Tests that JPEG images are decoded as the crate `image` decodes them.

use image::ImageFormat;
use plinth_model::LoadOptions;

use crate::glb::Glb;

/// Returns JPEG images of many kinds and their names.
fn files() -> Vec<(String, Vec<u8>)> {
    let file = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    let seeds = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/image")).unwrap();
    let seeds = seeds.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "jpg"));
    let gradient = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/gradient_420.jpg");
    seeds.chain([gradient.into()]).map(file).collect()
}

/// Encodes an image of several rows of blocks without subsampling.
fn noise() -> Vec<u8> {
    let rgb: Vec<u8> = (0..35 * 30 * 3_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let mut jpeg = Vec::new();
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 50);
    image::ImageEncoder::write_image(encoder, &rgb, 35, 30, image::ExtendedColorType::Rgb8).unwrap();
    jpeg
}

/// Returns the pixels of an image in a model, or the error.
fn loaded(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let mut glb = Glb::textured();
    glb.image("image/jpeg", jpeg);
    let model = glb.load_with(&LoadOptions::default());
    model.map(|model| model.images[0].pixels.to_vec()).map_err(|e| e.to_string())
}

/// Returns what [`loaded`] should return.
fn expected(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let image = image::load_from_memory_with_format(jpeg, ImageFormat::Jpeg);
    let pixels = image.map(|image| image.into_rgba8().into_raw());
    pixels.map_err(|e| format!("images[0]: it cannot be decoded: {e}"))
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
    let files = files().into_iter().chain([("noise".to_owned(), noise())]).collect::<Vec<_>>();
    assert!(files.iter().any(|(name, _)| name.ends_with("progressive420.jpg")), "the seeds for fuzzing are missing");
    for (name, jpeg) in files {
        assert!(loaded(&jpeg) == expected(&jpeg), "{name}");
    }
}

#[test]
fn damaged_jpeg_images_have_the_same_pixels_and_errors_as_in_the_image_crate() {
    for (name, jpeg) in files().into_iter().chain([("noise".to_owned(), noise())]) {
        for cut in (4..jpeg.len()).step_by(7) {
            for (kind, copy) in damaged(&jpeg, cut).iter().enumerate() {
                assert!(loaded(copy) == expected(copy), "{name} at byte {cut}, damage {kind}");
            }
        }
    }
}
