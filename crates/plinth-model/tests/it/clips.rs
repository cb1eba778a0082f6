//! Tests of animation clips.

use plinth_model::{Interpolation, Property};
use serde_json::json;

use crate::glb::Glb;

/// Builds a triangle whose node is animated, with keys at 0 and 1 seconds.
fn animated(path: &str, interpolation: &str, values: &[[f32; 3]]) -> Glb {
    let mut glb = Glb::triangle();
    let input = glb.accessor(&[[0.0_f32], [1.0]]);
    let output = glb.accessor(values);
    glb.push(
        "animations",
        json!({
            "name": "wave",
            "samplers": [{"input": input, "output": output, "interpolation": interpolation}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": path}}],
        }),
    );
    glb
}

#[test]
fn all_interpolations_are_read_and_need_enough_values() {
    for (name, interpolation, count) in [
        ("LINEAR", Interpolation::Linear, 2),
        ("STEP", Interpolation::Step, 2),
        ("CUBICSPLINE", Interpolation::CubicSpline, 6),
    ] {
        let clip = animated("translation", name, &vec![[1.0, 2.0, 3.0]; count]).load().animations.swap_remove(0);
        let channel = &clip.channels[0];
        assert_eq!((clip.name.as_str(), clip.duration), ("wave", 1.0));
        assert_eq!((channel.interpolation, channel.property, channel.node), (interpolation, Property::Translation, 0));
        assert_eq!(channel.values.len(), count * 3);
        let load_error = animated("translation", name, &vec![[0.0; 3]; count - 1]).load_error();
        assert!(load_error.contains("animations[0].channels[0]: 2 keys but only"), "{load_error}");
    }
}

#[test]
fn missing_and_unknown_interpolations_are_linear() {
    let mut glb = animated("scale", "LINEAR", &[[1.0; 3]; 2]);
    glb.json["animations"][0]["samplers"][0].as_object_mut().unwrap().remove("interpolation");
    assert_eq!(glb.load().animations[0].channels[0].interpolation, Interpolation::Linear);
    let unknown = animated("scale", "MAGIC", &[[1.0; 3]; 2]).load();
    assert_eq!(unknown.animations[0].channels[0].interpolation, Interpolation::Linear);
    assert_eq!(unknown.warnings, ["animations[0].channels[0]: unknown interpolation 'MAGIC', read as LINEAR"]);
}

#[test]
fn descending_key_times_and_samplers_without_keys_are_rejected() {
    let mut glb = animated("scale", "LINEAR", &[[1.0; 3]; 2]);
    let falling = glb.accessor(&[[1.0_f32], [0.0]]);
    glb.json["animations"][0]["samplers"][0]["input"] = falling.into();
    assert!(glb.load_error().contains("key times are not ascending"));
    glb.json["accessors"][falling]["count"] = 0.into();
    assert!(glb.load_error().contains("there are no keys"));
}

#[test]
fn channel_references_are_checked() {
    let changed = |change: fn(&mut serde_json::Value)| {
        let mut glb = animated("scale", "LINEAR", &[[1.0; 3]; 2]);
        change(&mut glb.json["animations"][0]["channels"][0]);
        glb
    };
    assert!(changed(|c| c["sampler"] = 9.into()).load_error().contains("sampler 9 does not exist"));
    assert!(changed(|c| c["target"]["node"] = 9.into()).load_error().contains("node 9 does not exist"));
}

#[test]
fn channels_without_a_target_or_with_an_unknown_property_are_ignored() {
    let mut glb = animated("scale", "LINEAR", &[[1.0; 3]; 2]);
    let channels = json!([
        {"sampler": 0, "target": {"path": "scale"}},
        {"sampler": 0, "target": {"node": 0, "path": "pointer"}},
        {"sampler": 0, "target": {"node": 1, "path": "scale"}},
    ]);
    glb.push("nodes", json!({"name": "outside of the scene"}));
    glb.json["animations"][0]["channels"] = channels;
    let model = glb.load();
    assert!(model.animations[0].channels.is_empty());
    assert_eq!(model.warnings, ["animation channels with the path 'pointer' are not supported and are ignored"]);
}

#[test]
fn weights_have_a_value_for_each_morph_target() {
    let mut glb = Glb::triangle();
    let moved = glb.accessor(&[[0.5_f32; 3]; 3]);
    glb.primitive()["targets"] = json!([{"POSITION": moved}, {"POSITION": moved}]);
    let input = glb.accessor(&[[0.0_f32], [1.0]]);
    let output = glb.normalized(&[[0_u8], [255], [255], [0]]);
    let animation = json!({
        "samplers": [{"input": input, "output": output}],
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}],
    });
    glb.push("animations", animation);
    let clip = glb.load().animations.swap_remove(0);
    assert_eq!(clip.name, "animation_0");
    assert_eq!(clip.channels[0].values, [0.0, 1.0, 1.0, 0.0]);
    glb.json["animations"][0]["name"] = json!("");
    assert_eq!(glb.load().animations[0].name, "animation_0", "an empty name is none");
}

#[test]
fn channels_with_values_that_are_not_finite_are_ignored() {
    let model = animated("scale", "LINEAR", &[[1.0; 3], [1.0, f32::NAN, 1.0]]).load();
    assert_eq!(model.warnings, ["animations[0].channels[0]: a value is not finite, so the channel is ignored"]);
    assert!(model.animations[0].channels.is_empty());
}
