//! Tests of the scene graph.

use glam::{Quat, Vec3};
use plinth_model::{Limits, LoadOptions, Transform, Trs, inspect};
use serde_json::json;

use crate::glb::{Glb, assert_near};

fn trs(transform: Transform) -> Trs {
    match transform {
        Transform::Trs(trs) => trs,
        Transform::Matrix(matrix) => panic!("not translation, rotation and scale: {matrix}"),
    }
}

#[test]
fn parents_precede_their_children_and_only_the_default_scene_is_loaded() {
    let mut glb = Glb::triangle();
    glb.json["nodes"] =
        json!([{"mesh": 0}, {"children": [0, 2], "name": "top"}, {"name": "leaf"}, {"name": "elsewhere"}]);
    glb.json["scenes"] = json!([{"nodes": [3]}, {"nodes": [1]}]);
    glb.json["scene"] = 1.into();
    let nodes = glb.load().nodes;
    let names: Vec<&str> = nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["top", "mesh_0", "leaf"]);
    assert_eq!(nodes.iter().map(|n| n.parent).collect::<Vec<_>>(), [None, Some(0), Some(0)]);
}

#[test]
fn a_listed_node_is_drawn_once_whatever_is_above_it() {
    let names = |scene: serde_json::Value| {
        let mut glb = Glb::triangle();
        glb.json["nodes"] =
            json!([{"name": "wrapper", "children": [1]}, {"name": "part", "mesh": 0}, {"name": "other"}]);
        glb.json["scenes"] = json!([scene]);
        glb.load().nodes.into_iter().map(|node| node.name).collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"nodes": [0, 1, 2]})), ["wrapper", "part", "other"], "below another listed node");
    assert_eq!(names(json!({"nodes": [1, 2]})), ["part", "other"], "below a node that is not in the scene");
}

#[test]
fn without_a_scene_all_root_nodes_are_loaded() {
    let mut glb = Glb::triangle();
    glb.json.as_object_mut().unwrap().remove("scenes");
    glb.json["nodes"] = json!([{"mesh": 0}, {"name": "second"}]);
    assert_eq!(glb.load().nodes.len(), 2);
}

#[test]
fn a_node_with_two_parents_or_in_a_cycle_is_rejected() {
    let load_error = |nodes: serde_json::Value| {
        let mut glb = Glb::triangle();
        glb.json["nodes"] = nodes;
        glb.load_error()
    };
    assert!(
        load_error(json!([{"mesh": 0, "children": [1, 2]}, {"children": [2]}, {}]))
            .contains("nodes[2]: it has two parents")
    );
    assert!(
        load_error(json!([{"mesh": 0}, {"children": [2]}, {"children": [1]}])).contains("a node is its own ancestor")
    );
    assert!(load_error(json!([{"mesh": 0, "children": [0]}])).contains("own ancestor"));
}

#[test]
fn a_tree_deeper_than_the_limit_is_rejected() {
    let mut glb = Glb::triangle();
    let chain = (0..300).map(|i| if i < 299 { json!({"children": [i + 1]}) } else { json!({"mesh": 0}) });
    glb.json["nodes"] = chain.collect();
    assert!(glb.load_error().contains("257 levels of nodes, more than the 256"));
    assert!(glb.load_within(Limits { depth: 300, ..Limits::default() }).is_ok());
}

#[test]
fn negative_scales_and_matrices_are_kept() {
    let mut glb = Glb::triangle();
    glb.node()["scale"] = json!([-1, 2, 3]);
    assert_eq!(trs(glb.load().nodes[0].local).scale, Vec3::new(-1.0, 2.0, 3.0));
    glb.json["nodes"][0] = json!({"mesh": 0, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1]});
    let matrix = glb.load().nodes[0].local.matrix();
    assert!(matrix.determinant() < 0.0);
    assert_eq!(matrix.w_axis.truncate(), Vec3::new(5.0, 6.0, 7.0));
}

#[test]
fn rotations_are_normalised_and_zero_becomes_the_identity() {
    let mut glb = Glb::triangle();
    glb.node()["rotation"] = json!([0, 2, 0, 0]);
    assert_eq!(trs(glb.load().nodes[0].local).rotation, Quat::from_xyzw(0.0, 1.0, 0.0, 0.0));
    glb.node()["rotation"] = json!([0, 0, 0, 0]);
    assert_eq!(trs(glb.load().nodes[0].local).rotation, Quat::IDENTITY);
}

#[test]
fn a_non_finite_transform_is_rejected() {
    for transform in
        [json!({"translation": [1e39, 0, 0]}), json!({"scale": [1e39, 1, 1]}), json!({"rotation": [1e30, 1e30, 0, 0]})]
    {
        let mut glb = Glb::triangle();
        glb.json["nodes"][0] = transform;
        glb.node()["mesh"] = 0.into();
        let load_error = glb.load_error();
        assert!(load_error.contains("nodes[0]: its transform is not finite"), "{load_error}");
    }
}

#[test]
fn spaces_in_names_are_replaced_and_repeated_names_are_numbered() {
    let mut glb = Glb::triangle();
    glb.json["nodes"] = json!([{"mesh": 0, "name": "a b"}, {"mesh": 0, "name": "a_b"}, {"mesh": 0}, {"mesh": 0}]);
    glb.json["meshes"][0]["name"] = "part".into();
    glb.json["scenes"][0]["nodes"] = json!([0, 1, 2, 3]);
    let names: Vec<String> = glb.load().nodes.into_iter().map(|n| n.name).collect();
    assert_eq!(names, ["a_b", "a_b_1", "part", "part_1"]);
}

fn instanced(attributes: serde_json::Value) -> Glb {
    let mut glb = Glb::triangle();
    glb.accessor(&[[1.0_f32, 0.0, 0.0], [2.0, 0.0, 0.0]]);
    glb.normalized(&[[0_i16, 0, 0, 32767], [0, 32767, 0, 0]]);
    glb.accessor(&[[1.0_f32; 3]; 3]);
    glb.node()["extensions"]["EXT_mesh_gpu_instancing"]["attributes"] = attributes;
    glb
}

#[test]
fn instances_have_translations_rotations_and_scales() {
    let instances = instanced(json!({"TRANSLATION": 1, "ROTATION": 2})).load().nodes.swap_remove(0).instances;
    assert_eq!(instances.len(), 2);
    let second = trs(instances[1]);
    assert_near(&second.translation.to_array(), &[2.0, 0.0, 0.0]);
    assert_near(&second.rotation.to_array(), &[0.0, 1.0, 0.0, 0.0]);
    assert_near(&second.scale.to_array(), &[1.0; 3]);
}

#[test]
fn colours_of_instances_cause_a_warning() {
    let model = instanced(json!({"TRANSLATION": 1, "_COLOR_0": 1})).load();
    assert_eq!(model.nodes[0].instances.len(), 2);
    assert_eq!(model.warnings, ["nodes[0]: the colours of its instances are not supported and are ignored"]);
}

#[test]
fn instance_attributes_of_different_lengths_are_rejected() {
    assert!(
        instanced(json!({"TRANSLATION": 1, "SCALE": 3}))
            .load_error()
            .contains("its instance attributes have different lengths")
    );
}

#[test]
fn lights_of_nodes_are_read_and_missing_ones_are_ignored() {
    let mut glb = Glb::triangle();
    let lights = json!([
        {"type": "spot", "color": [1, 0.5, 0], "intensity": 3, "range": 4, "spot": {"innerConeAngle": 0.1, "outerConeAngle": 0.2}},
        {"type": "point"}, {"type": "directional"},
    ]);
    glb.json["extensions"]["KHR_lights_punctual"]["lights"] = lights;
    glb.node()["extensions"]["KHR_lights_punctual"]["light"] = 0.into();
    let model = glb.load();
    assert_eq!(model.nodes[0].light, Some(0));
    assert_eq!((model.lights[0].intensity, model.lights[0].range), (3.0, Some(4.0)));
    let cone = plinth_model::LightKind::Spot { inner_cone_angle: 0.1, outer_cone_angle: 0.2 };
    assert_eq!((model.lights[0].kind, model.lights[2].kind), (cone, plinth_model::LightKind::Directional));
    glb.node()["extensions"]["KHR_lights_punctual"]["light"] = 9.into();
    assert_eq!(glb.load().nodes[0].light, None);
    glb.json["extensions"]["KHR_lights_punctual"]["lights"][0]["type"] = "lava".into();
    assert!(glb.load_error().contains("lights[0]: unknown type 'lava'"));
}

#[test]
fn hidden_nodes_and_their_descendants_draw_nothing() {
    let mut glb = Glb::triangle();
    glb.json["extensionsRequired"] = json!(["KHR_node_visibility"]);
    glb.json["extensions"]["KHR_lights_punctual"]["lights"] = json!([{"type": "point"}]);
    let visible = |visible: bool| json!({"KHR_node_visibility": {"visible": visible}});
    glb.json["nodes"] = json!([
        {"name": "part", "mesh": 0, "children": [1], "extensions": visible(false)},
        {"name": "part", "mesh": 0, "extensions": visible(true), "translation": [0, 1, 0]},
        {"name": "part", "mesh": 0, "extensions": {"KHR_node_visibility": {}}},
        {"name": "part", "mesh": 0, "extensions": visible(true)},
    ]);
    glb.json["nodes"][1]["extensions"]["KHR_lights_punctual"] = json!({"light": 0});
    glb.json["scenes"][0]["nodes"] = json!([0, 2, 3]);
    let nodes = glb.load().nodes;
    assert_eq!(nodes.iter().map(|node| node.mesh).collect::<Vec<_>>(), [None, None, Some(0), Some(0)]);
    assert!(nodes.iter().all(|node| node.light.is_none()));
    assert_eq!(trs(nodes[1].local).translation, Vec3::Y, "hidden nodes can be joints");
    let inventory = inspect(&glb.bytes(), &LoadOptions::default()).unwrap();
    assert_eq!((inventory.mesh_names, inventory.triangles), (vec!["part_2".to_owned(), "part_3".to_owned()], 2));
    glb.json["scenes"][0]["nodes"] = json!([0]);
    assert!(glb.load_error().contains("there is nothing to draw"));
}
