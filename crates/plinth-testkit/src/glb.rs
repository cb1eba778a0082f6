//! Small GLB files.

use serde_json::{Value, json};

use crate::image::png;

/// Returns a GLB with one triangle. Its node has the name `name`, so different names give different files.
pub fn glb_with_triangle(name: &str) -> Vec<u8> {
    triangle(&json!({"mesh": 0, "name": name}))
}

/// Returns a GLB that the service accepts but the renderer rejects, because the model's size exceeds the range of a
/// 32-bit float.
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

/// Returns a GLB with a sphere that has `4 * rows * rows` triangles.
pub fn glb_with_sphere(rows: u16) -> Vec<u8> {
    let (columns, angle) = (2 * u32::from(rows), std::f32::consts::PI / f32::from(rows));
    let point = |row: u16, column: u16| {
        let (polar, turn) = (angle * f32::from(row), angle * f32::from(column));
        [polar.sin() * turn.cos(), polar.cos(), polar.sin() * turn.sin()]
    };
    let positions: Vec<u8> = (0..=rows)
        .flat_map(|row| (0..=2 * rows).flat_map(move |column| point(row, column)))
        .flat_map(f32::to_le_bytes)
        .collect();
    let corners = |row: u32, column: u32| {
        let (this, next) = (row * (columns + 1) + column, (row + 1) * (columns + 1) + column);
        [this, this + 1, next, this + 1, next + 1, next]
    };
    let indices: Vec<u8> = (0..u32::from(rows))
        .flat_map(|row| (0..columns).flat_map(move |column| corners(row, column)))
        .flat_map(u32::to_le_bytes)
        .collect();
    let document = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "sphere"}],
        "meshes": [{"name": "sphere", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": positions.len() / 12, "type": "VEC3",
             "min": [-1.0, -1.0, -1.0], "max": [1.0, 1.0, 1.0]},
            {"bufferView": 1, "componentType": 5125, "count": indices.len() / 4, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": positions.len()},
            {"buffer": 0, "byteOffset": positions.len(), "byteLength": indices.len()},
        ],
        "buffers": [{"byteLength": positions.len() + indices.len()}],
    });
    glb(&document, &[positions, indices].concat())
}

/// Returns a GLB whose triangle has texture coordinates, a material with a colour map, and an animation. All objects
/// are named `name` with a number at the end.
pub fn glb_with_names(name: &str) -> Vec<u8> {
    let positions: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let coordinates: [f32; 6] = [0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let (times, moves): ([f32; 2], [f32; 6]) = ([0.0, 1.0], [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]);
    let parts = [positions.as_slice(), &coordinates, &times, &moves];
    let bytes = |part: &[f32]| part.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let (mut buffer, mut views) = (Vec::new(), Vec::new());
    for part in parts.map(bytes).into_iter().chain([png(120)]) {
        views.push(json!({"buffer": 0, "byteOffset": buffer.len(), "byteLength": part.len()}));
        buffer.extend(part);
        buffer.resize(buffer.len().next_multiple_of(4), 0);
    }
    let accessor = |view: usize, count: usize, kind: &str, most: &Value| {
        let least = vec![0.0; most.as_array().map_or(0, Vec::len)];
        json!({"bufferView": view, "componentType": 5126, "count": count, "type": kind, "min": least, "max": most})
    };
    let document = json!({
        "asset": {"version": "2.0", "generator": format!("{name} 0")},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": format!("{name} 1")}],
        "meshes": [{"name": format!("{name} 2"), "primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 0}]}],
        "materials": [{"name": format!("{name} 3"), "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        // No texture uses the second image, and its buffer view does not exist. Inspecting the model gives a warning
        // about this image.
        "images": [{"name": format!("{name} 4"), "bufferView": 4, "mimeType": "image/png"}, {"bufferView": 99}],
        "animations": [{
            "name": format!("{name} 5"),
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
            "samplers": [{"input": 2, "output": 3}],
        }],
        "accessors": [
            accessor(0, 3, "VEC3", &json!([1.0, 1.0, 0.0])), accessor(1, 3, "VEC2", &json!([1.0, 1.0])),
            accessor(2, 2, "SCALAR", &json!([1.0])), accessor(3, 2, "VEC3", &json!([0.1, 0.0, 0.0])),
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": buffer.len()}],
        "extensionsUsed": ["EXT_of_nobody"],
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
