//! Small images.

use std::io::Cursor;

use image::{ImageFormat, Rgba, RgbaImage};

/// Returns a PNG of 2×2 pixels with a grey level. Different grey levels give different files.
pub fn png(shade: u8) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbaImage::from_pixel(2, 2, Rgba([shade, shade, shade, 255]));
    picture.write_to(&mut bytes, ImageFormat::Png).expect("a picture");
    bytes.into_inner()
}
