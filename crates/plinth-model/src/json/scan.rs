//! Counts the objects and values of a JSON text before it is parsed. Parsing can turn three bytes of text into an
//! object that takes several hundred bytes of memory, so the size of the text does not limit the memory.

use crate::error::{ModelError, Result};
use crate::limits::{Budget, Limits, check};

/// Approximate maximum memory of a parsed object, in bytes.
const BYTES_PER_OBJECT: u64 = 256;
/// Approximate memory in bytes that a parsed value takes in the list that contains it.
const BYTES_PER_VALUE: u64 = 8;

/// Checks that a text starts like a JSON object and does not exceed the limits, and counts its parsed size against the
/// budget. Brackets and commas inside strings are counted, too, but documents have few of them in practice.
pub(crate) fn check_size(text: &str, limits: Limits, budget: &Budget) -> Result<()> {
    if !text.trim_start().starts_with('{') {
        return Err(ModelError::Json { problem: "the document is not an object".to_owned() });
    }
    let (mut objects, mut values) = (0, 0);
    for byte in text.bytes() {
        objects += u64::from(byte == b'{');
        values += u64::from(matches!(byte, b'{' | b'[' | b','));
    }
    check("JSON objects", objects, limits.json_objects)?;
    check("JSON values", values, limits.json_values)?;
    budget.take_bytes(objects * BYTES_PER_OBJECT + values * BYTES_PER_VALUE)
}
