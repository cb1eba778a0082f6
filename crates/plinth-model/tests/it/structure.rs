//! Tests that invalid references and ranges are rejected with an error that names their location.

use serde_json::json;

use crate::glb::{CORNERS, Glb};

/// Text that the error message must contain, and a change that makes a valid file invalid.
type Case = (&'static str, fn(&mut Glb));

#[track_caller]
fn assert_rejected(cases: &[Case]) {
    for (expected, change) in cases {
        let mut glb = Glb::textured();
        glb.image("image/png", &crate::images::png(1, 1, &[255; 4]));
        assert!(
            glb.load_with(&plinth_model::LoadOptions::default()).is_ok(),
            "the file was already invalid before the change: {expected}"
        );
        change(&mut glb);
        let load_error = glb.load_error();
        assert!(load_error.contains(expected), "'{load_error}' does not contain '{expected}'");
    }
}

#[test]
fn references_to_missing_objects_are_rejected() {
    assert_rejected(&[
        ("scene 7 does not exist", |g| g.json["scene"] = 7.into()),
        ("scenes[0]: node 9 does not exist", |g| g.json["scenes"][0]["nodes"] = json!([9])),
        ("nodes[0]: child 9 does not exist", |g| g.node()["children"] = json!([9])),
        ("nodes[0]: mesh 9 does not exist", |g| g.node()["mesh"] = 9.into()),
        ("nodes[0]: skin 9 does not exist", |g| g.node()["skin"] = 9.into()),
        ("meshes[0].primitives[0]: material 9 does not exist", |g| g.primitive()["material"] = 9.into()),
        ("accessors[9]: it does not exist", |g| g.primitive()["attributes"]["POSITION"] = 9.into()),
        ("accessors[9]: it does not exist", |g| g.primitive()["indices"] = 9.into()),
        ("bufferView 9 does not exist", |g| g.json["accessors"][0]["bufferView"] = 9.into()),
        ("buffer 9 does not exist", |g| g.json["bufferViews"][0]["buffer"] = 9.into()),
        ("materials[0]: texture 9 does not exist", |g| {
            g.material()["pbrMetallicRoughness"]["baseColorTexture"]["index"] = 9.into();
        }),
        ("textures[0]: image 9 does not exist", |g| g.json["textures"][0]["source"] = 9.into()),
        ("textures[0]: sampler 9 does not exist", |g| g.json["textures"][0]["sampler"] = 9.into()),
        ("images[0]: bufferView 9 does not exist", |g| g.json["images"][0]["bufferView"] = 9.into()),
    ]);
}

#[test]
fn values_out_of_range_are_rejected() {
    assert_rejected(&[
        ("component type 5124 does not exist", |g| g.json["accessors"][0]["componentType"] = 5124.into()),
        ("accessor type 'VEC5' does not exist", |g| g.json["accessors"][0]["type"] = "VEC5".into()),
        ("it has 1 components where 3 are needed", |g| g.json["accessors"][0]["type"] = "SCALAR".into()),
        ("4 elements from byte 0 are more than its bufferView of 36 bytes holds", |g| {
            g.json["accessors"][0]["count"] = 4.into();
        }),
        ("3 elements from byte 4 are more", |g| g.json["accessors"][0]["byteOffset"] = 4.into()),
        ("expected u64", |g| g.json["accessors"][0]["byteOffset"] = (-4).into()),
        ("expected u64", |g| g.json["accessors"][0]["count"] = 3.5.into()),
        ("byteStride 4 is smaller than an element of 12", |g| g.json["bufferViews"][0]["byteStride"] = 4.into()),
        ("bytes 18446744073709551608+36 are beyond buffer 0", |g| {
            g.json["bufferViews"][0]["byteOffset"] = 18_446_744_073_709_551_608_u64.into();
        }),
        ("buffers[0]: byteLength is 9999 but only", |g| g.json["buffers"][0]["byteLength"] = 9999.into()),
        ("bufferViews[0]: buffer 1 has no data", |g| {
            g.push("buffers", json!({"byteLength": 36}));
            g.json["bufferViews"][0]["buffer"] = 1.into();
        }),
        ("meshes[0].primitives[0]: mode 7 does not exist", |g| g.primitive()["mode"] = 7.into()),
        ("images[0]: it has neither data nor a URI", |g| g.json["images"][0] = json!({})),
    ]);
}

#[test]
fn invalid_vertex_data_is_rejected() {
    assert_rejected(&[
        ("there is nothing to draw", |g| g.primitive()["attributes"] = json!({})),
        ("index 3 is out of range: there are 3 vertices", |g| g.indices(&[0_u16, 1, 3])),
        ("unsigned integers are needed", |g| g.indices(&[0.0_f32, 1.0, 2.0])),
        ("it has 3 components where 1 are needed", |g| {
            let corners = g.accessor(&[[0_u16; 3]]);
            g.primitive()["indices"] = corners.into();
        }),
        ("it has 4 components where 3 are needed", |g| g.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0, 0.0]; 3])),
        ("it has 1 components where 2 are needed", |g| g.attribute("TEXCOORD_0", &[[0.0_f32]; 3])),
        ("NORMAL has 2 values for 3 vertices", |g| g.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 2])),
        ("a value is not finite", |g| g.attribute("POSITION", &[[f32::NAN; 3], CORNERS[1], CORNERS[2]])),
        ("there is nothing to draw", |g| g.json["scenes"][0]["nodes"] = json!([])),
        ("there is nothing to draw", |g| {
            g.json["accessors"][0]["count"] = 0.into();
            g.json["accessors"][1]["count"] = 0.into();
        }),
    ]);
}

#[test]
fn external_data_is_rejected_and_data_uris_are_read() {
    assert_rejected(&[
        ("buffers[1] refers to 'scene.bin' outside of the file", |g| {
            g.push("buffers", json!({"byteLength": 4, "uri": "scene.bin"}));
        }),
        ("images[0] refers to 'http://10.0.0.1/a.png' outside of the file", |g| {
            g.json["images"][0] = json!({"uri": "http://10.0.0.1/a.png"});
        }),
        ("the data URI is not base64", |g| {
            g.push("buffers", json!({"byteLength": 1, "uri": "data:text/plain,a"}));
        }),
        ("the data URI is not valid base64", |g| {
            g.push("buffers", json!({"byteLength": 1, "uri": "data:application/octet-stream;base64,%%%"}));
        }),
    ]);
    let mut glb = Glb::triangle();
    // The base64 text contains the bytes of the floats 1, 0, 0.
    glb.push("buffers", json!({"byteLength": 12, "uri": "data:application/octet-stream;base64,AACAPwAAAAAAAAAA"}));
    let view = glb.push("bufferViews", json!({"buffer": 1, "byteLength": 12}));
    let normal = json!({"bufferView": view, "componentType": 5126, "count": 1, "type": "VEC3"});
    glb.json["accessors"][0]["count"] = 1.into();
    let normal = glb.push("accessors", normal);
    glb.primitive()["attributes"]["NORMAL"] = normal.into();
    assert_eq!(glb.loaded().normals, [[1.0, 0.0, 0.0]]);
}

#[test]
fn long_strings_of_the_file_are_truncated_in_messages() {
    let mut glb = Glb::textured();
    glb.image("image/png", &[]);
    glb.material()["alphaMode"] = "x".repeat(10_000).into();
    assert!(glb.load_error().len() < 200);
}
