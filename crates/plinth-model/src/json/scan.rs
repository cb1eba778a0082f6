//! How much a JSON text holds, counted before anything is made of it: three bytes of text can become an object of some
//! hundred bytes in memory.

use crate::error::{ModelError, Result};
use crate::limits::{Limits, check};

/// Refuses a text that is not an object, or holds more than the limits allow. Brackets and commas inside of texts
/// count too, which real documents have few of.
pub(crate) fn check_size(text: &str, limits: Limits) -> Result<()> {
    if !text.trim_start().starts_with('{') {
        return Err(ModelError::Json { problem: "the document is not an object".to_owned() });
    }
    let (mut objects, mut values) = (0, 0);
    for byte in text.bytes() {
        objects += u64::from(byte == b'{');
        values += u64::from(matches!(byte, b'{' | b'[' | b','));
    }
    check("JSON objects", objects, limits.json_objects)?;
    check("JSON values", values, limits.json_values)
}
