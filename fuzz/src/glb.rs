//! GLB files with an image, and mutations that keep the container of a GLB valid.

use serde_json::json;

use crate::json::mutate_json;
use crate::mutation::{MutateBytes, mutated};
use crate::parts::{joined, parts};

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// Mutates the JSON chunk or the binary chunk of a GLB, and adjusts the lengths in its headers. Most mutations of the JSON keep its
/// syntax valid. Arbitrary mutations hardly ever pass the checks of the container, so only every sixteenth is arbitrary. The
/// result has at most `max_size` bytes.
pub fn mutate_glb(input: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Vec<u8> {
    let Some((json, bin)) = chunks(input).filter(|_chunks| seed % 16 != 0) else {
        return mutated(input, max_size, mutate);
    };
    let frame = HEADER + 2 * CHUNK_HEADER + 6;
    let room = max_size.saturating_sub(frame + json.len() + bin.len());
    if seed % 16 < 10 {
        glb(&mutate_json(json, json.len() + room, seed / 16, mutate), bin)
    } else {
        glb(json, &mutated(bin, bin.len() + room, mutate))
    }
}

/// Mutates an input of two parts, settings and a GLB. The result has at most `max_size` bytes.
pub fn mutate_settings_and_glb(input: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Vec<u8> {
    let [settings, glb] = parts::<2>(input);
    let room = max_size.saturating_sub(joined(&[settings, glb]).len());
    if seed % 4 == 0 {
        joined(&[&mutate_json(settings, settings.len() + room, seed / 4, mutate), glb])
    } else {
        joined(&[settings, &mutate_glb(glb, glb.len() + room, seed / 4, mutate)])
    }
}

/// Returns a GLB with one triangle, whose texture is a KTX2 image. The positions and texture coordinates are zero, so they take no
/// bytes.
pub fn glb_with_ktx2(image: &[u8]) -> Vec<u8> {
    let json = json!({
        "asset": {"version": "2.0"},
        "extensionsRequired": ["KHR_texture_basisu"],
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 0}]}],
        "accessors": [
            {"componentType": 5126, "count": 3, "type": "VEC3"},
            {"componentType": 5126, "count": 3, "type": "VEC2"},
        ],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"extensions": {"KHR_texture_basisu": {"source": 0}}}],
        "images": [{"bufferView": 0, "mimeType": "image/ktx2"}],
        "bufferViews": [{"buffer": 0, "byteLength": image.len()}],
        "buffers": [{"byteLength": image.len()}],
    });
    glb(json.to_string().as_bytes(), image)
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
