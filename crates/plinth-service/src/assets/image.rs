//! Whether bytes are a picture that the renderer can use.

use std::io::Cursor;

use bytes::Bytes;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};
use plinth_spec::ErrorCode;
use plinth_spec::limits;

use crate::error::{Result, ServiceError};

/// Longest side of a picture in pixels.
const MAX_SIDE: u32 = 16_384;
/// Most bytes that a picture may unpack to.
const MAX_UNPACKED_BYTES: u64 = 512 << 20;

/// What a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub width: u32,
    pub height: u32,
    pub content_type: &'static str,
}

/// Reads a picture as a whole, so that none is accepted that fails in a render later.
/// Errors: none at all, one that is too large, of another kind, or broken.
pub(super) async fn check(bytes: Option<Bytes>) -> Result<(Bytes, Picture)> {
    let bytes = bytes.ok_or_else(|| ServiceError::new(ErrorCode::NoFile, "give 'file', an image"))?;
    if bytes.len() as u64 > limits::IMAGE_BYTES {
        let words = format!("an image may have at most {} bytes", limits::IMAGE_BYTES);
        return Err(ServiceError::new(ErrorCode::FileTooLarge, words));
    }
    if bytes.is_empty() {
        return Err(broken("it is empty"));
    }
    let checking = tokio::task::spawn_blocking(move || decode(&bytes).map(|picture| (bytes, picture)));
    checking.await.map_err(|panic| broken("it cannot be read").with_cause(panic))?
}

fn decode(bytes: &[u8]) -> Result<Picture> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let content_type = match reader.format() {
        Some(ImageFormat::Png) => "image/png",
        Some(ImageFormat::Jpeg) => "image/jpeg",
        Some(ImageFormat::WebP) => "image/webp",
        _ => return Err(broken("it is neither PNG nor JPEG nor WebP")),
    };
    let mut bounds = Limits::default();
    bounds.max_image_width = Some(MAX_SIDE);
    bounds.max_image_height = Some(MAX_SIDE);
    bounds.max_alloc = Some(MAX_UNPACKED_BYTES);
    reader.limits(bounds);
    let is_jpeg = reader.format() == Some(ImageFormat::Jpeg);
    let fault = |error: ImageError| broken(&error.to_string());
    let mut decoder = reader.into_decoder().map_err(fault)?;
    if decoder.total_bytes() > MAX_UNPACKED_BYTES {
        return Err(broken(&format!("it takes more than {} MB unpacked", MAX_UNPACKED_BYTES >> 20)));
    }
    let turn = decoder.orientation().map_err(fault)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(fault)?;
    // The decoder fills up what is missing of a JPEG.
    if is_jpeg && !ends(bytes) {
        return Err(broken("it breaks off"));
    }
    picture.apply_orientation(turn);
    Ok(Picture { width: picture.width(), height: picture.height(), content_type })
}

/// Whether a JPEG has an end (EOI) after the beginning of its last scan (SOS); ITU-T T.81, annex B.
fn ends(jpeg: &[u8]) -> bool {
    let last = |marker: u8| jpeg.windows(2).rposition(|pair| pair == [0xff, marker]);
    last(0xd9) > last(0xda)
}

fn broken(problem: &str) -> ServiceError {
    ServiceError::bad_request(format!("the image cannot be used: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut out, ImageFormat::Png).unwrap();
        out.into_inner()
    }

    #[tokio::test]
    async fn a_picture_is_known_by_its_content_not_its_name() {
        let (_, picture) = check(Some(png(3, 2).into())).await.unwrap();
        assert_eq!(picture, Picture { width: 3, height: 2, content_type: "image/png" });
        let code = |bytes: Vec<u8>| async { check(Some(bytes.into())).await.unwrap_err().code };
        assert_eq!(check(None).await.unwrap_err().code, ErrorCode::NoFile);
        assert_eq!(code(b"<svg/>".to_vec()).await, ErrorCode::BadRequest);
        assert_eq!(code(Vec::new()).await, ErrorCode::BadRequest);
        assert_eq!(code(vec![0; usize::try_from(limits::IMAGE_BYTES).unwrap() + 1]).await, ErrorCode::FileTooLarge);
        let mut cut = png(3, 2);
        cut.truncate(40);
        assert_eq!(code(cut).await, ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_jpeg_that_breaks_off_is_refused() {
        let mut whole = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(64, 64).write_to(&mut whole, ImageFormat::Jpeg).unwrap();
        let mut jpeg = whole.into_inner();
        assert_eq!(check(Some(jpeg.clone().into())).await.unwrap().1.width, 64);
        jpeg.truncate(jpeg.len() - 3);
        assert_eq!(check(Some(jpeg.into())).await.unwrap_err().code, ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_picture_beyond_the_limits_is_refused_before_it_is_unpacked() {
        let error = check(Some(png(MAX_SIDE + 1, 1).into())).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest);
        // The head of a PNG with 16384 x 16384 pixels of 4 bytes.
        let head = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00@\x00\x00\x00@\x00\x08\x06\x00\x00\x00\xa9\xc8\x10\x84\x00\x00\x00\x00IDAT5\xaf\x06\x1e";
        let large = check(Some(Bytes::from_static(head))).await.unwrap_err();
        assert!(large.message.contains("more than 512 MB unpacked"), "{}", large.message);
    }
}
