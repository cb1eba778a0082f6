//! How much a JSON text holds, counted before anything is made of it: three bytes of text can become an object of some
//! hundred bytes in memory.

use crate::error::{ModelError, Result};
use crate::limits::{Budget, Limits, check};

/// About what an object takes once it is parsed, at most.
const BYTES_PER_OBJECT: u64 = 256;
/// The same of a value in a list.
const BYTES_PER_VALUE: u64 = 8;

/// Refuses a text that is not an object, or holds more than the limits allow, and enters the rest into the budget. Brackets and commas inside of texts
/// count too, which real documents have few of.
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
