//! Size limits of JSON request bodies.

use serde::de::DeserializeOwned;

use super::{
    CheckHash, CreateBatch, CreateLook, CreateRender, CreateUploadUrl, DrawPreview, FinalizeUpload, FindCameras,
    FindSurfaces, IngestModel, QuoteRequest, ResolveOverlay, UpdateLook, UpdateModel,
};
use crate::limits::{JSON_BATCH_BYTES, JSON_BATCH_VALUES, JSON_RENDER_BYTES, JSON_SMALL_BYTES, JSON_VALUES};

/// The JSON body of a request.
pub trait JsonRequest: DeserializeOwned {
    /// Maximum size of the JSON text, in bytes.
    const MAX_BYTES: usize;
    /// Maximum number of values in the JSON text.
    const MAX_VALUES: usize;
}

macro_rules! json_requests {
    ($($name:ident: $bytes:ident;)*) => {
        $(impl JsonRequest for $name {
            const MAX_BYTES: usize = $bytes;
            const MAX_VALUES: usize = values_in($bytes);
        })*

        /// Returns the maximum size in bytes, and the maximum number of values, of the request body that has this schema
        /// name in the OpenAPI document. Returns `None` if no request body has this schema.
        pub fn json_request_limits(schema: &str) -> Option<(usize, usize)> {
            match schema {
                $(stringify!($name) => Some(($name::MAX_BYTES, $name::MAX_VALUES)),)*
                _ => None,
            }
        }
    };
}

/// Returns the maximum number of values in bodies of at most `bytes` bytes.
const fn values_in(bytes: usize) -> usize {
    if bytes == JSON_BATCH_BYTES { JSON_BATCH_VALUES } else { JSON_VALUES }
}

json_requests! {
    CheckHash: JSON_SMALL_BYTES;
    CreateUploadUrl: JSON_SMALL_BYTES;
    ResolveOverlay: JSON_SMALL_BYTES;
    UpdateModel: JSON_SMALL_BYTES;
    CreateLook: JSON_RENDER_BYTES;
    CreateRender: JSON_RENDER_BYTES;
    DrawPreview: JSON_RENDER_BYTES;
    FinalizeUpload: JSON_RENDER_BYTES;
    FindCameras: JSON_RENDER_BYTES;
    FindSurfaces: JSON_RENDER_BYTES;
    IngestModel: JSON_RENDER_BYTES;
    UpdateLook: JSON_RENDER_BYTES;
    CreateBatch: JSON_BATCH_BYTES;
    QuoteRequest: JSON_BATCH_BYTES;
}

/// Returns an upper bound of the number of values in a JSON text without parsing the text. The bound is the number of
/// separators and opening brackets outside of strings, plus one.
pub fn count_json_values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings_only() {
        let cases = [("1", 1), ("[1, 2]", 3), (r#"{"a": [1], "b,:[{": "\",\\", "c": {}}"#, 9), (r#""[[[["#, 1)];
        for (text, count) in cases {
            assert_eq!(count_json_values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn only_bodies_of_requests_have_a_limit() {
        assert_eq!(json_request_limits("CreateBatch"), Some((JSON_BATCH_BYTES, JSON_BATCH_VALUES)));
        assert_eq!(json_request_limits("CreateRender"), Some((JSON_RENDER_BYTES, JSON_VALUES)));
        assert_eq!(json_request_limits("Render"), None);
    }
}
