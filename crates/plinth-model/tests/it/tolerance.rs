//! Tests of files with errors that other viewers tolerate. Such models are loaded with a warning.

use plinth_model::{AlphaMode, LoadOptions, Transform, Wrap, inspect, load_glb};
use serde_json::{Value, json};

use crate::glb::{CORNERS, Glb, UVS, assert_near, file};
use crate::images::png;

fn textured() -> Glb {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[255; 4]));
    glb
}

#[track_caller]
fn assert_warns(change: impl Fn(&mut Glb), warning: &str) {
    let mut glb = textured();
    change(&mut glb);
    let warnings = glb.load().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains(warning), "{warnings:?} instead of '{warning}'");
}

#[test]
fn unknown_enum_values_are_read_as_the_default() {
    assert_warns(
        |g| g.material()["alphaMode"] = "GLOW".into(),
        "materials[0]: unknown alphaMode 'GLOW', read as OPAQUE",
    );
    assert_warns(
        |g| {
            g.push("samplers", json!({"wrapS": 1}));
            g.json["textures"][0]["sampler"] = 0.into();
        },
        "samplers[0]: unknown wrap 1, read as REPEAT",
    );
    let mut glb = textured();
    glb.material()["alphaMode"] = "GLOW".into();
    glb.push("samplers", json!({"wrapS": 1, "magFilter": 5}));
    glb.json["textures"][0]["sampler"] = 0.into();
    let model = glb.load();
    assert_eq!((model.materials[0].alpha_mode, model.textures[0].sampler.wrap_u), (AlphaMode::Opaque, Wrap::Repeat));
}

#[test]
fn unimportant_members_of_the_wrong_type_are_ignored() {
    assert_warns(|g| g.node()["name"] = 7.into(), "nodes[0]: its name is not a string");
    assert_warns(|g| g.material()["name"] = json!(["a", "b"]), "materials[0]: its name is not a string");
    assert_warns(|g| g.json["meshes"][0]["name"] = json!({}), "meshes[0]: its name is not a string");
    assert_warns(|g| g.json["asset"]["generator"] = 3.into(), "asset: its generator has the wrong type");
    assert_warns(|g| g.json["asset"]["version"] = json!(2), "asset: its version is not a string");
    assert_warns(|g| g.json["images"][0]["mimeType"] = 1.into(), "images[0]: its mimeType has the wrong type");
    assert_warns(|g| g.material()["doubleSided"] = "yes".into(), "materials[0]: its doubleSided has the wrong type");
    assert_warns(|g| g.material()["alphaMode"] = 2.into(), "materials[0]: its alphaMode has the wrong type");
    assert_warns(
        |g| g.json["extensionsUsed"] = "KHR_materials_unlit".into(),
        "the document: its extensionsUsed has the wrong",
    );
    assert_warns(|g| g.primitive()["extensions"] = "none".into(), "'extensions' that are not objects");
    assert_warns(|g| g.node()["children"] = Value::Null, "1 members that are null");
    assert_warns(|g| g.json["accessors"][0]["count"] = json!(3.0), "the glTF JSON has integers with a decimal point");
}

#[test]
fn only_integers_with_a_decimal_point_cause_a_warning_about_them() {
    let white = json!([1.0, 1.0, 1.0, 1.0]);
    assert_warns(
        |g| {
            g.node()["name"] = 7.into();
            g.material()["pbrMetallicRoughness"]["baseColorFactor"] = white.clone();
        },
        "nodes[0]: its name is not a string",
    );
    assert_warns(
        |g| {
            g.push("samplers", json!({"magFilter": 9728.0}));
            g.json["textures"][0]["sampler"] = 0.into();
        },
        "the glTF JSON has integers with a decimal point",
    );
}

#[test]
fn colours_with_an_alpha_too_many_or_none_are_read() {
    assert_warns(
        |g| g.material()["emissiveFactor"] = json!([0, 0.5, 1, 1]),
        "materials[0]: its emissiveFactor has 4 numbers; the last one is ignored",
    );
    assert_warns(
        |g| g.material()["pbrMetallicRoughness"]["baseColorFactor"] = json!([0.25, 0.5, 1]),
        "materials[0]: its baseColorFactor has 3 numbers; the missing one is read as 1",
    );
    let mut glb = textured();
    glb.material()["emissiveFactor"] = json!([0, 0.5, 1, 1]);
    glb.material()["pbrMetallicRoughness"]["baseColorFactor"] = json!([0.25, 0.5, 1]);
    let material = glb.load().materials.swap_remove(0);
    assert_eq!((material.emissive, material.base_color), ([0.0, 0.5, 1.0], [0.25, 0.5, 1.0, 1.0]));
}

#[test]
fn extras_and_unknown_members_are_ignored_without_a_warning() {
    let mut glb = textured();
    for extras in [json!(5), json!("text"), json!([null]), json!({"targetNames": 3})] {
        glb.json["extras"] = extras.clone();
        glb.node()["extras"] = extras.clone();
        glb.json["cameras"] = extras.clone();
        glb.material()["extensions"]["VENDOR_unknown"] = extras;
        assert!(glb.load().warnings.is_empty());
    }
}

#[test]
fn numeric_names_are_converted_to_strings() {
    let mut glb = textured();
    glb.node()["name"] = 12.into();
    glb.material()["name"] = 3.into();
    let model = glb.load();
    assert_eq!((model.nodes[0].name.as_str(), model.materials[0].name.as_str()), ("12", "3"));
    let inventory = inspect(&glb.bytes(), &LoadOptions::default()).unwrap();
    assert_eq!(inventory.warnings.len(), 2);
}

#[test]
fn required_members_of_the_wrong_type_are_rejected() {
    let mut glb = textured();
    glb.node()["name"] = 12.into();
    glb.material()["pbrMetallicRoughness"]["baseColorFactor"] = json!(["1", "1", "1", "1"]);
    assert!(glb.load_error().contains("invalid type"), "the original error is reported: {}", glb.load_error());
    let mut glb = textured();
    glb.json["meshes"] = "all".into();
    assert!(glb.load_error().contains("invalid type: string"));
    let mut glb = textured();
    glb.material()["emissiveFactor"] = json!([0.5]);
    assert!(glb.load_error().contains("invalid length 1"), "{}", glb.load_error());
}

#[test]
fn names_that_are_not_utf8_are_read_with_a_warning() {
    let mut glb = Glb::triangle();
    glb.node()["name"] = "M~ller".into();
    let mut bytes = glb.bytes();
    let at = bytes.windows(6).position(|text| text == b"M~ller").unwrap() + 1;
    bytes[at] = 0xFC;
    let model = load_glb(&bytes, &LoadOptions::default()).unwrap();
    assert_eq!(model.nodes[0].name, "M\u{FFFD}ller");
    // The JSON text starts at byte 20 of the file.
    let warning = format!("the glTF JSON is not UTF-8 at byte {}; such bytes are read as '\u{FFFD}'", at - 20);
    assert_eq!(model.warnings, [warning]);
}

#[test]
fn a_byte_order_mark_before_the_document_is_ignored() {
    let glb = Glb::triangle();
    let mut json = glb.json.clone();
    json["buffers"][0]["byteLength"] = glb.bin.len().into();
    let bytes = file(format!("\u{FEFF}{json}").as_bytes(), &glb.bin);
    assert_eq!(load_glb(&bytes, &LoadOptions::default()).unwrap().meshes.len(), 1);
}

#[test]
fn zeros_after_the_document_are_ignored() {
    let glb = Glb::triangle();
    let mut json = glb.json.clone();
    json["buffers"][0]["byteLength"] = glb.bin.len().into();
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4) + 4, 0);
    let bytes = file(&text, &glb.bin);
    assert_eq!(load_glb(&bytes, &LoadOptions::default()).unwrap().meshes.len(), 1);
}

#[test]
fn the_matrix_of_an_animated_node_is_decomposed() {
    let mut glb = Glb::triangle();
    glb.node()["matrix"] = json!([0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1]);
    let (input, output) = (glb.accessor(&[[0.0_f32], [1.0]]), glb.accessor(&[[0.0_f32; 3], [1.0; 3]]));
    glb.push(
        "animations",
        json!({
            "samplers": [{"input": input, "output": output}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        }),
    );
    let model = glb.load();
    let Transform::Trs(parts) = model.nodes[0].local else { panic!("it is still a matrix") };
    assert_near(&parts.translation.to_array(), &[5.0, 6.0, 7.0]);
    assert_near(&parts.scale.to_array(), &[2.0; 3]);
    assert_near(&(parts.rotation * glam::Vec3::X).to_array(), &[0.0, 1.0, 0.0]);
    assert_eq!(model.warnings.len(), 1);
}

#[test]
fn non_finite_values_of_optional_attributes_are_zero() {
    let mut glb = textured();
    glb.attribute("TEXCOORD_0", &[UVS[0], [f32::NAN, f32::INFINITY], UVS[2]]);
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives[0].uvs[0], [UVS[0], [0.0, 0.0], UVS[2]]);
    assert_eq!(model.warnings, ["meshes[0].primitives[0]: TEXCOORD_0 has values that are not finite, read as 0"]);
    let mut glb = textured();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.attribute("TANGENT", &[[f32::NAN; 4], [2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]);
    glb.material()["normalTexture"] = json!({"index": 0});
    let tangents = glb.loaded().tangents;
    assert_eq!((tangents[0][3], tangents[1], tangents[2][3]), (0.0, [1.0, 0.0, 0.0, 1.0], 0.0));
}

#[test]
fn texture_coordinates_with_a_third_component_are_read() {
    let mut glb = textured();
    glb.attribute("TEXCOORD_0", &UVS.map(|[u, v]| [u, v, 9.0]));
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives[0].uvs[0], UVS);
    let warning = "TEXCOORD_0 has 3 components; it is read as if it had 2";
    assert_eq!(model.warnings, [warning]);
    glb.attribute("TEXCOORD_0", &UVS.map(|[u, _]| [u, f32::NAN, 9.0]));
    assert_eq!(glb.loaded().uvs[0], UVS.map(|[u, _]| [u, 0.0]));
}

#[test]
fn tangents_without_handedness_are_computed() {
    let mut glb = textured();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    // The texture coordinates are mirrored.
    glb.attribute("TEXCOORD_0", &UVS.map(|[u, v]| [v, u]));
    glb.material()["normalTexture"] = json!({"index": 0});
    let computed = glb.loaded().tangents;
    assert!(!computed.is_empty());
    glb.attribute("TANGENT", &[[0.0_f32, 2.0, 0.0]; 3]);
    assert_eq!(glb.loaded().tangents, computed);
    assert_eq!(glb.load().warnings, ["TANGENT has 3 components; tangents are computed instead"]);
}

#[test]
fn a_primitive_without_vertices_is_not_drawn() {
    let mut glb = textured();
    let empty = glb.push("accessors", json!({"componentType": 5126, "count": 0, "type": "VEC3"}));
    glb.primitive()["targets"] = json!([{"POSITION": 0}]);
    glb.json["meshes"][0]["weights"] = json!([0.5]);
    let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.insert(0, json!({"attributes": {"POSITION": empty}}));
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives.len(), 1);
    assert_eq!(model.nodes[0].weights, [0.5], "the first drawn primitive has the number of morph targets");
    assert_eq!(model.warnings, ["meshes[0].primitives[0]: it has no vertices, so it is not drawn"]);
}

#[test]
fn a_primitive_without_positions_is_not_drawn() {
    let mut glb = textured();
    let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.insert(0, json!({"attributes": {"TEXCOORD_0": 1}}));
    let model = glb.load();
    assert_eq!(model.meshes[0].primitives.len(), 1);
    assert_eq!(model.meshes[0].primitives[0].positions, CORNERS);
    assert_eq!(model.warnings, ["meshes[0].primitives[0]: it has no POSITION, so it is not drawn"]);
}

#[test]
fn a_model_with_nothing_to_draw_causes_a_warning() {
    let mut glb = Glb::triangle();
    glb.indices(&[0_u8, 1]);
    assert_eq!(glb.load().warnings, ["there is nothing to draw: no mesh has a whole triangle, line or point"]);
}

#[test]
fn a_material_may_use_any_two_coordinate_sets() {
    let mut glb = textured();
    let other = UVS.map(|[u, v]| [v, u]);
    glb.attribute("TEXCOORD_3", &other);
    glb.material()["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] = 3.into();
    let model = glb.load();
    let set = model.materials[0].base_color_texture.unwrap().uv_set;
    assert_eq!(model.meshes[0].primitives[0].uvs[set], other);
    assert!(set < 2);
    glb.material()["emissiveTexture"] = json!({"index": 0});
    let model = glb.load();
    let [color, glow] =
        [model.materials[0].base_color_texture, model.materials[0].emissive_texture].map(|r| r.unwrap().uv_set);
    assert_eq!(model.meshes[0].primitives[0].uvs[color], other);
    assert_eq!(model.meshes[0].primitives[0].uvs[glow], UVS);
}
