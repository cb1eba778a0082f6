//! Tests of the distance at which a picture with depth of field is in focus.

use serde_json::json;

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
