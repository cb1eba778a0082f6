//! Helpers of the fuzz targets: limits, requests, inputs of several parts, and mutations that keep the container of an input
//! valid.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use plinth_model::Limits;
use plinth_scene::Camera;

mod archive;
mod glb;
mod installation;
mod json;
mod mutation;
mod parts;
mod request;
mod results;
mod reused_installation;

pub use archive::{mutate_zip, stored_zip};
pub use glb::{glb_with_ktx2, mutate_glb, mutate_settings_and_glb};
pub use installation::{Installation, MARKUP};
pub use json::mutate_json;
pub use mutation::{MutateBytes, replace};
pub use parts::{mutate_json_and_parts, parts};
pub use request::request;
pub use reused_installation::with_installation;

/// A grey PNG of one pixel.
pub const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82";

/// The images that settings can name: one image with the ID `a`.
pub static IMAGES: LazyLock<BTreeMap<String, Vec<u8>>> =
    LazyLock::new(|| BTreeMap::from([("a".to_owned(), PIXEL.to_vec())]));

/// Limits that a valid input reaches within milliseconds, so that the fuzzer reports inputs that are slow or use much
/// memory.
pub fn limits() -> Limits {
    Limits { vertices: 1 << 20, indices: 1 << 21, image_pixels: 1 << 22, ..Limits::default() }
}

/// Returns whether decoding an image would take longer than some milliseconds. Returns false if the size of the image
/// cannot be read.
pub fn is_large_image(bytes: &[u8]) -> bool {
    let Ok(reader) = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format() else { return false };
    reader.into_dimensions().is_ok_and(|(width, height)| u64::from(width) * u64::from(height) > 1 << 18)
}

/// Returns whether a frame can be drawn with a camera.
pub fn is_usable(camera: &Camera) -> bool {
    camera.view_from_world.is_finite()
        && camera.position.is_finite()
        && camera.principal_point.is_finite()
        && 0.0 < camera.near
        && camera.near < camera.far
        && camera.far.is_finite()
        && (0.0..std::f32::consts::PI).contains(&camera.fov_y)
}
