//! Tests of the world-space vertices of posed models.

use glam::{DMat4, Mat4, Vec3};
use plinth_model::{
    Animation, Channel, Interpolation, Material, Model, MorphTarget, Node, Property, Transform, Trs, Volume,
};
use plinth_scene::{PosedPrimitive, VertexTransforms, joint_shares};
use serde_json::json;

use crate::models::{arm, cuboid, model_of, morphing, named, placed_at, primitive, scene, sliding, together};

/// Returns a triangle in the xz plane that faces up. Its tangents point along x.
fn tile() -> Model {
    let mut part = primitive(vec![[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]);
    part.normals = vec![[0.0, 1.0, 0.0]; 3];
    part.tangents = vec![[1.0, 0.0, 0.0, 1.0]; 3];
    model_of(vec![part])
}

fn posed(model: Model, json: &serde_json::Value) -> PosedPrimitive {
    scene(model, json).pose(None).remove(0)
}

fn near(a: Vec3, b: [f32; 3]) -> bool {
    (a - Vec3::from(b)).length() < 1e-5
}

#[test]
fn yaw_pitch_and_roll_are_applied_in_this_order_about_the_rotated_axes() {
    let yawed = posed(tile(), &json!({"panX": 90}));
    assert!(near(yawed.tangents[0], [0.0, 0.0, -1.0]) && near(yawed.normals[0], [0.0, 1.0, 0.0]));
    // Pitch rotates about the model's own x axis. After the yaw, this axis points along −z.
    let pitched = posed(tile(), &json!({"panX": 90, "tiltX": 90}));
    assert!(near(pitched.tangents[0], [0.0, 0.0, -1.0]) && near(pitched.normals[0], [1.0, 0.0, 0.0]));
    // Roll rotates about the model's own z axis. After the pitch, this axis points down.
    let rolled = posed(tile(), &json!({"panX": 90, "tiltX": 90, "rollZ": 90}));
    assert!(near(rolled.tangents[0], [1.0, 0.0, 0.0]), "{}", rolled.tangents[0]);
    assert!(near(rolled.normals[0], [0.0, 0.0, 1.0]), "{}", rolled.normals[0]);
}

#[test]
fn a_mirroring_transform_is_flagged_and_keeps_normals_outside() {
    let plain = posed(tile(), &json!({}));
    let mirrored = posed(tile(), &json!({"scaleX": -1}));
    assert!(!plain.mirrored && mirrored.mirrored);
    assert!(near(mirrored.normals[0], [0.0, 1.0, 0.0]) && near(mirrored.tangents[0], [-1.0, 0.0, 0.0]));
    assert!(near(mirrored.positions[0], [1.0, 0.0, -1.0]));
    let flipped = posed(tile(), &json!({"scaleY": -2}));
    assert!(flipped.mirrored && near(flipped.normals[0], [0.0, -1.0, 0.0]));
    let twice = posed(tile(), &json!({"scaleX": -1, "scaleZ": -1}));
    assert!(!twice.mirrored);
}

#[test]
fn normals_stay_perpendicular_to_stretched_surfaces() {
    let mut model = tile();
    let slope = Vec3::new(1.0, 1.0, 0.0).normalize();
    model.meshes[0].primitives[0].normals = vec![slope.to_array(); 3];
    let stretched = Trs { scale: Vec3::new(4.0, 1.0, 1.0), ..Trs::default() };
    let one = posed(placed_at(model, stretched), &json!({}));
    let expected = Vec3::new(0.25, 1.0, 0.0).normalize();
    assert!(near(one.normals[0], expected.to_array()), "{}", one.normals[0]);
}

#[test]
fn tiny_and_flattened_transforms_give_unit_normals() {
    for scale in [Vec3::splat(1e-12), Vec3::splat(1e12), Vec3::new(1.0, 0.0, 1.0)] {
        let one = posed(placed_at(tile(), Trs { scale, ..Trs::default() }), &json!({}));
        assert!(near(one.normals[0], [0.0, 1.0, 0.0]), "{scale}: {}", one.normals[0]);
    }
}

#[test]
fn children_follow_their_parents() {
    let mut model = together(cuboid([-1.0; 3], [1.0; 3]), cuboid([-0.5; 3], [0.5; 3]));
    model.nodes[0].local = Transform::Matrix(Mat4::from_translation(Vec3::new(1.0, 0.0, 0.0)));
    model.nodes[1].parent = Some(0);
    model.nodes[1].local = Transform::Trs(Trs { translation: Vec3::new(0.5, 0.0, 0.0), ..Trs::default() });
    let scene = scene(model, &json!({}));
    // The parent spans x = 0..2, and the child spans x = 1..2.
    assert!(near(scene.pose(None)[1].positions[0], [0.0, -0.5, -0.5]), "{}", scene.pose(None)[1].positions[0]);
}

#[test]
fn skins_deform_vertices() {
    let scene = scene(arm(), &json!({"animation": "bend", "length": 1}));
    let (straight, bent) = (scene.pose(Some(0.0)), scene.pose(Some(1.0)));
    let scale = scene.world_from_model_scale;
    // The tip is at height 2 in the rest pose. Now it is beside the elbow at height 1.
    let tip = bent[0].positions[8] - straight[0].positions[4];
    assert!(near(tip / scale, [1.1, 0.1, 0.0]), "{tip}");
    assert!(near(bent[0].tangents[8], [0.0, -1.0, 0.0]) && near(bent[0].normals[8], [0.0, 0.0, 1.0]));
    assert!(bent[0].positions[..6] == straight[0].positions[..6]);
    assert_eq!(scene.moving(&bent), [true]);
}

#[test]
fn morph_targets_displace_vertices_by_their_weights() {
    let scene = scene(morphing(), &json!({"animation": "pull"}));
    let at = |time: f32| scene.pose(Some(time))[0].positions[0].x / scene.world_from_model_scale;
    assert!((at(0.0) - at(1.0) - 3.0).abs() < 1e-4 && (at(0.0) - at(0.5) - 1.5).abs() < 1e-4);
}

#[test]
fn the_transforms_of_a_pose_give_its_vertices() {
    let cases = [
        (arm(), json!({"animation": "bend", "length": 1})),
        (arm(), json!({"animation": "bend", "length": 1, "scaleX": -1})),
        (morphing(), json!({"animation": "pull"})),
        (cuboid([-1.0; 3], [1.0; 3]), json!({"panX": 30, "scaleY": -2})),
    ];
    for (model, json) in cases {
        let part = model.meshes[0].primitives[0].clone();
        let scene = scene(model, &json);
        let posed = &scene.pose(Some(0.7))[0];
        let transforms = scene.pose_transforms(Some(0.7), &[true]);
        let transform = transforms[0].as_ref().unwrap();
        for (v, position) in part.positions.iter().enumerate() {
            let targets = part.morph_targets.iter().zip(&transform.morph_weights);
            let position =
                targets.fold(Vec3::from(*position), |p, (t, weight)| p + Vec3::from(t.positions[v]) * *weight);
            let found = match &transform.vertices {
                VertexTransforms::Rigid(world) => world.transform_point3(position.as_dvec3()),
                VertexTransforms::Skin(joints) => {
                    let influences = part.joints[v].iter().zip(part.weights[v]);
                    let moved = influences.map(|(joint, weight)| {
                        joints[usize::from(*joint)].transform_point3(position.as_dvec3()) * f64::from(weight)
                    });
                    moved.sum()
                }
            };
            assert!(near(found.as_vec3(), posed.positions[v].to_array()), "{json}, vertex {v}");
        }
        assert_eq!(transform.vertices.mirrors(&joint_shares(&part, 2)), posed.mirrored, "{json}");
    }
}

#[test]
fn a_skin_is_mirrored_if_the_joints_of_most_vertices_mirror() {
    let joints = VertexTransforms::Skin(vec![DMat4::IDENTITY, DMat4::from_scale(glam::DVec3::new(-1.0, 1.0, 1.0))]);
    assert!(!joints.mirrors(&[3.0, 2.0, 0.0]) && joints.mirrors(&[2.0, 3.0, 0.0]));
    assert!(!joints.mirrors(&[2.0, 3.0, 2.0]), "vertices without a joint of the skin are not mirrored");
    let mut part = primitive(vec![[0.0; 3]; 2]);
    (part.joints, part.weights) = (vec![[1, 0, 7, 0]; 2], vec![[0.5, 0.2, 0.3, 0.0]; 2]);
    assert_eq!(joint_shares(&part, 2), [0.4, 1.0, 0.6]);
}

#[test]
fn only_wanted_primitives_are_posed() {
    let scene = scene(together(cuboid([-1.0; 3], [1.0; 3]), cuboid([-0.5; 3], [0.5; 3])), &json!({}));
    let (all, some) = (scene.pose(None), scene.pose_wanted(None, &[false, true]));
    assert!(some[0].positions.is_empty() && some[1].positions == all[1].positions);
    assert_eq!(
        some.iter().map(PosedPrimitive::surface).collect::<Vec<_>>(),
        all.iter().map(PosedPrimitive::surface).collect::<Vec<_>>()
    );
    let transforms = scene.pose_transforms(None, &[false, true]);
    assert!(transforms[0].is_none() && transforms[1].is_some());
}

#[test]
fn the_transform_of_an_instance_is_applied_before_that_of_its_node() {
    let mut model = cuboid([-0.5; 3], [0.5; 3]);
    let at = |x: f32| Transform::Trs(Trs { translation: Vec3::new(x, 0.0, 0.0), ..Trs::default() });
    model.nodes[0].local = Transform::Trs(Trs { scale: Vec3::splat(2.0), ..Trs::default() });
    model.nodes[0].instances = vec![at(0.0), at(1.0), at(3.0)];
    let scene = scene(model, &json!({}));
    let posed = scene.pose(None);
    assert_eq!(posed.iter().map(|p| p.instance).collect::<Vec<_>>(), [0, 1, 2]);
    let apart = posed[2].positions[0].x - posed[0].positions[0].x;
    assert!((apart - 2.0 * 3.0 / 4.0).abs() < 1e-5, "{apart}");
}

#[test]
fn nodes_without_a_mesh_and_empty_meshes_are_skipped() {
    let mut model = cuboid([-1.0; 3], [1.0; 3]);
    model.nodes.push(Node::default());
    model.nodes.push(Node { mesh: Some(1), ..Node::default() });
    model
        .meshes
        .push(plinth_model::Mesh { primitives: vec![plinth_model::Primitive::default()], ..Default::default() });
    assert_eq!(scene(model, &json!({})).pose(None).len(), 2);
}

/// Returns two squares side by side at z = 0 that face +z. The right square rotates about their common edge until it
/// faces −x. The vertices on this edge belong to the left square.
fn creased() -> Model {
    let square = |x: f32| [[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 0.0], [x + 1.0, 1.0], [x, 1.0]];
    let corners = [square(-1.0), square(0.0)].concat();
    let mut model = arm();
    let part = &mut model.meshes[0].primitives[0];
    part.positions = corners.iter().map(|[x, y]| [*x, *y, 0.0]).collect();
    part.indices = (0..12).collect();
    (part.normals, part.tangents, part.is_flat) = (vec![[0.0, 0.0, 1.0]; 12], Vec::new(), true);
    part.joints = vec![[0, 1, 0, 0]; 12];
    let share = |[x, _]: &[f32; 2]| if *x > 0.5 { [0.0, 1.0, 0.0, 0.0] } else { [1.0, 0.0, 0.0, 0.0] };
    part.weights = corners.iter().map(share).collect();
    model.nodes[2].local = Transform::Trs(Trs::default());
    model.skins[0].inverse_bind = vec![Mat4::IDENTITY; 2];
    let turned = glam::Quat::from_rotation_y(-std::f32::consts::FRAC_PI_2);
    model.animations[0].channels[0].values =
        glam::Quat::IDENTITY.to_array().into_iter().chain(turned.to_array()).collect();
    model
}

#[test]
fn flat_normals_are_computed_from_the_bent_triangles() {
    for (scale, right) in [(1.0, [-1.0, 0.0, 0.0]), (-1.0, [1.0, 0.0, 0.0])] {
        let scene = scene(creased(), &json!({"animation": "bend", "length": 1, "scaleX": scale}));
        let (rest, bent) = (scene.pose(Some(0.0)), scene.pose(Some(1.0)));
        assert!(rest[0].normals.iter().all(|n| near(*n, [0.0, 0.0, 1.0])));
        assert!(bent[0].normals[..6].iter().all(|n| near(*n, [0.0, 0.0, 1.0])), "{:?}", bent[0].normals);
        assert!(bent[0].normals[6..].iter().all(|n| near(*n, right)), "mirrored by {scale}: {:?}", bent[0].normals);
    }
}

#[test]
fn flat_normals_are_computed_from_the_morphed_triangles() {
    let mut part = primitive(vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);
    (part.indices, part.is_flat) = (vec![0, 1, 2], true);
    // The morph target lifts the last corner by 1.
    let lift = vec![[0.0; 3], [0.0; 3], [0.0, 0.0, 1.0]];
    part.morph_targets = vec![MorphTarget { positions: lift, ..MorphTarget::default() }];
    let with_weight = |weight: f32, is_flat: bool| {
        let mut model = model_of(vec![part.clone()]);
        model.nodes[0].weights = vec![weight];
        model.meshes[0].primitives[0].is_flat = is_flat;
        posed(model, &json!({})).normals
    };
    let slope = Vec3::new(0.0, -1.0, 1.0).normalize().to_array();
    assert!(with_weight(1.0, true).iter().all(|n| near(*n, slope)), "{:?}", with_weight(1.0, true));
    assert!(with_weight(0.0, true).iter().all(|n| near(*n, [0.0, 0.0, 1.0])));
    assert!(with_weight(1.0, false).iter().all(|n| near(*n, [0.0, 0.0, 1.0])), "normals of the file were changed");
}

#[test]
fn a_flat_triangle_that_becomes_a_line_keeps_its_normals() {
    let mut part = primitive(vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [3.0, 3.0, 3.0]]);
    (part.indices, part.is_flat) = (vec![0, 1, 2], true);
    let flat = vec![[0.0; 3], [0.0; 3], [0.0, -1.0, 0.0], [0.0; 3]];
    part.morph_targets = vec![MorphTarget { positions: flat, ..MorphTarget::default() }];
    let mut model = model_of(vec![part]);
    model.nodes[0].weights = vec![1.0];
    assert!(posed(model, &json!({})).normals.iter().all(|n| near(*n, [0.0, 0.0, 1.0])));
}

#[test]
fn the_scale_of_a_mesh_is_that_of_its_longest_axis_in_any_node() {
    let stretched = |scale: f32| {
        let turn = glam::Quat::from_rotation_y(0.7);
        placed_at(tile(), Trs { scale: Vec3::new(scale, 1.0, 2.0), rotation: turn, ..Trs::default() })
    };
    let mut model = together(stretched(3.0), stretched(5.0));
    model.nodes[1].mesh = Some(0);
    let scene = scene(model, &json!({"panX": 30, "scaleX": 1.5}));
    let posed = scene.pose(None);
    // The edge between these corners is 2 units long in the mesh, along x.
    let growth = |one: &PosedPrimitive| one.positions[2].distance(one.positions[0]) / 2.0;
    let scales = scene.still_mesh_scales();
    let largest = growth(&posed[1]);
    assert!(largest > growth(&posed[0]));
    // Non-uniform scaling shears the mesh of the rotated node, so only an upper bound of its scale is returned.
    assert!(scales[0].is_some_and(|scale| scale >= largest && scale < 1.5 * largest), "{scales:?} {largest}");
    assert_eq!(scales[1], None, "the second mesh is not drawn");
}

#[test]
fn meshes_that_move_or_have_a_skin_have_no_scale() {
    let still = || scene(tile(), &json!({})).still_mesh_scales();
    assert!(still()[0].is_some());
    let clip = json!({"animation": "slide"});
    let both = named(together(sliding(tile(), 0.0, 1.0, 1.0), tile()), "moving");
    let scales = scene(both, &clip).still_mesh_scales();
    assert!(scales[0].is_none() && scales[1].is_some(), "{scales:?}");
    assert_eq!(scene(arm(), &json!({})).still_mesh_scales(), [None]);
    assert_eq!(scene(tile(), &json!({"hiddenMeshNames": ["part"]})).still_mesh_scales(), [None]);
}

#[test]
fn the_largest_scale_of_a_growing_volume_is_that_of_its_full_size() {
    let body = || cuboid([-1.0; 3], [1.0; 3]);
    let mut model = together(together(body(), body()), body());
    // The first body keeps its size. The last one has no volume, so its scale does not matter.
    let volume = Some(Volume { thickness: 0.1, ..Volume::default() });
    model.materials.push(Material { volume, ..Material::default() });
    for mesh in &mut model.meshes[..2] {
        mesh.primitives[0].material = 1;
    }
    let grows = |node| Channel {
        node,
        property: Property::Scale,
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0],
        values: vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    };
    model.animations.push(Animation { name: "grow".into(), duration: 1.0, channels: vec![grows(1), grows(2)] });
    let scene = scene(model, &json!({"animation": "*", "length": 1}));
    let posed = scene.pose(scene.shots[0].clip_time);
    assert_eq!(posed[1].scale, 0.0);
    let largest = scene.largest_scales(&posed);
    assert!(largest[0] == posed[0].scale && (largest[1] / largest[0] - 29.0 / 30.0).abs() < 1e-3, "{largest:?}");
    assert_eq!(largest[2], 0.0);
}
