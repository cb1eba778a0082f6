//! Whether a file is a picture that the renderer can use.

use std::fs::File;
use std::io::{Cursor, Read as _};

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};
use serde::{Deserialize, Serialize};

/// Longest side of a picture in pixels.
const MAX_SIDE: u32 = 16_384;
/// Most bytes that a picture may unpack to.
const MAX_UNPACKED_BYTES: u64 = 512 << 20;

/// What a picture file was found to be. One process may tell it to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageReport {
    /// A picture.
    Picture {
        /// Columns, as it is shown.
        width: u32,
        /// Rows, as it is shown.
        height: u32,
        /// Its media type.
        content_type: String,
    },
    /// Not a picture that can be used.
    Rejected {
        /// Why.
        message: String,
    },
}

/// Decodes a picture as a whole, so that none is accepted that fails in a render later.
/// Errors: a file that cannot be read.
pub fn check_image(mut file: File) -> std::io::Result<ImageReport> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let rejected = |message| ImageReport::Rejected { message };
    Ok(decode(&bytes).unwrap_or_else(rejected))
}

/// Errors: why it cannot be used.
fn decode(bytes: &[u8]) -> Result<ImageReport, String> {
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
    // The decoder fills up what is missing of a JPEG.
    if is_jpeg && !ends(bytes) {
        return Err("it breaks off".to_owned());
    }
    let is_on_its_side = matches!(
        turn,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let (width, height) = if is_on_its_side { (height, width) } else { (width, height) };
    Ok(ImageReport::Picture { width, height, content_type: content_type.to_owned() })
}

/// Whether a JPEG has an end (EOI) after the beginning of its last scan (SOS); ITU-T T.81, annex B.
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
    fn a_picture_is_known_by_its_content() {
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
    fn a_jpeg_that_breaks_off_is_rejected() {
        let mut jpeg = encoded(64, 64, ImageFormat::Jpeg);
        assert!(decode(&jpeg).is_ok());
        jpeg.truncate(jpeg.len() - 3);
        assert_eq!(decode(&jpeg).unwrap_err(), "it breaks off");
    }

    #[test]
    fn a_picture_on_its_side_has_the_size_that_it_is_shown_with() {
        let mut jpeg = encoded(64, 32, ImageFormat::Jpeg);
        // An EXIF segment after the beginning of the file, with the tag 0x0112 (orientation): 6, a quarter turn clockwise.
        let tiff = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let length = u16::try_from(2 + 6 + tiff.len()).unwrap().to_be_bytes();
        let segment = [&[0xff, 0xe1][..], &length, b"Exif\0\0", tiff].concat();
        jpeg.splice(2..2, segment);
        let content_type = "image/jpeg".to_owned();
        assert_eq!(decode(&jpeg).unwrap(), ImageReport::Picture { width: 32, height: 64, content_type });
    }

    #[test]
    fn a_picture_beyond_the_limits_is_rejected_before_it_is_unpacked() {
        assert!(decode(&encoded(MAX_SIDE + 1, 1, ImageFormat::Png)).is_err());
        // The head of a PNG with 16384 x 16384 pixels of 4 bytes.
        let head = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00@\x00\x00\x00@\x00\x08\x06\x00\x00\x00\xa9\xc8\x10\x84\x00\x00\x00\x00IDAT5\xaf\x06\x1e";
        let large = decode(head).unwrap_err();
        assert!(large.contains("more than 512 MB unpacked"), "{large}");
    }
}
