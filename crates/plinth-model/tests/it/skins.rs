//! Tests of skins and morph targets.

use glam::{Mat4, Vec3};
use serde_json::json;

use crate::glb::{CORNERS, Glb, assert_near};

const IDENTITY: [f32; 16] = Mat4::IDENTITY.to_cols_array();

/// Builds a skinned triangle. The skin has two joints, which are children of the scene's root node.
fn skinned(joints: [[u8; 4]; 3], weights: [[f32; 4]; 3]) -> Glb {
    let mut glb = Glb::triangle();
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    glb.attribute("JOINTS_0", &joints);
    glb.attribute("WEIGHTS_0", &weights);
    let matrices = glb.accessor(&[IDENTITY; 2]);
    glb.push("skins", json!({"joints": [1, 2], "inverseBindMatrices": matrices}));
    glb.json["nodes"] = json!([{"mesh": 0, "skin": 0}, {"name": "hip", "children": [2]}, {"name": "knee"}]);
    glb.json["scenes"][0]["nodes"] = json!([0, 1]);
    glb
}

const FIRST: [[f32; 4]; 3] = [[1.0, 0.0, 0.0, 0.0]; 3];

#[test]
fn influences_are_sorted_and_their_weights_add_up_to_1() {
    let read = skinned([[0, 1, 0, 0]; 3], [[0.2, 0.6, 0.0, 0.0]; 3]).loaded();
    assert_eq!(read.joints[0], [1, 0, 0, 0]);
    assert_near(&read.weights[0], &[0.75, 0.25, 0.0, 0.0]);
}

#[test]
fn the_four_strongest_influences_are_kept() {
    let mut glb = skinned([[0, 0, 0, 1]; 3], [[0.1, 0.1, 0.1, 0.1]; 3]);
    glb.attribute("JOINTS_1", &[[1_u16, 0, 0, 0]; 3]);
    glb.attribute("WEIGHTS_1", &[[0.5_f32, 0.0, 0.0, 0.0]; 3]);
    let read = glb.loaded();
    assert_eq!(read.joints[0][0], 1);
    assert_near(&read.weights[0], &[0.625, 0.125, 0.125, 0.125]);
}

#[test]
fn normalized_weights_are_read_and_vertices_without_weights_follow_joint_0() {
    let mut glb = skinned([[1, 0, 0, 0]; 3], FIRST);
    let weights = glb.normalized(&[[255_u8, 0, 0, 0], [0, 0, 0, 0], [51, 204, 0, 0]]);
    glb.primitive()["attributes"]["WEIGHTS_0"] = weights.into();
    let read = glb.loaded();
    assert_near(&read.weights[1], &[1.0, 0.0, 0.0, 0.0]);
    assert_eq!((read.joints[1], read.joints[2]), ([0; 4], [0, 1, 0, 0]));
}

#[test]
fn a_joint_out_of_range_with_weight_is_rejected() {
    let mut glb = skinned([[250, 0, 0, 0]; 3], FIRST);
    assert_eq!(glb.load_error(), "meshes[0].primitives[0]: joint 250 is out of range: the skin has 2 joints");
    // A primitive that is not drawn counts in the location.
    glb.json["meshes"][0]["primitives"].as_array_mut().unwrap().insert(0, json!({"attributes": {}}));
    assert_eq!(glb.load_error(), "meshes[0].primitives[1]: joint 250 is out of range: the skin has 2 joints");
    let empty = glb.push("accessors", json!({"componentType": 5126, "count": 0, "type": "VEC3"}));
    let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
    primitives.insert(0, json!({"attributes": {"POSITION": empty}}));
    assert_eq!(glb.load_error(), "meshes[0].primitives[2]: joint 250 is out of range: the skin has 2 joints");
}

#[test]
fn a_joint_out_of_range_without_weight_is_ignored() {
    let read = skinned([[1, 250, 255, 9]; 3], FIRST).loaded();
    assert_eq!(read.joints[0], [1, 0, 0, 0]);
}

#[test]
fn joints_outside_the_scene_and_their_ancestors_are_added_without_meshes() {
    let mut glb = skinned([[1, 0, 0, 0]; 3], FIRST);
    glb.json["nodes"][1] = json!({"name": "hip", "children": [2], "translation": [0, 5, 0], "mesh": 0});
    glb.json["scenes"][0]["nodes"] = json!([0]);
    let model = glb.load();
    let joints: Vec<&str> = model.skins[0].joints.iter().map(|j| model.nodes[*j].name.as_str()).collect();
    assert_eq!(joints, ["hip", "knee"]);
    let knee = &model.nodes[model.skins[0].joints[1]];
    let hip = &model.nodes[knee.parent.unwrap()];
    assert_eq!(hip.local.matrix().transform_point3(Vec3::ZERO), Vec3::new(0.0, 5.0, 0.0));
    assert_eq!(model.nodes.iter().filter(|n| n.mesh.is_some()).count(), 1);
}

#[test]
fn invalid_skins_are_rejected() {
    let mut glb = skinned([[0; 4]; 3], FIRST);
    glb.json["skins"][0]["joints"] = json!([1, 9]);
    assert!(glb.load_error().contains("skins[0]: joint node 9 does not exist"));
    glb.json["skins"][0]["joints"] = json!([1, 2, 0]);
    assert!(glb.load_error().contains("skins[0]: there are 2 inverse bind matrices for 3 joints"));
    glb.json["skins"][0] = json!({"joints": [1, 2]});
    assert_eq!(glb.load().skins[0].inverse_bind, [Mat4::IDENTITY; 2]);
}

/// Builds a triangle with two morph targets. The first morph target has sparse values and moves one vertex.
fn morphed() -> Glb {
    let mut glb = Glb::triangle();
    let at = glb.view(&[2]);
    let by = glb.view(&crate::glb::packed(&[[0.0_f32, 0.0, 1.0]]));
    let sparse = json!({
        "componentType": 5126, "count": 3, "type": "VEC3",
        "sparse": {"count": 1, "indices": {"bufferView": at, "componentType": 5121}, "values": {"bufferView": by}},
    });
    let first = glb.push("accessors", sparse);
    let second = glb.accessor(&[[0.5_f32; 3]; 3]);
    glb.primitive()["targets"] =
        json!([{"POSITION": first}, {"POSITION": second, "NORMAL": second, "TANGENT": second}]);
    glb.json["meshes"][0]["weights"] = json!([0.25, 0.75]);
    glb
}

#[test]
fn morph_weights_come_from_the_node_or_else_from_its_mesh() {
    let mut glb = morphed();
    let model = glb.load();
    let targets = &model.meshes[0].primitives[0].morph_targets;
    assert_eq!(targets[0].positions, [[0.0; 3], [0.0; 3], [0.0, 0.0, 1.0]]);
    assert_eq!(model.nodes[0].weights, [0.25, 0.75]);
    glb.node()["weights"] = json!([1, 0]);
    assert_eq!(glb.load().nodes[0].weights, [1.0, 0.0]);
}

#[test]
fn morph_targets_are_split_with_flat_shaded_vertices() {
    let mut glb = morphed();
    glb.indices(&[2_u8, 1, 0]);
    let read = glb.loaded();
    assert_eq!(read.positions[0], CORNERS[2]);
    assert_eq!(read.morph_targets[0].positions[0], [0.0, 0.0, 1.0]);
    assert!(read.morph_targets[1].normals.is_empty());
    glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
    assert_eq!(glb.loaded().morph_targets[1].normals, [[0.5; 3]; 3]);
}

#[test]
fn morph_targets_with_colours_cause_a_warning() {
    let mut glb = morphed();
    glb.primitive()["targets"][0]["COLOR_0"] = 0.into();
    let warning = "meshes[0].primitives[0]: morph targets do not change its colours and texture coordinates";
    assert_eq!(glb.load().warnings, [warning]);
}

#[test]
fn instances_of_a_skinned_mesh_are_drawn_once() {
    let mut glb = skinned([[0; 4]; 3], FIRST);
    let places = glb.accessor(&[[0.0_f32; 3], [5.0, 0.0, 0.0]]);
    glb.node()["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["TRANSLATION"] = places.into();
    let model = glb.load();
    assert!(model.nodes[0].instances.is_empty());
    let warning = "nodes[0]: its mesh has a skin, so its instances are at one place, and one is drawn";
    assert_eq!(model.warnings, [warning]);
    let without = |name: &str| {
        let mut glb = glb.clone();
        glb.primitive()["attributes"].as_object_mut().unwrap().remove(name);
        glb.load().nodes[0].instances.len()
    };
    assert_eq!([without("JOINTS_0"), without("WEIGHTS_0")], [2, 2]);
    glb.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(json!({"attributes": {}}));
    assert!(glb.load().nodes[0].instances.is_empty(), "a primitive that is not drawn needs no joints");
}

#[test]
fn a_morph_target_of_a_different_length_is_rejected() {
    let mut glb = morphed();
    let short = glb.accessor(&[[0.0_f32; 3]; 2]);
    glb.primitive()["targets"][1] = json!({"POSITION": short});
    assert!(glb.load_error().contains("meshes[0].primitives[0]: POSITION has 2 values for 3 vertices"));
}
