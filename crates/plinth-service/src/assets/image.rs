//! Whether bytes are a picture that the renderer can use.

use std::io::Cursor;

use bytes::Bytes;
use image::{ImageFormat, ImageReader, Limits};
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
/// Errors: one that is too large, of another kind, or broken.
pub(super) async fn check(bytes: Bytes) -> Result<Picture> {
    if bytes.len() as u64 > limits::IMAGE_BYTES {
        let words = format!("an image may have at most {} bytes", limits::IMAGE_BYTES);
        return Err(ServiceError::new(ErrorCode::FileTooLarge, words));
    }
    if bytes.is_empty() {
        return Err(ServiceError::new(ErrorCode::NoFile, "give 'file', an image"));
    }
    let checking = tokio::task::spawn_blocking(move || decode(&bytes));
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
    let picture = reader.decode().map_err(|error| broken(&error.to_string()))?;
    Ok(Picture { width: picture.width(), height: picture.height(), content_type })
}

fn broken(problem: &str) -> ServiceError {
    ServiceError::bad_request(format!("the image cannot be used: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        image::DynamicImage::new_rgb8(width, height).write_to(&mut out, ImageFormat::Png).unwrap();
        out.into_inner()
    }

    #[tokio::test]
    async fn a_picture_is_known_by_its_content_not_its_name() {
        let picture = check(png(3, 2).into()).await.unwrap();
        assert_eq!(picture, Picture { width: 3, height: 2, content_type: "image/png" });
        let code = |bytes: Vec<u8>| async { check(bytes.into()).await.unwrap_err().code };
        assert_eq!(code(b"<svg/>".to_vec()).await, ErrorCode::BadRequest);
        assert_eq!(code(Vec::new()).await, ErrorCode::NoFile);
        assert_eq!(code(vec![0; usize::try_from(limits::IMAGE_BYTES).unwrap() + 1]).await, ErrorCode::FileTooLarge);
        let mut cut = png(3, 2);
        cut.truncate(40);
        assert_eq!(code(cut).await, ErrorCode::BadRequest);
    }

    #[tokio::test]
    async fn a_picture_with_a_side_beyond_the_limit_is_refused_before_it_is_unpacked() {
        let error = check(png(MAX_SIDE + 1, 1).into()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest);
    }
}
