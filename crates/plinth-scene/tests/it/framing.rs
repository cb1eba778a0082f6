//! Tests that the model is never cut off by the frame, and that it fills the frame.

use glam::{Vec3, Vec4Swizzles};
use plinth_model::{
    Animation, Channel, Interpolation, Model, MorphTarget, Node, Primitive, Property, Topology, Transform, Trs,
};
use plinth_scene::{Scene, SceneError, Shot, build_scene};
use serde_json::{Value, json};

use crate::models::{
    arm, cuboid, model_of, morphing, moved, named, placed_at, plain_scene, primitive, scene, settings, sliding,
    together,
};

const ASPECTS: [(&str, f32); 3] = [("16:9", 16.0 / 9.0), ("1:1", 1.0), ("9:16", 9.0 / 16.0)];

/// Returns the largest distance of any vertex from the centre of the frame. The edges of the frame are at the distance
/// 1.
fn outermost(scene: &Scene, shot: &Shot, aspect: f32) -> f32 {
    let tan = (shot.camera.fov_y * 0.5).tan();
    let points = scene.pose(shot.clip_time).into_iter().flat_map(|one| one.positions);
    points
        .map(|p| {
            let p = shot.grow_origin + (p - shot.grow_origin) * shot.grow;
            let v = (shot.camera.view_from_world * p.extend(1.0)).xyz();
            if v.z >= -shot.camera.near || v.z <= -shot.camera.far {
                return f32::INFINITY;
            }
            (v.x / (-v.z * tan * aspect)).abs().max((v.y / (-v.z * tan)).abs())
        })
        .fold(0.0, f32::max)
}

fn odd_models() -> Vec<(&'static str, Model)> {
    vec![
        ("cube", cuboid([-1.0; 3], [1.0; 3])),
        ("flat", cuboid([-1.0, -1.4, 0.0], [1.0, 1.4, 0.0])),
        ("floor tile", cuboid([-1.0, 0.0, -1.0], [1.0, 0.0, 1.0])),
        ("needle", cuboid([-0.005, -1.0, -0.005], [0.005, 1.0, 0.005])),
        ("rod", cuboid([-3.0, 0.0, 0.0], [3.0, 0.01, 0.01])),
        ("tiny", cuboid([-1e-6; 3], [1e-6; 3])),
        ("huge", cuboid([0.0; 3], [1e9, 2e9, 1e9])),
        ("far away", moved(cuboid([-0.5; 3], [0.5, 0.7, 0.5]), 1.0, [1000.0, 250.0, -4000.0])),
        ("one point", model_of(vec![primitive(vec![[3.0, 4.0, 5.0]; 4])])),
        ("almost one point", cuboid([-3e-42; 3], [3e-42; 3])),
        ("arm", arm()),
        ("morphing", morphing()),
        ("sliding", sliding(cuboid([-0.2; 3], [0.2; 3]), -5.0, 3.0, 1.7)),
    ]
}

#[test]
fn nothing_is_cut_off_at_any_frame_of_any_effect_in_any_aspect() {
    let motions: [Value; 11] = [
        json!({}),
        json!({"easing": false, "sweepAngle": 95, "rotateY": 40}),
        json!({"effect": "hero-spin"}),
        json!({"effect": "showcase", "amplitude": 35, "rotateY": -70}),
        json!({"effect": "showcase", "amplitude": 12, "rotateY": 90, "swayEnabled": true, "swayIntensity": 2}),
        json!({"effect": "zoom-orbit"}),
        json!({"effect": "reveal", "scaleFrom": 0.3}),
        json!({"panX": 30, "tiltX": 50, "rollZ": -20, "scaleY": 3, "scaleX": -1}),
        json!({"effect": "keyframes", "startAngle": -60, "endAngle": 60, "startTilt": -10, "endTilt": 60}),
        json!({"effect": "keyframes", "rotateY": 20, "endAngle": 360, "startTilt": 90, "endTilt": 90, "loop": true}),
        json!({"animation": "*", "animationSpeed": -1.3}),
    ];
    for (name, model) in odd_models() {
        for motion in &motions {
            for (aspect, ratio) in ASPECTS {
                let mut json = motion.clone();
                json["aspect"] = json!(aspect);
                json["length"] = json!(1.5);
                let scene = plain_scene(model.clone(), &json);
                assert_eq!(scene.shots.len(), 45);
                let edges: Vec<f32> = scene.shots.iter().map(|shot| outermost(&scene, shot, ratio)).collect();
                let outermost = edges.iter().copied().fold(0.0, f32::max);
                assert!(outermost < 0.9, "{name} {json}: {outermost}");
                // The effect `zoom-orbit` starts farther away, and is close only at the end of the motion.
                let least = if motion["effect"] == "zoom-orbit" { 0.5 } else { 0.8 };
                assert!(name.ends_with("one point") || outermost > least, "{name} {json} is small: {outermost}");
            }
        }
    }
}

#[test]
fn a_distant_model_at_the_edge_of_a_wide_picture_is_not_cut_off() {
    let pose = json!({"position": [0, 0, 40], "lookAt": [40, 0, 0], "fov": 90});
    let path = json!({"effect": "keyframes", "length": 0.05, "keyframes": [{"pose": pose}]});
    let scene = plain_scene(cuboid([-1.0; 3], [1.0; 3]), &path);
    let outermost = outermost(&scene, &scene.shots[0], ASPECTS[0].1);
    assert!((0.5..0.7).contains(&outermost), "{outermost}");
}

#[test]
fn units_and_position_in_the_file_have_no_effect() {
    let shape = || together(cuboid([-0.5, 0.0, -0.5], [0.5, 1.0, 0.5]), cuboid([-0.7, 0.0, -0.5], [0.7, 0.2, 0.5]));
    let unit = scene(shape(), &json!({"length": 0.2}));
    let others =
        [moved(shape(), 1e-4, [0.0; 3]), moved(shape(), 2e4, [0.0; 3]), moved(shape(), 1.0, [1000.0, 250.0, -4000.0])];
    for other in others {
        let other = scene(other, &json!({"length": 0.2}));
        for (a, b) in unit.pose(None).iter().zip(&other.pose(None)) {
            let apart = a.positions.iter().zip(&b.positions).map(|(p, q)| p.distance(*q)).fold(0.0, f32::max);
            assert!(apart < 6e-4, "{apart}");
        }
        let (a, b) = (unit.shots[3].camera, other.shots[3].camera);
        assert!(a.position.distance(b.position) < 3e-3, "{} {}", a.position, b.position);
    }
}

#[test]
fn a_large_offset_in_a_node_loses_no_precision() {
    let far = Trs { translation: Vec3::new(3e6, -5e6, 1e6), ..Trs::default() };
    let far = scene(placed_at(cuboid([-0.5; 3], [0.5; 3]), far), &json!({}));
    for p in &far.pose(None)[0].positions {
        assert!((p.abs() - Vec3::ONE).length() < 1e-6, "{p}");
    }
}

#[test]
fn the_model_spans_two_units_around_the_origin_and_stands_on_the_floor() {
    let scene = scene(cuboid([1.0, 2.0, 3.0], [2.0, 6.0, 5.0]), &json!({}));
    assert!((scene.bounds.0 - Vec3::new(-0.25, -1.0, -0.5)).length() < 1e-6, "{:?}", scene.bounds);
    assert!((scene.bounds.1 - Vec3::new(0.25, 1.0, 0.5)).length() < 1e-6);
    assert!((scene.floor_height + 1.0).abs() < 1e-6 && (scene.world_from_model_scale - 0.5).abs() < 1e-6);
}

/// The clip bends too many vertices to measure them at all times, so the bounds are enlarged.
#[test]
fn a_bent_model_with_many_vertices_stands_on_the_floor() {
    let points = (0..150_000).map(|i| [(i % 100) as f32, (i / 100 % 100) as f32, (i / 10_000) as f32]).collect();
    let shift = MorphTarget { positions: vec![[50.0, 0.0, 0.0]; 150_000], ..MorphTarget::default() };
    let mut model = morphing();
    model.meshes[0].primitives[0] = Primitive { morph_targets: vec![shift], ..primitive(points) };
    let scene = scene(model, &json!({"animation": "*", "length": 6}));
    let lowest = lowest(&scene, &scene.shots[0]);
    assert!(scene.bounds.0.y < lowest - 0.01, "{:?} around {lowest}", scene.bounds);
    assert!((scene.floor_height - lowest).abs() < 1e-5, "{} for {lowest}", scene.floor_height);
    assert_eq!(scene.shots[0].grow_origin.y, scene.floor_height);
}

/// Returns the height of the lowest vertex.
fn lowest(scene: &Scene, shot: &Shot) -> f32 {
    let points = scene.pose(shot.clip_time).into_iter().flat_map(|one| one.positions);
    points.map(|p| p.y).fold(f32::MAX, f32::min)
}

/// The model dips for 0.2 s. Its 600 000 moving vertices are too many to transform them for each frame.
#[test]
fn a_rigid_model_with_many_vertices_is_measured_at_each_frame() {
    let points = (0..20_000).map(|i| [(i % 100) as f32, (i / 100) as f32, 0.0]).collect();
    let mut model = model_of(vec![primitive(points)]);
    let carrier = Node { name: "carrier".into(), ..Node::default() };
    let part = |i: u8| Node {
        parent: Some(0),
        mesh: Some(0),
        local: Transform::Trs(Trs { translation: Vec3::new(0.0, 0.0, f32::from(i)), ..Trs::default() }),
        ..Node::default()
    };
    model.nodes = std::iter::once(carrier).chain((0..30).map(part)).collect();
    model.animations.push(Animation {
        name: "dip".into(),
        duration: 4.0,
        channels: vec![Channel {
            node: 0,
            property: Property::Translation,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 0.9, 1.0, 1.1, 4.0],
            values: vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -300.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        }],
    });
    let scene = plain_scene(model, &json!({"animation": "*", "length": 4}));
    let dip = &scene.shots[30];
    let depth = lowest(&scene, dip);
    assert!(depth < lowest(&scene, &scene.shots[0]) - 0.5, "{depth}");
    assert!((scene.floor_height - depth).abs() < 1e-5, "{} for {depth}", scene.floor_height);
    assert!((scene.bounds.0.y - depth).abs() < 1e-5, "{:?} for {depth}", scene.bounds);
    assert!(outermost(&scene, dip, ASPECTS[0].1) < 0.9);
}

#[test]
fn a_uniform_scale_has_no_effect_and_the_camera_fits_a_stretched_model() {
    let plain = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({}));
    let scaled = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"scaleX": 5, "scaleY": 5, "scaleZ": 5}));
    for (a, b) in plain.shots.iter().zip(&scaled.shots) {
        assert!(a.camera.position.distance(b.camera.position) < 1e-4);
    }
    let stretched = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"scaleY": 2}));
    assert!((stretched.bounds.1 - Vec3::new(0.5, 1.0, 0.5)).length() < 1e-6);
}

#[test]
fn a_translation_moves_the_model_and_not_the_camera() {
    let plain = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({}));
    let lifted = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"translateY": 0.5, "translateX": -1}));
    assert!((lifted.bounds.0 - plain.bounds.0 - Vec3::new(-1.0, 0.5, 0.0)).length() < 1e-6);
    assert!((lifted.floor_height + 1.0).abs() < 1e-6, "the floor moves");
    assert_eq!(lifted.shots[7].camera.position, plain.shots[7].camera.position);
    let lowered = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"translateY": -0.5}));
    assert!((lowered.floor_height + 1.5).abs() < 1e-6, "the floor does not move with the model");
}

#[test]
fn zoom_divides_the_distance() {
    let plain = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({}));
    let near = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"zoom": 2}));
    let ratio = plain.shots[9].camera.position.length() / near.shots[9].camera.position.length();
    assert!((ratio - 2.0).abs() < 1e-5);
}

#[test]
fn the_camera_looks_from_15_degrees_above_at_35_degrees_from_plus_z() {
    let scene = scene(cuboid([-1.0; 3], [1.0; 3]), &json!({"rotateY": 90}));
    let camera = scene.shots[0].camera;
    assert!((camera.fov_y.to_degrees() - 35.0).abs() < 1e-4);
    let toward = camera.position.normalize();
    assert!((toward.y.asin().to_degrees() - 15.0).abs() < 1e-3 && toward.x > 0.96 && toward.z.abs() < 1e-6);
    let middle = camera.view_from_world.transform_point3(Vec3::ZERO);
    assert!(middle.x.abs() < 1e-5 && middle.y.abs() < 1e-5 && middle.z < 0.0);
}

#[test]
fn vertices_that_no_triangle_uses_do_not_count() {
    let mut model = cuboid([-1.0; 3], [1.0; 3]);
    model.meshes[0].primitives[0].positions.push([100.0; 3]);
    model.meshes[0].primitives[0].normals.push([0.0, 0.0, 1.0]);
    assert!((scene(model, &json!({})).bounds.1 - Vec3::ONE).length() < 1e-6);
}

#[test]
fn hidden_meshes_are_not_drawn_and_unknown_names_give_a_warning() {
    let both = || together(named(cuboid([-1.0; 3], [1.0; 3]), "box"), named(cuboid([5.0; 3], [6.0; 3]), "other"));
    let hidden = scene(both(), &json!({"hiddenMeshNames": ["other", "Box"]}));
    assert_eq!(hidden.pose(None).len(), 1);
    assert!((hidden.bounds.1 - Vec3::ONE).length() < 1e-6);
    assert_eq!(hidden.warnings, ["hiddenMeshNames: the model has no mesh 'Box'; it has 'box', 'other'"]);
}

#[test]
fn if_every_mesh_is_hidden_cameras_are_placed_as_usual_and_a_warning_is_given() {
    let shown = scene(cuboid([-1.0; 3], [1.0, 1.0, 4.0]), &json!({}));
    let hidden = scene(cuboid([-1.0; 3], [1.0, 1.0, 4.0]), &json!({"hiddenMeshNames": ["part"]}));
    assert!(hidden.pose(None).is_empty());
    assert_eq!(hidden.warnings, ["hiddenMeshNames: every mesh is hidden, so the picture is the background"]);
    assert_eq!(hidden.bounds, shown.bounds);
    assert_eq!(hidden.shots[0].camera.position, shown.shots[0].camera.position);
}

#[test]
fn a_model_without_triangles_is_framed() {
    let mut model = cuboid([-1.0; 3], [1.0; 3]);
    model.meshes[0].primitives[0].indices.clear();
    let empty = scene(model, &json!({}));
    assert!((empty.bounds.1 - Vec3::ONE).length() < 1e-5, "{:?}", empty.bounds);
}

#[test]
fn a_model_whose_vertices_are_all_at_one_point_gives_a_warning() {
    let point = || model_of(vec![primitive(vec![[3.0, 4.0, 5.0]; 4])]);
    let warnings = |model, settings: &Value| scene(model, settings).warnings;
    let expected = ["the model has no size: all its vertices are at one point, so the picture is the background"];
    assert_eq!(warnings(point(), &json!({})), expected);
    assert_eq!(warnings(together(point(), cuboid([0.0; 3], [0.1; 3])), &json!({})), Vec::<String>::new());
    // A point is drawn as a dot.
    let mut dot = point();
    dot.meshes[0].primitives[0].topology = Topology::Points;
    assert_eq!(warnings(dot.clone(), &json!({})), Vec::<String>::new());
    let hidden = json!({"hiddenMeshNames": ["dot"]});
    assert_eq!(warnings(together(point(), named(dot, "dot")), &hidden), expected);
}

#[test]
fn animations_that_move_the_model_too_far_to_measure_it_are_rejected() {
    let built = |distance: f32| {
        let model = sliding(cuboid([-1.0; 3], [1.0; 3]), distance, distance, 1.0);
        build_scene(model.into(), &settings(&json!({"animation": "*"})), None)
    };
    assert!((built(1e5).unwrap().bounds.1 - Vec3::ONE).length() < 0.1);
    assert_eq!(built(4e21).unwrap_err(), SceneError::TooFarAway);
}

#[test]
fn sizes_that_are_not_finite_are_rejected() {
    for model in [cuboid([f32::MIN; 3], [f32::INFINITY; 3]), model_of(Vec::new()), Model::default()] {
        let error = build_scene(model.into(), &settings(&json!({})), None).unwrap_err();
        assert_eq!(error, SceneError::NothingVisible);
    }
    // The size is finite even if the model extends over the whole range of single precision.
    let largest = scene(cuboid([f32::MIN; 3], [f32::MAX; 3]), &json!({}));
    assert!((largest.bounds.1 - Vec3::ONE).length() < 1e-5, "{:?}", largest.bounds);
}
