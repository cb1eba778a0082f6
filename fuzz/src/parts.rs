//! Inputs of several parts, such as the files of an environment. Each part consists of its length (32 bits, little-endian) and
//! its bytes.

use crate::json::mutate_json;
use crate::mutation::{MutateBytes, mutated};

const LENGTH_BYTES: usize = 4;

/// Splits an input into its parts. A part that is cut off contains the existing bytes; a missing part is empty.
pub fn parts<const N: usize>(mut data: &[u8]) -> [&[u8]; N] {
    std::array::from_fn(|_part| {
        let (length, rest) = data.split_first_chunk::<LENGTH_BYTES>().unwrap_or((&[0; LENGTH_BYTES], &[]));
        let (part, rest) = rest.split_at((u32::from_le_bytes(*length) as usize).min(rest.len()));
        data = rest;
        part
    })
}

/// Joins parts to an input.
pub(crate) fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// Mutates one part of an input whose first part is a JSON text. Most mutations of this part keep its syntax valid. The result has
/// at most `max_size` bytes.
pub fn mutate_json_and_parts<const N: usize>(input: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Vec<u8> {
    let mut parts = parts::<N>(input).map(<[u8]>::to_vec);
    let used: usize = parts.iter().map(|part| LENGTH_BYTES + part.len()).sum();
    let place = seed as usize % N;
    let part = &mut parts[place];
    let part_size = part.len() + max_size.saturating_sub(used);
    *part = match place {
        0 => mutate_json(part, part_size, seed / N as u32, mutate),
        _ => mutated(part, part_size, mutate),
    };
    joined(&parts.each_ref().map(Vec::as_slice))
}
