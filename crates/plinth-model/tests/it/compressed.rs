//! Tests of compressed geometry.

use serde_json::{Value, json};

use crate::glb::{CORNERS, Glb, assert_near};

const QUAD: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];

/// Builds a primitive whose geometry is compressed with Draco.
fn draco(bytes: &[u8]) -> Glb {
    let mut glb = Glb::mesh(&QUAD);
    let view = glb.view(bytes);
    let bare = |kind: &str, code: u32| json!({"componentType": code, "count": 4, "type": kind});
    let mut attributes = json!({});
    for (name, kind, code) in
        [("POSITION", "VEC3", 5126), ("NORMAL", "VEC3", 5126), ("TEXCOORD_0", "VEC2", 5126), ("COLOR_0", "VEC4", 5121)]
    {
        attributes[name] = glb.push("accessors", bare(kind, code)).into();
    }
    let color = attributes["COLOR_0"].as_u64().unwrap() as usize;
    glb.json["accessors"][color]["normalized"] = true.into();
    let indices = glb.push("accessors", json!({"componentType": 5123, "count": 6, "type": "SCALAR"}));
    *glb.primitive() = json!({
        "attributes": attributes, "indices": indices,
        "extensions": {"KHR_draco_mesh_compression": {
            "bufferView": view, "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2, "COLOR_0": 3},
        }},
    });
    glb.json["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]);
    glb
}

const EDGEBREAKER: &[u8] = include_bytes!("../fixtures/quad_edgebreaker.drc");
const SEQUENTIAL: &[u8] = include_bytes!("../fixtures/quad_sequential.drc");

#[test]
fn both_draco_encodings_are_read() {
    for bytes in [EDGEBREAKER, SEQUENTIAL] {
        let read = draco(bytes).loaded();
        assert_eq!(read.indices.len(), 6);
        let area: f32 = read
            .indices
            .as_chunks::<3>()
            .0
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|i| glam::Vec3::from(read.positions[i as usize]));
                (b - a).cross(c - a).z * 0.5
            })
            .sum();
        assert_near(&[area], &[1.0]);
        for (v, [x, y, _]) in read.positions.iter().enumerate() {
            // In the test file, the texture coordinates equal the positions. The alpha of the vertex colours depends on
            // the corner.
            assert!((read.uvs[0][v][0] - x).abs() < 1e-3 && (read.uvs[0][v][1] - y).abs() < 1e-3);
            let alpha = if *x < 0.5 && *y > 0.5 { 128.0 / 255.0 } else { 1.0 };
            assert_near(&[read.colors[v][3]], &[alpha]);
            assert!(read.normals[v][2] > 0.99);
        }
    }
}

#[test]
fn non_finite_values_of_optional_draco_attributes_are_zero() {
    let with_nan = |at: usize| {
        let mut bytes = SEQUENTIAL.to_vec();
        bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        draco(&bytes)
    };
    // Near its end, the file contains the smallest coordinates of the quantised positions and texture coordinates.
    let (smallest_x, smallest_u) = (0x98, 0xAA);
    let model = with_nan(smallest_u).load();
    let read = &model.meshes[0].primitives[0];
    for (uv, [_, y, _]) in read.uvs[0].iter().zip(&read.positions) {
        assert!(uv[0] == 0.0 && (uv[1] - y).abs() < 1e-3, "{uv:?}");
    }
    assert_eq!(model.warnings, ["meshes[0].primitives[0]: TEXCOORD_0 has values that are not finite, read as 0"]);
    assert!(with_nan(smallest_x).load_error().contains("POSITION has a value that is not finite"));
}

#[test]
fn a_draco_primitive_without_vertices_is_not_drawn() {
    // A Draco header: version 2.2, mesh, sequential, no flags. It declares no faces and no points, uncompressed
    // connectivity and no attributes.
    let empty = b"DRACO\x02\x02\x01\0\0\0\0\0\x01\0";
    let mut glb = draco(empty);
    let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.push(json!({"attributes": {"POSITION": 0}}));
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives.len(), 1);
    assert_eq!(model.warnings, ["meshes[0].primitives[0]: it has no vertices, so it is not drawn"]);
}

#[test]
fn draco_tangents_without_handedness_are_not_used() {
    let mut glb = draco(SEQUENTIAL);
    let tangent = glb.push("accessors", json!({"componentType": 5126, "count": 4, "type": "VEC3"}));
    glb.primitive()["attributes"]["TANGENT"] = tangent.into();
    // The attribute with the id 1 contains the normals, which have three components, too.
    glb.primitive()["extensions"]["KHR_draco_mesh_compression"]["attributes"]["TANGENT"] = 1.into();
    assert_eq!(glb.load().warnings, ["TANGENT has 3 components; tangents are computed instead"]);
}

#[test]
fn damaged_draco_data_never_panics() {
    for bytes in [EDGEBREAKER, SEQUENTIAL] {
        for at in 0..bytes.len() {
            for change in [0xFF, 0x01, 0x80] {
                let mut bent = bytes.to_vec();
                bent[at] ^= change;
                drop(draco(&bent).load_with(&plinth_model::LoadOptions::default()));
            }
            assert!(draco(&bytes[..at]).load_with(&plinth_model::LoadOptions::default()).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn draco_data_beyond_the_limits_is_rejected_before_decoding() {
    let limits = plinth_model::Limits { indices: 5, ..plinth_model::Limits::default() };
    let load_error = draco(EDGEBREAKER).load_within(limits).unwrap_err().to_string();
    assert!(load_error.contains("Draco data") && load_error.contains("ceiling of 1"), "{load_error}");
}

/// Builds a triangle whose positions are in a meshopt-compressed buffer view.
fn meshopt(extension: &str, data: &[u8], description: Value) -> Glb {
    let mut glb = Glb::triangle();
    let fallback = glb.push("buffers", json!({"byteLength": 48, "extensions": {extension: {"fallback": true}}}));
    let packed = glb.view(data);
    let offset = glb.json["bufferViews"][packed]["byteOffset"].clone();
    let mut description = description;
    description["buffer"] = 0.into();
    description["byteOffset"] = offset;
    description["byteLength"] = data.len().into();
    let view = json!({"buffer": fallback, "byteLength": 48, "byteStride": 16, "extensions": {extension: description}});
    let view = glb.push("bufferViews", view);
    glb.json["accessors"][0]["bufferView"] = view.into();
    glb.json["extensionsRequired"] = json!([extension]);
    glb
}

const PADDED: [[f32; 4]; 3] = [[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]];

fn attributes() -> Vec<u8> {
    meshopt::encode_vertex_buffer(&PADDED).unwrap()
}

#[test]
fn meshopt_attributes_are_read_with_both_extension_names() {
    for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        let glb = meshopt(name, &attributes(), json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES"}));
        assert_eq!(glb.loaded().positions, CORNERS, "{name}");
    }
}

#[test]
fn a_view_may_use_both_extension_names_at_once() {
    let mut glb =
        meshopt("EXT_meshopt_compression", &attributes(), json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES"}));
    let view = glb.json["bufferViews"].as_array().unwrap().len() - 1;
    let same = glb.json["bufferViews"][view]["extensions"]["EXT_meshopt_compression"].clone();
    glb.json["bufferViews"][view]["extensions"]["KHR_meshopt_compression"] = same;
    assert_eq!(glb.loaded().positions, CORNERS);
}

#[test]
fn fallback_buffers_need_neither_data_nor_a_mark() {
    let name = "EXT_meshopt_compression";
    let marked = json!({name: {"fallback": true}});
    for fallback in [
        json!({"byteLength": 48}),
        json!({"byteLength": 48, "uri": "fallback.bin", "extensions": marked}),
        json!({"byteLength": 48, "uri": "data:application/octet-stream;base64,", "extensions": marked}),
    ] {
        let mut glb = meshopt(name, &attributes(), json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES"}));
        glb.json["buffers"][1] = fallback;
        assert_eq!(glb.loaded().positions, CORNERS);
    }
}

#[test]
fn elements_of_a_compressed_view_without_a_stride_are_packed() {
    // Eight morph weights of one byte each are compressed as two elements.
    let data = meshopt::encode_vertex_buffer(&[[0_u8, 51, 102, 153], [204, 255, 0, 51]]).unwrap();
    let mut glb = meshopt("EXT_meshopt_compression", &data, json!({"byteStride": 4, "count": 2, "mode": "ATTRIBUTES"}));
    let view = glb.json["accessors"][0]["bufferView"].as_u64().unwrap() as usize;
    glb.json["accessors"][0]["bufferView"] = 0.into();
    glb.json["bufferViews"][view].as_object_mut().unwrap().remove("byteStride");
    glb.json["bufferViews"][view]["byteLength"] = 8.into();
    glb.primitive()["targets"] = json!([{"POSITION": 0}]);
    let weights = json!({"bufferView": view, "componentType": 5121, "normalized": true, "count": 8, "type": "SCALAR"});
    let weights = glb.push("accessors", weights);
    let times = glb.accessor(&std::array::from_fn::<_, 8, _>(|key| [key as f32]));
    let animation = json!({
        "samplers": [{"input": times, "output": weights}],
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}],
    });
    glb.push("animations", animation);
    assert_near(&glb.load().animations[0].channels[0].values, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 0.0, 0.2]);
}

#[test]
fn elements_that_are_padded_to_the_compressed_stride_are_read() {
    let description = json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES"});
    let mut glb = meshopt("EXT_meshopt_compression", &attributes(), description);
    let view = glb.json["accessors"][0]["bufferView"].as_u64().unwrap() as usize;
    glb.json["bufferViews"][view].as_object_mut().unwrap().remove("byteStride");
    assert_eq!(glb.loaded().positions, CORNERS);
}

#[test]
fn meshopt_indices_are_read() {
    let data = meshopt::encode_index_buffer(&[0, 1, 2], 3).unwrap();
    let mut glb = meshopt("EXT_meshopt_compression", &data, json!({"byteStride": 4, "count": 3, "mode": "TRIANGLES"}));
    // The compressed buffer view contains the indices, while the positions are not compressed.
    let view = glb.json["accessors"][0]["bufferView"].clone();
    glb.json["accessors"][0]["bufferView"] = 0.into();
    let indices =
        glb.push("accessors", json!({"bufferView": view, "componentType": 5125, "count": 3, "type": "SCALAR"}));
    glb.primitive()["indices"] = indices.into();
    assert_eq!(glb.loaded().positions, CORNERS);
}

#[test]
fn the_exponential_filter_is_decoded() {
    let filtered = meshopt::encode_filter_exp(&PADDED, 20, meshopt::EncodeExpMode::Separate);
    let data = meshopt::encode_vertex_buffer(&filtered).unwrap();
    let description = json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES", "filter": "EXPONENTIAL"});
    assert_eq!(meshopt("EXT_meshopt_compression", &data, description).loaded().positions, CORNERS);
}

#[test]
fn the_octahedral_filter_is_decoded() {
    let normals: [[f32; 4]; 3] = [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]];
    let filtered: Vec<[i8; 4]> = meshopt::encode_filter_oct(&normals, 8);
    let data = meshopt::encode_vertex_buffer(&filtered).unwrap();
    let description = json!({"byteStride": 4, "count": 3, "mode": "ATTRIBUTES", "filter": "OCTAHEDRAL"});
    let mut glb = meshopt("EXT_meshopt_compression", &data, description);
    let view = glb.json["accessors"][0]["bufferView"].clone();
    glb.json["accessors"][0]["bufferView"] = 0.into();
    let normal = json!({"bufferView": view, "componentType": 5120, "normalized": true, "count": 3, "type": "VEC3"});
    let normal = glb.push("accessors", normal);
    glb.primitive()["attributes"]["NORMAL"] = normal.into();
    for (found, expected) in glb.loaded().normals.iter().zip(normals) {
        assert!(glam::Vec3::from(*found).distance(glam::Vec4::from(expected).truncate()) < 0.02, "{found:?}");
    }
}

#[test]
fn invalid_meshopt_parameters_are_rejected() {
    for (description, problem) in [
        (json!({"byteStride": 16, "count": 3, "mode": "MAGIC"}), "unknown mode 'MAGIC'"),
        (json!({"byteStride": 15, "count": 3, "mode": "ATTRIBUTES"}), "count or stride does not fit the mode"),
        (json!({"byteStride": 0, "count": 3, "mode": "ATTRIBUTES"}), "count or stride does not fit the mode"),
        (json!({"byteStride": 260, "count": 3, "mode": "ATTRIBUTES"}), "count or stride does not fit the mode"),
        (json!({"byteStride": 4, "count": 4, "mode": "TRIANGLES"}), "count or stride does not fit the mode"),
        (json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES", "filter": "BLUR"}), "unknown filter 'BLUR'"),
        (
            json!({"byteStride": 16, "count": 3, "mode": "ATTRIBUTES", "filter": "OCTAHEDRAL"}),
            "the filter does not fit",
        ),
        (json!({"byteStride": 16, "count": 10_000_000, "mode": "ATTRIBUTES"}), "more elements than the data can hold"),
        (json!({"byteStride": 16, "count": 100_000_000, "mode": "ATTRIBUTES"}), "bytes of decoded data"),
        (json!({"byteStride": 16, "count": 4, "mode": "ATTRIBUTES"}), "it cannot be decoded"),
    ] {
        let load_error = meshopt("EXT_meshopt_compression", &attributes(), description).load_error();
        assert!(load_error.contains(problem), "{load_error}");
    }
}

#[test]
fn an_uncompressed_view_of_a_fallback_buffer_is_rejected() {
    let mut glb = Glb::triangle();
    let fallback =
        glb.push("buffers", json!({"byteLength": 48, "extensions": {"EXT_meshopt_compression": {"fallback": true}}}));
    glb.json["bufferViews"][0]["buffer"] = fallback.into();
    assert!(glb.load_error().contains("buffer 1 has no data"));
}
