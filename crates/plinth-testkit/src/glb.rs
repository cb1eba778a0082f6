//! Small GLB files.

use serde_json::{Value, json};

/// Returns a GLB with one triangle. Its node has this name, so different names give different files.
pub fn glb_with_triangle(name: &str) -> Vec<u8> {
    triangle(&json!({"mesh": 0, "name": name}))
}

/// Returns a GLB that the service accepts but the renderer rejects, because its size exceeds the range of a 32-bit
/// float.
pub fn glb_too_large_to_draw() -> Vec<u8> {
    triangle(&json!({"mesh": 0, "name": "huge", "translation": [3e38, 0, 0], "scale": [3e38, 1, 1]}))
}

fn triangle(node: &Value) -> Vec<u8> {
    let positions: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let buffer: Vec<u8> = positions.iter().flat_map(|v| v.to_le_bytes()).collect();
    let document = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [node],
        "meshes": [{"name": node["name"], "primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{
            "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
            "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 0.0],
        }],
        "bufferViews": [{"buffer": 0, "byteLength": buffer.len()}],
        "buffers": [{"byteLength": buffer.len()}],
    });
    glb(&document, &buffer)
}

/// Returns a GLB without meshes.
pub fn glb_without_meshes() -> Vec<u8> {
    glb(&json!({"asset": {"version": "2.0"}, "scenes": [{"nodes": []}]}), &[])
}

fn glb(document: &Value, buffer: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut out = b"glTF".to_vec();
    let length = |n: usize| u32::try_from(n).expect("a small model").to_le_bytes();
    let chunks = 8 + text.len() + if buffer.is_empty() { 0 } else { 8 + buffer.len() };
    out.extend(2u32.to_le_bytes());
    out.extend(length(12 + chunks));
    for (kind, bytes) in [(b"JSON", text.as_slice()), (b"BIN\0", buffer)] {
        if !bytes.is_empty() {
            out.extend(length(bytes.len()));
            out.extend(kind);
            out.extend(bytes);
        }
    }
    out
}
