//! Tests of the distance at which a picture with depth of field is in focus.

use serde_json::{Value, json};

use crate::models::{cuboid, scene};

#[test]
fn the_focus_is_in_the_front_part_of_the_model_at_any_size_and_place() {
    for change in [
        json!({}),
        json!({"translateX": 0.7, "translateY": -0.4, "translateZ": 0.5}),
        json!({"effect": "reveal", "scaleFrom": 0.2}),
        json!({"effect": "reveal", "scaleFrom": 0.2, "translateZ": 0.5, "aspect": "9:16"}),
    ] {
        let mut settings = change.clone();
        settings["dofEnabled"] = json!(true);
        settings["length"] = json!(1);
        let scene = scene(cuboid([-1.0, -0.5, -0.2], [1.0, 0.5, 0.2]), &settings);
        for shot in &scene.shots {
            let view = shot.camera.view_from_world;
            let grown = |p| shot.grow_origin + (p - shot.grow_origin) * shot.grow;
            let posed = scene.pose(shot.clip_time).into_iter().flat_map(|primitive| primitive.positions);
            let depths: Vec<f32> = posed.map(|p| -view.transform_point3(grown(p)).z).collect();
            let front = depths.iter().copied().fold(f32::INFINITY, f32::min);
            let rear = depths.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let part = (shot.focus - front) / (rear - front);
            assert!((0.0..0.5).contains(&part), "{change}, frame {}: {part} from front to rear", shot.index);
        }
    }
}

/// Returns the focus in each frame of a video whose camera moves along the z axis. The model extends from -1 to 1.
fn focus_along(keyframes: &Value) -> Vec<f32> {
    let path = json!({"effect": "keyframes", "dofEnabled": true, "length": 4, "keyframes": keyframes});
    scene(cuboid([-1.0; 3], [1.0; 3]), &path).shots.iter().map(|shot| shot.focus).collect()
}

fn pose(z: f64, target: f64) -> Value {
    json!({"pose": {"position": [0, 0, z], "lookAt": [0, 0, target], "fov": 60}})
}

#[test]
fn a_camera_inside_the_model_focuses_on_what_it_looks_at() {
    for (z, target, distance) in [(0.9, -0.5, 1.4), (0.8, -0.5, 1.3), (0.85, 0.55, 0.3), (0.2, -0.5, 0.7)] {
        let focus = focus_along(&json!([pose(z, target)]))[0];
        assert!((focus - distance).abs() < 1e-4, "from {z} to {target}: {focus}");
    }
    let far_target = focus_along(&json!([pose(0.2, -900.0)]))[0];
    assert!((far_target - 1.2).abs() < 1e-4, "behind the model: {far_target}");
}

#[test]
fn the_focus_of_a_camera_that_moves_into_the_model_does_not_jump() {
    let focus = focus_along(&json!([pose(1.05, -0.5), pose(0.9, -0.5)]));
    let (first, last) = (focus[0], focus[focus.len() - 1]);
    // The focus is at first about an eighth of the model's depth behind the front, and at last on the point looked at.
    assert!((first - 0.29).abs() < 1e-4 && (last - 1.4).abs() < 1e-4, "from {first} to {last}");
    let step = focus.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f32::max);
    assert!(step < 0.1, "the focus jumps by {step}");
}
