//! Tests that small files which would need much memory or time are rejected early.

use std::time::{Duration, Instant};

use plinth_model::{Limits, LoadOptions, load_glb};
use serde_json::json;

use crate::glb::{Glb, file};

/// Asserts that loading fails quickly with a message that contains `expected`.
#[track_caller]
fn assert_rejected(glb: &Glb, expected: &str) {
    let start = Instant::now();
    let load_error = glb.load_error();
    assert!(load_error.contains(expected), "'{load_error}' does not contain '{expected}'");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

const BUDGET: &str = "bytes of decoded data, more than the 1073741824 that are accepted";

#[test]
fn the_total_size_of_zero_filled_accessors_is_limited() {
    let mut glb = Glb::empty();
    let zeros = glb.push("accessors", json!({"componentType": 5126, "count": 30_000_000, "type": "VEC3"}));
    glb.push("meshes", json!({"primitives": [{"attributes": {"POSITION": zeros}, "mode": 0}, {"attributes": {"POSITION": zeros}, "mode": 0}, {"attributes": {"POSITION": zeros, "NORMAL": zeros}, "mode": 0}]}));
    glb.push("nodes", json!({"mesh": 0}));
    glb.json["scenes"][0]["nodes"] = json!([0]);
    assert_rejected(&glb, "vertices, more than the 40000000");
    glb.json["accessors"][0]["count"] = 13_000_000.into();
    for set in 0..8 {
        glb.primitive()["attributes"][format!("TEXCOORD_{set}")] = 1.into();
    }
    glb.push("accessors", json!({"componentType": 5126, "count": 13_000_000, "type": "VEC2"}));
    assert_rejected(&glb, BUDGET);
}

#[test]
fn the_total_size_of_morph_targets_is_limited() {
    let mut glb = Glb::triangle();
    glb.json["accessors"][0] = json!({"componentType": 5126, "count": 1_000_000, "type": "VEC3"});
    glb.primitive()["mode"] = 0.into();
    let target = json!({"POSITION": 0, "NORMAL": 0, "TANGENT": 0});
    glb.primitive()["targets"] = vec![target; 90].into();
    assert_rejected(&glb, BUDGET);
}

#[test]
fn vertices_split_by_flat_shading_are_limited() {
    let mut glb = Glb::triangle();
    let zeros = glb.push("accessors", json!({"componentType": 5121, "count": 39_000_000, "type": "SCALAR"}));
    glb.primitive()["indices"] = zeros.into();
    assert_rejected(&glb, BUDGET);
}

#[test]
fn flat_normals_of_unused_vertices_count_towards_the_budget() {
    let mut glb = Glb::triangle();
    glb.json["accessors"][0] = json!({"componentType": 5126, "count": 1000, "type": "VEC3"});
    glb.indices(&[0_u8, 1, 2]);
    let within = |decoded_bytes| glb.load_within(Limits { decoded_bytes, ..Limits::default() }).is_ok();
    let decoded = document_bytes(&glb) + 12 + 2 * 12_000;
    assert!(within(decoded) && !within(decoded - 1));
}

#[test]
fn animations_that_share_an_accessor_are_limited() {
    let mut glb = Glb::triangle();
    let zeros = glb.push("accessors", json!({"componentType": 5126, "count": 1_000_000, "type": "SCALAR"}));
    let channels: Vec<_> = (0..1000).map(|_| json!({"sampler": 0, "target": {"node": 0, "path": "weights"}})).collect();
    glb.push("animations", json!({"samplers": [{"input": zeros, "output": zeros}], "channels": channels}));
    assert_rejected(&glb, BUDGET);
}

#[test]
fn the_total_number_of_instances_is_limited() {
    let mut glb = Glb::triangle();
    let zeros = glb.push("accessors", json!({"componentType": 5126, "count": 190_000, "type": "VEC3"}));
    let node = json!({"extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": zeros}}}});
    glb.json["nodes"].as_array_mut().unwrap().extend(vec![node; 1000]);
    glb.json["scenes"][0]["nodes"] = (0..1001).collect();
    assert_rejected(&glb, BUDGET);
}

#[test]
fn vertices_are_counted_once_per_instance() {
    let mut glb = Glb::triangle();
    let zeros = glb.push("accessors", json!({"componentType": 5126, "count": 190_000, "type": "VEC3"}));
    glb.node()["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["TRANSLATION"] = zeros.into();
    let limits = Limits { vertices: 500_000, ..Limits::default() };
    assert!(glb.load_within(limits).unwrap_err().to_string().contains("570000 vertices, more than the 500000"));
}

#[test]
fn a_long_mesh_name_that_many_nodes_inherit_is_limited() {
    let mut glb = Glb::triangle();
    glb.json["meshes"][0]["name"] = "x".repeat(1 << 20).into();
    glb.json["nodes"] = vec![json!({"mesh": 0}); 2000].into();
    glb.json["scenes"][0]["nodes"] = (0..2000).collect();
    assert_rejected(&glb, BUDGET);
}

#[test]
fn morph_weights_beyond_the_target_count_are_ignored() {
    let mut glb = Glb::triangle();
    glb.json["meshes"][0]["weights"] = vec![0.5; 100_000].into();
    assert!(glb.load().nodes[0].weights.is_empty());
}

#[test]
fn the_total_size_of_compressed_views_is_limited() {
    let mut glb = Glb::triangle();
    let data = meshopt::encode_vertex_buffer(&[[0.0_f32; 4]; 3]).unwrap();
    let packed = glb.view(&data);
    let offset = glb.json["bufferViews"][packed]["byteOffset"].clone();
    let view = json!({"buffer": 0, "byteLength": 48, "extensions": {"EXT_meshopt_compression": {
        "buffer": 0, "byteOffset": offset, "byteLength": data.len(), "byteStride": 16, "count": 3, "mode": "ATTRIBUTES",
    }}});
    glb.json["bufferViews"].as_array_mut().unwrap().extend(vec![view; 400]);
    let within = |decoded_bytes| glb.load_within(Limits { decoded_bytes, ..Limits::default() });
    let views = 400 * 48;
    assert!(within(document_bytes(&glb) + views - 1).unwrap_err().to_string().contains("bytes of decoded data"));
    assert!(within(document_bytes(&glb) + views + 1000).is_ok());
}

#[test]
fn json_size_is_checked_before_parsing() {
    let start = Instant::now();
    let document = |body: &str| {
        let json = format!("{{\"asset\": {{\"version\": \"2.0\"}}, {body}}}");
        load_glb(&file(json.as_bytes(), b""), &LoadOptions::default()).unwrap_err().to_string()
    };
    let materials = format!("\"materials\": [{}{{}}]", "{},".repeat(1_000_000));
    assert!(document(&materials).contains("JSON objects, more than the 1000000"));
    let children = format!("\"nodes\": [{{\"children\": [{}0]}}]", "0,".repeat(20_000_000));
    assert!(document(&children).contains("JSON values, more than the 20000000"));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn many_nodes_may_have_a_mesh_with_many_primitives_that_are_not_drawn() {
    // Looking at all primitives for each node would take many minutes.
    let count = 100_000;
    let mut glb = Glb::triangle();
    let mut primitives = vec![json!({}); count];
    primitives.push(glb.primitive().clone());
    glb.json["meshes"][0]["primitives"] = primitives.into();
    glb.push("skins", json!({"joints": [0]}));
    glb.json["nodes"] = vec![json!({"mesh": 0, "skin": 0}); count].into();
    glb.json["scenes"][0]["nodes"] = (0..count).collect::<Vec<usize>>().into();
    let model = glb.load();
    assert_eq!((model.nodes.len(), model.meshes[0].primitives.len()), (count, 1));
}

/// Returns the number of bytes that the JSON document adds to the decoded size: 256 bytes per object and 8 bytes per
/// value.
fn document_bytes(glb: &Glb) -> u64 {
    let text = glb.json.to_string();
    let count = |bytes: &[u8]| text.bytes().filter(|b| bytes.contains(b)).count() as u64;
    256 * count(b"{") + 8 * count(b"{[,")
}

#[test]
fn a_model_is_accepted_at_each_limit_and_rejected_below_it() {
    let glb = {
        let mut glb = Glb::triangle();
        glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
        glb
    };
    let size = glb.bytes().len() as u64;
    let within = |limits: Limits| glb.load_within(limits).is_ok();
    let all = Limits::default();
    assert!(within(Limits { bytes: size, ..all }) && !within(Limits { bytes: size - 1, ..all }));
    assert!(within(Limits { nodes: 1, ..all }) && !within(Limits { nodes: 0, ..all }));
    assert!(within(Limits { depth: 1, ..all }) && !within(Limits { depth: 0, ..all }));
    assert!(within(Limits { vertices: 3, ..all }) && !within(Limits { vertices: 2, ..all }));
    assert!(within(Limits { indices: 3, ..all }) && !within(Limits { indices: 2, ..all }));
    // The decoded size is the size of the positions, the normals, the indices and the JSON document.
    let decoded = 36 + 36 + 12 + document_bytes(&glb);
    assert!(within(Limits { decoded_bytes: decoded, ..all }) && !within(Limits { decoded_bytes: decoded - 1, ..all }));
}

#[test]
fn vectors_with_additional_components_count_towards_the_budget() {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.attribute("TEXCOORD_0", &[[0.0_f32; 3]; 3]);
    let within = |decoded_bytes| glb.load_within(Limits { decoded_bytes, ..Limits::default() }).is_ok();
    // The texture coordinates are read with three components and copied with two.
    let decoded = 36 + 36 + 12 + (36 + 24) + document_bytes(&glb);
    assert!(within(decoded) && !within(decoded - 1));
}

#[test]
fn text_that_is_not_utf8_counts_towards_the_budget() {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.json["asset"]["generator"] = "M~ller".into();
    let mut bytes = glb.bytes();
    let at = bytes.windows(6).position(|text| text == b"M~ller").unwrap() + 1;
    bytes[at] = 0xFC;
    let text = u64::from(u32::from_le_bytes(bytes[12..16].try_into().unwrap()));
    let within = |decoded_bytes| {
        let limits = Limits { decoded_bytes, ..Limits::default() };
        load_glb(&bytes, &LoadOptions { limits, ..LoadOptions::default() }).is_ok()
    };
    let decoded = 36 + 36 + 12 + document_bytes(&glb) + 3 * text;
    assert!(within(decoded) && !within(decoded - 1));
}

#[test]
fn morph_and_animation_values_have_separate_limits() {
    let mut glb = Glb::triangle();
    glb.primitive()["targets"] = json!([{"POSITION": 0}]);
    let input = glb.accessor(&[[0.0_f32], [1.0]]);
    let output = glb.accessor(&[[0.0_f32; 3]; 2]);
    let animation = json!({
        "samplers": [{"input": input, "output": output}],
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "scale"}}],
    });
    glb.push("animations", animation);
    let load_error = |limits| glb.load_within(limits).unwrap_err().to_string();
    let all = Limits::default();
    assert!(glb.load_within(Limits { morph_values: 3, animation_values: 6, ..all }).is_ok());
    assert!(load_error(Limits { morph_values: 2, ..all }).contains("3 morph target values, more than the 2"));
    assert!(load_error(Limits { animation_values: 5, ..all }).contains("6 animation values, more than the 5"));
}
