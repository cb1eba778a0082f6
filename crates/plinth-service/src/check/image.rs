//! Checks image files by decoding them.

use std::fs::File;
use std::io::{Cursor, Read as _};

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};
use plinth_model::check_picture;
use serde::{Deserialize, Serialize};

/// Maximum width or height of an image, in pixels.
const MAX_SIDE: u32 = 16_384;
/// Maximum size of a decoded image, in bytes.
const MAX_UNPACKED_BYTES: u64 = 512 << 20;

/// Result of checking an image file. A checker process prints it as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageReport {
    /// The file is a usable image.
    Picture {
        /// Width in pixels, after EXIF orientation.
        width: u32,
        /// Height in pixels, after EXIF orientation.
        height: u32,
        content_type: String,
    },
    /// The file is not a usable image.
    Rejected {
        /// Reason, for the caller.
        message: String,
    },
}

/// Checks an image by decoding it completely. An image that passes cannot fail to decode in a later render.
/// Errors: the file cannot be read.
pub fn check_image(mut file: File) -> std::io::Result<ImageReport> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let rejected = |message| ImageReport::Rejected { message };
    Ok(decode(&bytes).unwrap_or_else(rejected))
}

/// Decodes an image. The error is the reason why the image cannot be used.
fn decode(bytes: &[u8]) -> Result<ImageReport, String> {
    check_picture(bytes)?;
    let fault = |error: ImageError| error.to_string();
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    let content_type = match reader.format() {
        Some(ImageFormat::Png) => "image/png",
        Some(ImageFormat::Jpeg) => "image/jpeg",
        Some(ImageFormat::WebP) => "image/webp",
        _ => return Err("it is neither PNG nor JPEG nor WebP".to_owned()),
    };
    let mut bounds = Limits::default();
    bounds.max_image_width = Some(MAX_SIDE);
    bounds.max_image_height = Some(MAX_SIDE);
    bounds.max_alloc = Some(MAX_UNPACKED_BYTES);
    reader.limits(bounds);
    let is_jpeg = reader.format() == Some(ImageFormat::Jpeg);
    let mut decoder = reader.into_decoder().map_err(fault)?;
    if decoder.total_bytes() > MAX_UNPACKED_BYTES {
        return Err(format!("it takes more than {} MB unpacked", MAX_UNPACKED_BYTES >> 20));
    }
    let (width, height) = decoder.dimensions();
    let turn = decoder.orientation().map_err(fault)?;
    DynamicImage::from_decoder(decoder).map_err(fault)?;
    // For a truncated JPEG, the decoder fills in the missing data and returns no error.
    if is_jpeg && !ends(bytes) {
        return Err("it is truncated".to_owned());
    }
    let is_on_its_side = matches!(
        turn,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let (width, height) = if is_on_its_side { (height, width) } else { (width, height) };
    Ok(ImageReport::Picture { width, height, content_type: content_type.to_owned() })
}

/// Returns whether a JPEG has an end marker (EOI) after the start of its last scan (SOS); ITU-T T.81, annex B.
fn ends(jpeg: &[u8]) -> bool {
    let last = |marker: u8| jpeg.windows(2).rposition(|pair| pair == [0xff, marker]);
    last(0xd9) > last(0xda)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    #[test]
    fn the_type_of_an_image_is_detected_from_its_content() {
        let found = decode(&encoded(3, 2, ImageFormat::Png)).unwrap();
        let content_type = "image/png".to_owned();
        assert_eq!(found, ImageReport::Picture { width: 3, height: 2, content_type });
        let mut cut = encoded(3, 2, ImageFormat::Png);
        cut.truncate(40);
        for bytes in [&b"<svg/>"[..], b"", &cut] {
            assert!(decode(bytes).is_err());
        }
    }

    #[test]
    fn a_truncated_jpeg_is_rejected() {
        let mut jpeg = encoded(64, 64, ImageFormat::Jpeg);
        assert!(decode(&jpeg).is_ok());
        jpeg.truncate(jpeg.len() - 3);
        assert_eq!(decode(&jpeg).unwrap_err(), "it is truncated");
    }

    #[test]
    fn width_and_height_respect_the_exif_orientation() {
        let mut jpeg = encoded(64, 32, ImageFormat::Jpeg);
        // Inserts an EXIF segment with tag 0x0112 (orientation) set to 6, a quarter turn clockwise.
        let tiff = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let length = u16::try_from(2 + 6 + tiff.len()).unwrap().to_be_bytes();
        let segment = [&[0xff, 0xe1][..], &length, b"Exif\0\0", tiff].concat();
        jpeg.splice(2..2, segment);
        let content_type = "image/jpeg".to_owned();
        assert_eq!(decode(&jpeg).unwrap(), ImageReport::Picture { width: 32, height: 64, content_type });
    }

    #[test]
    fn an_oversized_image_is_rejected_before_decoding() {
        assert!(decode(&encoded(MAX_SIDE + 1, 1, ImageFormat::Png)).is_err());
        // The header of a PNG with 16384 x 16384 pixels and 4 bytes per pixel.
        let head = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00@\x00\x00\x00@\x00\x08\x06\x00\x00\x00\xa9\xc8\x10\x84\x00\x00\x00\x00IDAT5\xaf\x06\x1e";
        let large = decode(head).unwrap_err();
        assert!(large.contains("more than 512 MB unpacked"), "{large}");
    }
}
