//! Decodes the content of a download. Object stores send files that were stored with `Content-Encoding: gzip` in compressed form, even
//! if the client does not ask for it.

use std::io::{Error, Write as _};

use flate2::write::MultiGzDecoder;
use plinth_spec::ErrorCode;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::error::{Result, ServiceError};
use crate::models::Incoming;

/// Number of compressed bytes that are decompressed at once. They become at most 1032 times as large.
const PIECE_BYTES: usize = 4 << 10;

/// Decoder of the content of a response.
pub(super) enum Content {
    /// The content is the file itself.
    Plain,
    /// The content is the file, compressed with gzip.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Content {
    /// Returns the decoder for a response with these headers.
    /// Errors: the content is compressed, but not with gzip.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self> {
        let value = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut content = Self::Plain;
        for coding in value.to_ascii_lowercase().split(',').map(str::trim) {
            match coding {
                "gzip" | "x-gzip" => content = Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                "br" | "compress" | "x-compress" | "deflate" | "zstd" => {
                    let message =
                        format!("the URL's server sends the file compressed with '{coding}'; only gzip is supported");
                    return Err(ServiceError::new(ErrorCode::InvalidContentType, message));
                }
                // Many servers send other values, such as `aws-chunked` or `utf-8`, with content that is not compressed.
                _ => {}
            }
        }
        Ok(content)
    }

    /// Returns whether the content is the file itself, so that both have the same size.
    pub(super) const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Decodes a chunk of the content and appends it to `file`.
    pub(super) async fn write(&mut self, bytes: &[u8], file: &mut Incoming) -> Result<()> {
        let Self::Gzip(decoder) = self else { return file.write(bytes).await };
        for piece in bytes.chunks(PIECE_BYTES) {
            decoder.write_all(piece).map_err(damaged)?;
            let decoded = std::mem::take(decoder.get_mut());
            file.write(&decoded).await?;
        }
        Ok(())
    }

    /// Appends the rest of the decoded content to `file`. Called after the last chunk.
    /// Errors: compressed content ends early, or its checksum is wrong.
    pub(super) async fn finish(self, file: &mut Incoming) -> Result<()> {
        let Self::Gzip(decoder) = self else { return Ok(()) };
        let decoded = decoder.finish().map_err(damaged)?;
        file.write(&decoded).await
    }
}

fn damaged(cause: Error) -> ServiceError {
    let message = "the URL's server sends the file compressed with gzip, but the compressed data is damaged";
    ServiceError::new(ErrorCode::IngestFailed, message).with_cause(cause)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn of(value: &'static str) -> Result<Content> {
        let headers: HeaderMap = [(CONTENT_ENCODING, HeaderValue::from_static(value))].into_iter().collect();
        Content::of(&headers)
    }

    #[test]
    fn only_compression_with_gzip_is_decoded() {
        assert!(Content::of(&HeaderMap::new()).unwrap().is_plain());
        for plain in ["", "identity", "utf-8", "aws-chunked"] {
            assert!(of(plain).unwrap().is_plain(), "{plain}");
        }
        for gzip in ["gzip", "GZIP", "x-gzip", "aws-chunked, gzip"] {
            assert!(!of(gzip).unwrap().is_plain(), "{gzip}");
        }
        for other in ["br", "gzip, br", "zstd", "deflate"] {
            let error = of(other).map(drop).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidContentType, "{other}");
        }
    }
}
