//! Compression of text files in responses. Players of HLS streams expect compressed playlists (HLS Authoring Specification
//! for Apple Devices, requirement 10.1).

use std::io::{self, Write as _};

use axum::http::{HeaderMap, header};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Media types of the files that are compressed.
const TEXT: [&str; 2] = ["application/vnd.apple.mpegurl", "text/vtt"];
/// Maximum size in bytes of a file that is compressed. Larger files are sent as they are, because compression holds the whole
/// file in memory.
const MAX_BYTES: u64 = 1 << 20;

/// Returns whether a file is sent compressed to clients that accept this.
pub(crate) fn is_compressible(media_type: &str, size: u64) -> bool {
    TEXT.contains(&media_type) && size <= MAX_BYTES
}

/// Returns whether the client accepts compressed responses (RFC 9110, section 12.5.3).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let codings = values.flat_map(|value| value.split(',')).map(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        (name.trim(), weight.is_ok_and(|weight| weight > 0.0))
    });
    let codings: Vec<(&str, bool)> = codings.collect();
    let find = |wanted: &str| codings.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    find("gzip").or_else(|| find("*")).is_some_and(|(_, is_accepted)| *is_accepted)
}

/// Compresses the content of a file.
/// Errors: never in practice, because the result is written to memory.
pub(crate) fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_client_accepts_gzip_unless_its_weight_is_zero() {
        for (value, expected) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5, br", true),
            ("gzip; q=1.0", true),
            ("*", true),
            ("", false),
            ("identity", false),
            ("gzip;q=0", false),
            ("gzip;q=0, *", false),
            ("*;q=0", false),
            ("gzip;q=much", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
