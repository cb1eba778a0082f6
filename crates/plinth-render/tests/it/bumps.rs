//! Tests of normal maps. The normal map shows a hill: each quarter of the texture is inclined outwards. Even if the
//! texture is rotated or mirrored, the side towards the light must be brighter. As seen from behind, the hill is a
//! hollow.

use std::collections::BTreeMap;

use glam::Vec3;
use plinth_model::{LoadOptions, Model, load_glb};
use plinth_scene::EnvironmentMap;
use serde_json::{Value, json};

use crate::models::{picture, png, scene_with, straight_on};

const SIDE: u32 = 64;

/// A name, the texture coordinates as a function of the position in the square (x to the right, y up, 0 to 1), and the
/// tangent that matches them.
type Laid = (&'static str, fn(f32, f32) -> [f32; 2], [f32; 4]);

const LAID: [Laid; 5] = [
    ("upright", |x, y| [x, 1.0 - y], [1.0, 0.0, 0.0, 1.0]),
    ("mirrored", |x, y| [1.0 - x, 1.0 - y], [-1.0, 0.0, 0.0, -1.0]),
    ("turned", |x, y| [y, x], [0.0, 1.0, 0.0, 1.0]),
    ("upside down", |x, y| [1.0 - x, y], [-1.0, 0.0, 0.0, 1.0]),
    ("mirrored and turned", |x, y| [y, 1.0 - x], [0.0, 1.0, 0.0, -1.0]),
];

/// Source of the tangents.
#[derive(Clone, Copy, Debug)]
enum Tangents {
    File,
    MikkTSpace,
    Sums,
}

const ALL: [Tangents; 3] = [Tangents::File, Tangents::MikkTSpace, Tangents::Sums];

/// A GLB file with one square that faces +z and has the hill as its normal map. The side length of the square is 2.
struct Sheet {
    positions: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    tangents: Vec<[f32; 4]>,
    indices: Vec<u32>,
    /// The JSON of the node, without its mesh.
    node: Value,
    /// The JSON of the normal map's texture reference.
    map: Value,
    /// Index of the set with the texture coordinates. Sets with a lower index contain other coordinates.
    set: usize,
}

impl Sheet {
    fn new((_, uv, tangent): Laid, from: Tangents) -> Self {
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let mut out = Self {
            positions: corners.iter().map(|[x, y]| [*x, *y, 0.0]).collect(),
            uvs: corners.iter().map(|[x, y]| uv(0.5 * x + 0.5, 0.5 * y + 0.5)).collect(),
            tangents: Vec::new(),
            indices: vec![0, 1, 2, 0, 2, 3],
            node: json!({}),
            map: json!({"index": 0}),
            set: 0,
        };
        match from {
            Tangents::File => out.tangents = vec![tangent; 4],
            Tangents::MikkTSpace => {}
            Tangents::Sums => out.crowd(),
        }
        out
    }

    /// Adds a triangle fan that is too small to be visible. More triangles meet at its centre than MikkTSpace supports,
    /// so tangents are averaged.
    fn crowd(&mut self) {
        for i in 0..=1200_u16 {
            let (y, x) = (f32::from(i) / 1200.0 * std::f32::consts::TAU).sin_cos();
            let radius = if i == 0 { 0.0 } else { 1e-3 };
            self.positions.push([x * radius, y * radius, 0.0]);
            self.uvs.push([x, y]);
        }
        self.indices.extend((1..1200).flat_map(|i| [4, 4 + i, 5 + i]));
    }

    fn model(&self) -> Model {
        let mut file = File::default();
        let mut attributes = json!({
            "POSITION": file.accessor(self.positions.as_flattened(), "VEC3"),
            "NORMAL": file.accessor([[0.0, 0.0, 1.0]].repeat(self.positions.len()).as_flattened(), "VEC3"),
        });
        for set in 0..self.set {
            attributes[format!("TEXCOORD_{set}")] = file.accessor(&vec![0.5; 2 * self.uvs.len()], "VEC2").into();
        }
        attributes[format!("TEXCOORD_{}", self.set)] = file.accessor(self.uvs.as_flattened(), "VEC2").into();
        if !self.tangents.is_empty() {
            attributes["TANGENT"] = file.accessor(self.tangents.as_flattened(), "VEC4").into();
        }
        let indices: Vec<u8> = self.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let view = file.view(&indices);
        file.accessors
            .push(json!({"bufferView": view, "componentType": 5125, "count": self.indices.len(), "type": "SCALAR"}));
        let image = file.view(&hill());
        let mut node = self.node.clone();
        node["mesh"] = 0.into();
        let mesh = json!({"attributes": attributes, "indices": file.accessors.len() - 1, "material": 0});
        let document = json!({
            "asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [node], "meshes": [{"primitives": [mesh]}],
            "materials": [{
                "name": "Paint", "normalTexture": self.map, "doubleSided": true,
                "pbrMetallicRoughness": {"baseColorFactor": [0.6, 0.6, 0.6, 1], "metallicFactor": 0, "roughnessFactor": 1},
            }],
            "textures": [{"source": 0}], "images": [{"bufferView": image, "mimeType": "image/png"}],
            "accessors": file.accessors, "bufferViews": file.views, "buffers": [{"byteLength": file.bytes.len()}],
        });
        load_glb(&file.glb(&document), &LoadOptions::default()).unwrap()
    }
}

/// Returns a normal map with four quarters that are inclined outwards by 37°. x points to the right of the texture, and
/// y points up.
fn hill() -> Vec<u8> {
    let byte = |c: f32| ((c * 0.5 + 0.5) * 255.0).round() as u8;
    png(16, 16, |x, y| {
        let n = Vec3::new(if x < 8 { -0.5 } else { 0.5 }, if y < 8 { 0.5 } else { -0.5 }, 0.9).normalize();
        [byte(n.x), byte(n.y), byte(n.z), 255]
    })
}

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl File {
    fn view(&mut self, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend(bytes);
        self.views.len() - 1
    }

    fn accessor(&mut self, values: &[f32], kind: &str) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes);
        let width = usize::from(kind.as_bytes()[3] - b'0');
        let count = values.len() / width;
        self.accessors.push(json!({"bufferView": view, "componentType": 5126, "count": count, "type": kind}));
        self.accessors.len() - 1
    }

    fn glb(&self, document: &Value) -> Vec<u8> {
        let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, data, filler) in [(b"JSON", document.to_string().as_bytes(), b' '), (b"BIN\0", &self.bytes, 0)] {
            out.extend((data.len().next_multiple_of(4) as u32).to_le_bytes());
            out.extend(kind);
            out.extend(data);
            out.resize(out.len().next_multiple_of(4), filler);
        }
        let length = out.len() as u32;
        out[8..12].copy_from_slice(&length.to_le_bytes());
        out
    }
}

/// Returns the brightness of the upper half, the lower half, the left half and the right half of the square. As seen
/// from the front, the light comes from the upper left.
fn halves(sheet: &Sheet, from_behind: bool, edit: &Value) -> [f32; 4] {
    let light = Vec3::new(-1.0, 1.0, 0.0).normalize();
    let mut room = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.05; 3]; 64 * 32] };
    for i in 0..64 * 32_u32 {
        if room.direction(i % 64, i / 64).dot(light) > 0.5 {
            room.pixels[i as usize] = [2.0; 3];
        }
    }
    let mut settings = straight_on();
    settings["materialEdits"] = json!({"Paint": edit});
    if from_behind {
        settings["keyframes"][0]["pose"]["position"] = json!([0, 0, -4]);
    }
    let picture = picture(&scene_with(sheet.model(), &settings, room, &BTreeMap::new()), SIDE);
    // The field of view is 40°, and the camera is 4 units away from the square.
    let scale = SIDE as f32 * 0.5 / (20_f32.to_radians().tan() * 4.0);
    let quarter = |x: f32, y: f32| {
        let right = if from_behind { -x } else { x };
        let (column, row) = (SIDE as f32 * 0.5 + right * scale, SIDE as f32 * 0.5 - y * scale);
        f32::from(picture[(row as u32 * SIDE + column as u32) as usize][1])
    };
    let [a, b, c, d] = [quarter(-0.5, 0.5), quarter(0.5, 0.5), quarter(-0.5, -0.5), quarter(0.5, -0.5)];
    [a + b, c + d, a + c, b + d].map(|sum| sum * 0.5)
}

#[track_caller]
fn rises(sheet: &Sheet, what: &str) {
    let [upper, lower, left, right] = halves(sheet, false, &json!({}));
    assert!(upper > lower + 20.0, "{what}: the brightness is {upper} above, towards the light, and {lower} below");
    assert!(
        left > right + 20.0,
        "{what}: the brightness is {left} on the left, towards the light, and {right} on the right"
    );
}

#[test]
fn a_hill_is_lit_correctly_for_every_texture_orientation_and_source_of_tangents() {
    for laid in LAID {
        for from in ALL {
            rises(&Sheet::new(laid, from), &format!("{}, {from:?}", laid.0));
        }
    }
}

#[test]
fn a_hill_seen_from_behind_is_a_hollow() {
    for laid in [LAID[0], LAID[1]] {
        for (from, side) in [(Tangents::File, "double"), (Tangents::MikkTSpace, "double"), (Tangents::File, "back")] {
            let [upper, lower, left, right] = halves(&Sheet::new(laid, from), true, &json!({"side": side}));
            let is_hollow = lower > upper + 20.0 && right > left + 20.0;
            assert!(is_hollow, "{}, {from:?}, {side}: {upper} {lower} {left} {right}", laid.0);
        }
    }
}

#[test]
fn a_hill_on_a_mirrored_node_is_lit_correctly() {
    for from in ALL {
        for scale in [[-1, 1, 1], [1, -1, 1], [-1, -1, 1]] {
            let sheet = Sheet { node: json!({"scale": scale}), ..Sheet::new(LAID[4], from) };
            rises(&sheet, &format!("{from:?}, {scale:?}"));
        }
    }
}

#[test]
fn a_texture_transform_rotates_the_normal_map_and_its_tangents() {
    for transform in [
        json!({"rotation": std::f32::consts::FRAC_PI_2}),
        json!({"scale": [-1, 1]}),
        json!({"rotation": std::f32::consts::PI, "scale": [1, -1], "offset": [3, 2]}),
    ] {
        for from in [Tangents::MikkTSpace, Tangents::Sums] {
            let map = json!({"index": 0, "extensions": {"KHR_texture_transform": transform}});
            rises(&Sheet { map, ..Sheet::new(LAID[0], from) }, &format!("{transform}, {from:?}"));
        }
    }
}

#[test]
fn a_normal_map_is_read_with_its_own_set_of_texture_coordinates() {
    for (set, from) in [(1, Tangents::File), (1, Tangents::MikkTSpace), (3, Tangents::MikkTSpace)] {
        let sheet = Sheet { set, map: json!({"index": 0, "texCoord": set}), ..Sheet::new(LAID[2], from) };
        rises(&sheet, &format!("set {set}, {from:?}"));
    }
}

#[test]
fn a_normal_map_has_no_effect_where_texture_coordinates_do_not_vary() {
    let texel = |at: [f32; 2]| {
        let mut sheet = Sheet::new(LAID[0], Tangents::MikkTSpace);
        sheet.uvs.fill(at);
        halves(&sheet, false, &json!({}))[0]
    };
    let (one_way, other_way) = (texel([0.8, 0.2]), texel([0.2, 0.8]));
    assert!((one_way - other_way).abs() < 3.0, "{one_way} {other_way}");
}
