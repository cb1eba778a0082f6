//! Compares the images of models with those that the crate `image` decodes.

use std::path::Path;

use image::ImageFormat;
use plinth_model::LoadOptions;

use crate::glb::Glb;

/// Returns the seeds for fuzzing with an extension, and their names.
pub(crate) fn seeds(extension: &str) -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/image");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == extension)).map(|path| file(&path)).collect()
}

/// Returns the name and the content of a file.
pub(crate) fn file(path: &Path) -> (String, Vec<u8>) {
    (path.display().to_string(), std::fs::read(path).unwrap())
}

/// Returns the pixels of an image in a model, or the error.
pub(crate) fn loaded(format: ImageFormat, bytes: &[u8]) -> Result<Vec<u8>, String> {
    loaded_within(format, bytes, LoadOptions::default().max_texture_side)
}

/// Same as [`loaded`], for a model whose images are halved until neither side is longer than `max_texture_side` pixels.
pub(crate) fn loaded_within(format: ImageFormat, bytes: &[u8], max_texture_side: u32) -> Result<Vec<u8>, String> {
    let mut glb = Glb::textured();
    glb.image(format.to_mime_type(), bytes);
    let model = glb.load_with(&LoadOptions { max_texture_side, ..LoadOptions::default() });
    model.map(|model| model.images[0].pixels.to_vec()).map_err(|e| e.to_string())
}

/// Returns what [`loaded`] should return.
pub(crate) fn expected(format: ImageFormat, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let image = image::load_from_memory_with_format(bytes, format);
    let pixels = image.map(|image| image.into_rgba8().into_raw());
    pixels.map_err(|e| format!("images[0]: it cannot be decoded: {e}"))
}
