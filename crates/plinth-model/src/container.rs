//! Splits a GLB file into its chunks (glTF 2.0 specification, section 4.4).

use crate::conversion::PACK_GLTF;
use crate::error::{ModelError, Result};

const MAGIC: u32 = 0x4654_6C67;
const JSON_CHUNK: u32 = 0x4E4F_534A;
const BIN_CHUNK: u32 = 0x004E_4942;

/// The JSON chunk and the binary chunk of a GLB file.
pub(crate) struct Container<'a> {
    pub(crate) json: &'a [u8],
    pub(crate) bin: Option<&'a [u8]>,
}

/// Reads the chunks of a GLB file. Bytes after the declared length are ignored.
pub(crate) fn read(bytes: &[u8]) -> Result<Container<'_>> {
    if bytes.is_empty() {
        return Err(ModelError::container("the file is empty"));
    }
    let word =
        |at: usize| -> Option<u32> { bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes) };
    match word(0) {
        Some(MAGIC) => {}
        _ if bytes.starts_with(b"PK\x03\x04") => {
            return Err(ModelError::container(
                "this is a ZIP archive; give the file the extension .zip to have it read as one",
            ));
        }
        _ if bytes.trim_ascii_start().starts_with(b"{") => {
            return Err(ModelError::container(format!("this is JSON, as in a .gltf; {PACK_GLTF}")));
        }
        _ => return Err(ModelError::container("the first four bytes are not 'glTF'")),
    }
    let (Some(version), Some(length)) = (word(4), word(8)) else {
        return Err(ModelError::container("the file ends inside its header"));
    };
    if version != 2 {
        return Err(ModelError::container(format!("container version {version}; only version 2 is known")));
    }
    let length = length as usize;
    if length > bytes.len() {
        return Err(ModelError::container(format!(
            "the header says {length} bytes but the file has {}; it is cut off",
            bytes.len()
        )));
    }
    let mut offset = 12;
    let (mut json, mut bin) = (None, None);
    while offset + 8 <= length {
        let (Some(size), Some(kind)) = (word(offset), word(offset + 4)) else { break };
        let size = size as usize;
        let chunk = (offset + 8)
            .checked_add(size)
            .filter(|end| *end <= length)
            .and_then(|end| bytes.get(offset + 8..end))
            .ok_or_else(|| ModelError::container("a chunk is longer than the file"))?;
        match kind {
            JSON_CHUNK if offset == 12 => json = Some(chunk),
            _ if offset == 12 => return Err(ModelError::container("the first chunk is not JSON")),
            BIN_CHUNK if bin.is_none() => bin = Some(chunk),
            _ => {}
        }
        offset += 8 + size;
    }
    let json = json.filter(|j| !j.is_empty()).ok_or_else(|| ModelError::container("there is no JSON chunk"))?;
    Ok(Container { json, bin })
}
