//! Tests that read values from accessors.

use serde_json::json;

use crate::glb::{CORNERS, Component, Glb, assert_near, packed};

/// Adds an accessor with `make`, uses it as texture coordinates, and returns the coordinates that are loaded.
fn uvs(make: impl FnOnce(&mut Glb) -> usize) -> Vec<f32> {
    let mut glb = Glb::triangle();
    let accessor = make(&mut glb);
    glb.primitive()["attributes"]["TEXCOORD_0"] = accessor.into();
    glb.loaded().uvs[0].as_flattened().to_vec()
}

#[test]
fn normalized_integers_are_divided_by_their_maximum() {
    assert_near(&uvs(|g| g.normalized(&[[0_u8, 255], [51, 0], [0, 0]])), &[0.0, 1.0, 0.2, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.normalized(&[[0_u16, 65535], [13107, 0], [0, 0]])), &[0.0, 1.0, 0.2, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.normalized(&[[127_i8, -127], [-128, 0], [0, 0]])), &[1.0, -1.0, -1.0, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.normalized(&[[32767_i16, -32768], [0, 0], [0, 0]])), &[1.0, -1.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn integers_that_are_not_normalized_keep_their_value() {
    assert_near(&uvs(|g| g.accessor(&[[0_u8, 255], [7, 0], [0, 0]])), &[0.0, 255.0, 7.0, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.accessor(&[[-5_i8, 5], [7, 0], [0, 0]])), &[-5.0, 5.0, 7.0, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.accessor(&[[-300_i16, 300], [7, 0], [0, 0]])), &[-300.0, 300.0, 7.0, 0.0, 0.0, 0.0]);
    assert_near(&uvs(|g| g.accessor(&[[0_u16, 65535], [7, 0], [0, 0]])), &[0.0, 65535.0, 7.0, 0.0, 0.0, 0.0]);
}

#[test]
fn quantised_positions_are_scaled_only_by_their_node() {
    let mut glb = Glb::triangle();
    glb.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    glb.attribute("POSITION", &[[0_u16, 0, 0], [1000, 0, 0], [0, 1000, 0]]);
    assert_eq!(glb.loaded().positions[1], [1000.0, 0.0, 0.0]);
    let normal = glb.normalized(&[[0_i8, 0, 127]; 3]);
    glb.primitive()["attributes"]["NORMAL"] = normal.into();
    assert_eq!(glb.loaded().normals, [[0.0, 0.0, 1.0]; 3]);
}

fn indexed<T: Component>(values: &[T]) -> Vec<u32> {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.indices(values);
    glb.loaded().indices
}

#[test]
fn indices_of_one_two_and_four_bytes_are_read() {
    assert_eq!(indexed(&[2_u8, 1, 0]), [2, 1, 0]);
    assert_eq!(indexed(&[2_u16, 1, 0]), [2, 1, 0]);
    assert_eq!(indexed(&[2_u32, 1, 0]), [2, 1, 0]);
}

#[test]
fn interleaved_values_are_read_at_their_stride_and_offset() {
    let mut glb = Glb::triangle();
    let rows: [[f32; 5]; 3] = std::array::from_fn(|i| {
        let [x, y, z] = CORNERS[i];
        [x, y, z, i as f32, 0.5]
    });
    let view = glb.view(&packed(&rows));
    glb.json["bufferViews"][view]["byteStride"] = 20.into();
    for (name, kind, offset) in [("POSITION", "VEC3", 0), ("TEXCOORD_0", "VEC2", 12)] {
        let accessor =
            json!({"bufferView": view, "byteOffset": offset, "componentType": 5126, "count": 3, "type": kind});
        let accessor = glb.push("accessors", accessor);
        glb.primitive()["attributes"][name] = accessor.into();
    }
    let read = glb.loaded();
    assert_eq!(read.positions, CORNERS);
    assert_eq!(read.uvs[0], [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]);
}

#[test]
fn the_last_interleaved_element_need_not_fill_its_stride() {
    let mut glb = Glb::triangle();
    let mut bytes = packed(&CORNERS.map(|[x, y, z]| [x, y, z, 9.0_f32]));
    bytes.truncate(bytes.len() - 4);
    let view = glb.view(&bytes);
    glb.json["bufferViews"][view]["byteStride"] = 16.into();
    glb.json["accessors"][0]["bufferView"] = view.into();
    assert_eq!(glb.loaded().positions, CORNERS);
}

/// Adds sparse values to the first accessor.
fn add_sparse(glb: &mut Glb, indices: &[u16], values: &[[f32; 3]]) {
    let at = glb.view(&packed(&indices.iter().map(|i| [*i]).collect::<Vec<_>>()));
    let by = glb.view(&packed(values));
    glb.json["accessors"][0]["sparse"] = json!({
        "count": indices.len(),
        "indices": {"bufferView": at, "componentType": 5123},
        "values": {"bufferView": by},
    });
}

#[test]
fn sparse_values_replace_values_of_the_view_or_zeros() {
    let mut glb = Glb::triangle();
    add_sparse(&mut glb, &[1], &[[5.0, 6.0, 7.0]]);
    assert_eq!(glb.loaded().positions, [CORNERS[0], [5.0, 6.0, 7.0], CORNERS[2]]);
    glb.json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
    assert_eq!(glb.loaded().positions, [[0.0; 3], [5.0, 6.0, 7.0], [0.0; 3]]);
}

#[test]
fn invalid_sparse_values_are_rejected() {
    let load_error = |indices: &[u16], values: &[[f32; 3]]| {
        let mut glb = Glb::triangle();
        add_sparse(&mut glb, indices, values);
        glb.load_error()
    };
    assert!(load_error(&[3], &[[0.0; 3]]).contains("sparse index 3 is out of range: there are 3 elements"));
    assert!(load_error(&[0, 1, 2, 2], &[[0.0; 3]; 4]).contains("4 sparse values for 3 elements"));
    assert!(load_error(&[0, 1], &[[0.0; 3]]).contains("2 elements from byte 0 are more than"));
    let mut glb = Glb::triangle();
    add_sparse(&mut glb, &[1], &[[0.0; 3]]);
    glb.json["accessors"][0]["sparse"]["indices"]["componentType"] = 5126.into();
    assert!(glb.load_error().contains("sparse indices are not unsigned integers"));
}

#[test]
fn an_accessor_without_a_view_contains_zeros() {
    let mut glb = Glb::triangle();
    let zeros = glb.push("accessors", json!({"componentType": 5126, "count": 3, "type": "VEC2"}));
    glb.primitive()["attributes"]["TEXCOORD_0"] = zeros.into();
    assert_eq!(glb.loaded().uvs[0], [[0.0; 2]; 3]);
}
