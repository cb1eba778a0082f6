//! Tests of animation clips and camera effects over a whole render.

use glam::Vec3;
use serde_json::json;

use crate::models::{cuboid, scene, sliding};

#[test]
fn a_render_has_30_frames_a_second_and_at_least_one() {
    for (length, frames) in [(0.001, 1), (1.0, 30), (2.45, 74), (6.0, 180)] {
        let scene = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"length": length}));
        assert_eq!(scene.shots.len(), frames, "{length}");
        assert!(scene.shots.iter().zip(0..).all(|(shot, i)| shot.index == i));
    }
}

#[test]
fn the_frame_after_the_last_of_a_turntable_is_the_first() {
    for easing in [true, false] {
        let scene = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"easing": easing, "length": 4}));
        let at = |i: usize| scene.shots[i].camera.position;
        let (last_step, first_step) = (at(0).distance(at(119)), at(1).distance(at(0)));
        assert!((last_step / first_step - 1.0).abs() < 0.01, "{last_step} {first_step}");
    }
}

#[test]
fn repeated_pictures_are_exactly_equal() {
    let swing = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"effect": "showcase", "length": 4}));
    assert!((1..60).all(|i| swing.shots[i].same_picture(&swing.shots[60 - i])));
    assert!(!swing.shots[10].same_picture(&swing.shots[11]));
    let pose = |x: f64| json!({"position": [x, 0.5, 4], "lookAt": [0, 0, 0], "fov": 30});
    let dwell = scene(
        cuboid([-1.0; 3], [1.0; 3]),
        &json!({"effect": "keyframes", "length": 4, "keyframes": [{"pose": pose(0.0), "dwell": 2}, {"pose": pose(1.0)}]}),
    );
    assert!((1..59).all(|i| dwell.shots[i].same_picture(&dwell.shots[0])));
}

#[test]
fn keyframe_poses_are_used_unchanged() {
    let pose = json!({"position": [1.2, 0.5, 3.4], "lookAt": [0.1, 0, 0], "fov": 41});
    let scene = scene(
        cuboid([-1.0; 3], [1.0; 3]),
        &json!({"effect": "keyframes", "length": 0.1, "zoom": 2, "aspect": "9:16", "keyframes": [{"pose": pose}]}),
    );
    for shot in &scene.shots {
        assert!((shot.camera.position - Vec3::new(1.2, 0.5, 3.4)).length() < 1e-6);
        assert!((shot.camera.fov_y.to_degrees() - 41.0).abs() < 1e-4);
        let seen = shot.camera.view_from_world.transform_point3(Vec3::new(0.1, 0.0, 0.0));
        assert!(seen.x.abs() < 1e-5 && seen.y.abs() < 1e-5 && seen.z < 0.0);
    }
}

#[test]
fn a_camera_straight_above_or_at_its_target_is_valid() {
    for position in [[0.0, 4.0, 0.0], [0.0, -4.0, 0.0], [0.0, 0.0, 0.0]] {
        let pose = json!({"position": position, "lookAt": [0, 0, 0], "fov": 40});
        let scene = scene(
            cuboid([-1.0; 3], [1.0; 3]),
            &json!({"effect": "keyframes", "length": 0.05, "keyframes": [{"pose": pose}]}),
        );
        let camera = scene.shots[0].camera;
        assert!(camera.view_from_world.is_finite() && camera.near > 0.0 && camera.far > camera.near);
    }
}

#[test]
fn a_camera_almost_straight_above_its_target_keeps_its_azimuth() {
    for (x, z) in [(0.001, 0.0), (-0.001, 0.0), (0.02, 0.03), (0.0, -0.02)] {
        let pose = json!({"position": [x, 4, z], "lookAt": [0, 0, 0], "fov": 40});
        let scene = scene(
            cuboid([-1.0; 3], [1.0; 3]),
            &json!({"effect": "keyframes", "length": 0.05, "keyframes": [{"pose": pose}]}),
        );
        let up = scene.shots[0].camera.view_from_world.row(1).truncate();
        assert!(up.distance(-Vec3::new(x, 0.0, z).normalize()) < 0.02, "{x} {z}: {up}");
    }
}

#[test]
fn clips_loop_at_their_speed_in_both_directions() {
    let model = || sliding(cuboid([-1.0; 3], [1.0; 3]), 0.0, 4.0, 2.0);
    let times = |speed: f64| -> Vec<f32> {
        let scene = scene(model(), &json!({"animation": "slide", "animationSpeed": speed, "length": 2}));
        scene.shots.iter().map(|s| s.clip_time.unwrap()).collect()
    };
    assert!((times(1.0)[15] - 0.5).abs() < 1e-6 && (times(3.0)[30] - 1.0).abs() < 1e-6);
    assert!((times(-1.0)[0] - 2.0).abs() < 1e-6 && (times(-1.0)[15] - 1.5).abs() < 1e-6);
}

#[test]
fn the_whole_clip_is_framed_even_if_a_short_render_shows_only_its_start() {
    let model = || sliding(cuboid([-1.0; 3], [1.0; 3]), 0.0, 8.0, 60.0);
    let playing = scene(model(), &json!({"animation": "*", "length": 0.5}));
    assert!((playing.bounds.1.x - 1.0).abs() < 1e-5 && (playing.bounds.1.y - 0.2).abs() < 1e-5, "{:?}", playing.bounds);
    assert_eq!(playing.moving(&playing.pose(None)), [true]);
    let resting = scene(model(), &json!({"length": 0.5}));
    assert!((resting.bounds.1 - Vec3::ONE).length() < 1e-5);
    assert!(resting.moving(&resting.pose(None)) == [false] && resting.shots.iter().all(|s| s.clip_time.is_none()));
}

#[test]
fn clips_of_zero_or_extreme_length_are_handled() {
    for duration in [0.0, 1e30, f32::MAX] {
        let scene =
            scene(sliding(cuboid([-1.0; 3], [1.0; 3]), 0.0, 1.0, duration), &json!({"animation": "*", "length": 1}));
        for shot in [&scene.shots[0], &scene.shots[29]] {
            assert!(scene.pose(shot.clip_time)[0].positions.iter().all(|p| p.is_finite()), "{duration}");
        }
    }
}

#[test]
fn a_missing_clip_gives_a_warning_that_names_it() {
    let model = sliding(cuboid([-1.0; 3], [1.0; 3]), 0.0, 1.0, 1.0);
    let still = scene(model, &json!({"animation": "run"}));
    assert!(still.clip.is_none() && still.shots.iter().all(|shot| shot.clip_time.is_none()), "not the rest pose");
    let warning = "animation: the model has no clip 'run', so it stays in its rest pose; it has 'slide'";
    assert_eq!(still.warnings, [warning]);
    for wanted in ["*", "run"] {
        let still = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"animation": wanted}));
        assert_eq!(still.clip, None);
        assert_eq!(still.warnings, ["animation: the model has no clips, so it stays in its rest pose"], "{wanted}");
    }
}
