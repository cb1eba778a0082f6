//! Creates GLB files of models whose surfaces are known exactly.

use serde_json::json;
use std::f32::consts::TAU;

/// Number of rows and columns of curved surfaces. With these numbers, the flat triangles are at most 4e-5 units away
/// from the true surface.
const ROWS: u32 = 256;
const COLUMNS: u32 = 512;

/// A mesh to which surfaces are added.
#[derive(Default)]
struct Mesh {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    indices: Vec<u32>,
}

impl Mesh {
    /// Returns a surface over a grid. `at` returns the position and the normal at a row and a column, which are both
    /// given as fractions from 0 to 1.
    fn grid(rows: u32, columns: u32, at: impl Fn(f32, f32) -> ([f32; 3], [f32; 3])) -> Self {
        let mut mesh = Self::default();
        for row in 0..=rows {
            for column in 0..=columns {
                let (place, normal) = at(row as f32 / rows as f32, column as f32 / columns as f32);
                mesh.positions.push(place);
                mesh.normals.push(normal);
            }
        }
        let corner = |row: u32, column: u32| row * (columns + 1) + column;
        for row in 0..rows {
            for column in 0..columns {
                let (a, b) = (corner(row, column), corner(row, column + 1));
                let (c, d) = (corner(row + 1, column), corner(row + 1, column + 1));
                mesh.indices.extend([a, b, c, b, d, c]);
            }
        }
        mesh
    }

    fn glb(&self) -> Vec<u8> {
        let floats = self.positions.iter().chain(&self.normals).flatten();
        let mut buffer: Vec<u8> = floats.flat_map(|v| v.to_le_bytes()).collect();
        buffer.extend(self.indices.iter().flat_map(|i| i.to_le_bytes()));
        let side = |pick: fn(f32, f32) -> f32, axis: usize| self.positions.iter().map(|p| p[axis]).reduce(pick);
        let (least, most) = ([0, 1, 2].map(|axis| side(f32::min, axis)), [0, 1, 2].map(|axis| side(f32::max, axis)));
        let (count, vectors) = (self.positions.len(), self.positions.len() * 12);
        let document = json!({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [
                {"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 2, "material": 0},
            ]}],
            "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.3, 0.2, 1], "metallicFactor": 0}}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": least, "max": most},
                {"bufferView": 1, "componentType": 5126, "count": count, "type": "VEC3"},
                {"bufferView": 2, "componentType": 5125, "count": self.indices.len(), "type": "SCALAR"},
            ],
            "bufferViews": [
                {"buffer": 0, "byteLength": vectors},
                {"buffer": 0, "byteOffset": vectors, "byteLength": vectors},
                {"buffer": 0, "byteOffset": 2 * vectors, "byteLength": self.indices.len() * 4},
            ],
            "buffers": [{"byteLength": buffer.len()}],
        });
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let length = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        let mut out = b"glTF\x02\0\0\0".to_vec();
        out.extend(length(28 + text.len() + buffer.len()));
        for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &buffer)] {
            out.extend(length(chunk.len()));
            out.extend(kind);
            out.extend(chunk);
        }
        out
    }
}

/// Returns a sphere of radius 1.
pub(crate) fn sphere() -> Vec<u8> {
    let at = |row: f32, column: f32| {
        let (polar, azimuth) = (0.5 * TAU * row, TAU * column);
        let p = [polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin()];
        (p, p)
    };
    Mesh::grid(ROWS, COLUMNS, at).glb()
}

/// Returns a torus around the vertical axis. The ring has the radius 0.7, and the tube has the radius 0.3.
pub(crate) fn torus() -> Vec<u8> {
    let at = |row: f32, column: f32| {
        let (around, azimuth) = (-TAU * row, TAU * column);
        let across = 0.7 + 0.3 * around.cos();
        let normal = [around.cos() * azimuth.cos(), around.sin(), around.cos() * azimuth.sin()];
        ([across * azimuth.cos(), 0.3 * around.sin(), across * azimuth.sin()], normal)
    };
    Mesh::grid(ROWS, COLUMNS, at).glb()
}

/// Returns a box of 2 × 1.5 × 1 units.
pub(crate) fn cuboid() -> Vec<u8> {
    let half = [1.0, 0.75, 0.5];
    let mut mesh = Mesh::default();
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let (second, third) =
                if sign > 0.0 { ((axis + 1) % 3, (axis + 2) % 3) } else { ((axis + 2) % 3, (axis + 1) % 3) };
            let first = u32::try_from(mesh.positions.len()).unwrap();
            for (s, t) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                let (mut place, mut normal) = ([0.0; 3], [0.0; 3]);
                place[axis] = sign * half[axis];
                place[second] = s * half[second];
                place[third] = t * half[third];
                normal[axis] = sign;
                mesh.positions.push(place);
                mesh.normals.push(normal);
            }
            mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|i| first + i));
        }
    }
    mesh.glb()
}
