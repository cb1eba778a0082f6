//! Mutations that keep the container of a GLB valid.

use crate::json::{mutate_json, mutate_json_input};
use crate::parts::joined;
use crate::{mutate_part, parts};

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// Mutates the JSON chunk or the binary chunk of a GLB, and adjusts the lengths in its headers. Most mutations of the JSON keep its
/// syntax valid. Arbitrary mutations hardly ever pass the checks of the container, so only every sixteenth is arbitrary.
pub fn mutate_glb(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    mutate: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let whole = data.get(..size).and_then(chunks).map(|(json, bin)| (json.to_vec(), bin.to_vec()));
    let Some((mut json, mut bin)) = whole.filter(|_| seed % 16 != 0) else { return mutate(data, size, max_size) };
    let frame = HEADER + 2 * CHUNK_HEADER + 6;
    let room = max_size.saturating_sub(frame + json.len() + bin.len());
    match seed % 16 {
        1..=3 => mutate_part(&mut json, room, mutate),
        4..=10 => match mutate_json(&json, seed / 16) {
            Some(changed) if changed.len() <= json.len() + room => json = changed,
            _ => mutate_part(&mut json, room, mutate),
        },
        _ => mutate_part(&mut bin, room, mutate),
    }
    let glb = glb(&json, &bin);
    let Some(target) = data.get_mut(..glb.len()) else { return size };
    target.copy_from_slice(&glb);
    glb.len()
}

/// Mutates an input of two parts, settings and a GLB. The container of the GLB stays valid, as in [`mutate_glb`].
pub fn mutate_settings_and_glb(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    mutate: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let [settings, glb] = parts::<2>(&data[..size]);
    let (mut settings, mut glb) = (settings.to_vec(), glb.to_vec());
    let room = max_size.saturating_sub(joined(&[&settings, &glb]).len());
    if seed % 4 == 0 {
        let old = settings.len();
        settings.resize(old + room, 0);
        let changed = mutate_json_input(&mut settings, old, old + room, seed / 4, mutate);
        settings.truncate(changed);
    } else {
        let old = glb.len();
        glb.resize(old + room, 0);
        let changed = mutate_glb(&mut glb, old, old + room, seed / 4, mutate);
        glb.truncate(changed);
    }
    let input = joined(&[&settings, &glb]);
    let Some(target) = data.get_mut(..input.len()) else { return size };
    target.copy_from_slice(&input);
    input.len()
}

fn chunks(glb: &[u8]) -> Option<(&[u8], &[u8])> {
    let chunk = |at: usize| {
        let length = u32::from_le_bytes(glb.get(at..at + 4)?.try_into().ok()?) as usize;
        glb.get(at + CHUNK_HEADER..(at + CHUNK_HEADER).checked_add(length)?)
    };
    let json = chunk(HEADER)?;
    Some((json, chunk(HEADER + CHUNK_HEADER + json.len()).unwrap_or(&[])))
}

fn glb(json: &[u8], bin: &[u8]) -> Vec<u8> {
    let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, data, filler) in [(b"JSON", json, b' '), (b"BIN\0", bin, 0)] {
        out.extend((data.len().next_multiple_of(4) as u32).to_le_bytes());
        out.extend(kind);
        out.extend(data);
        out.resize(out.len().next_multiple_of(4), filler);
    }
    let length = out.len() as u32;
    out[8..HEADER].copy_from_slice(&length.to_le_bytes());
    out
}
