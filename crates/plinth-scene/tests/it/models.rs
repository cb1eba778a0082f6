//! Small models and scenes for tests.

use std::sync::Arc;

use glam::{Mat4, Quat, Vec3};
use plinth_model::{
    Animation, Channel, Interpolation, Material, Mesh, Model, MorphTarget, Node, Primitive, Property, Skin, Transform,
    Trs,
};
use plinth_scene::{EnvironmentMap, Scene, build_scene};
use plinth_spec::RenderSettings;
use plinth_spec::settings::ParseOptions;
use serde_json::Value;

pub(crate) fn settings(json: &Value) -> RenderSettings {
    RenderSettings::from_json(json, ParseOptions::default()).unwrap()
}

pub(crate) fn scene(model: Model, json: &Value) -> Scene {
    build_scene(Arc::new(model), &settings(json), None).unwrap()
}

/// Returns a scene with uniform light. It takes less time to build than a scene with the built-in environment.
pub(crate) fn plain_scene(model: Model, json: &Value) -> Scene {
    let even = EnvironmentMap { width: 2, height: 1, pixels: vec![[1.0; 3]; 2] };
    build_scene(Arc::new(model), &settings(json), Some(even)).unwrap()
}

/// Returns a primitive in which each position is a corner of three triangles.
pub(crate) fn primitive(positions: Vec<[f32; 3]>) -> Primitive {
    let count = positions.len() as u32;
    let indices = (0..count).flat_map(|i| [i, (i + 1) % count, (i + 2) % count]).collect();
    Primitive { indices, normals: vec![[0.0, 0.0, 1.0]; positions.len()], positions, ..Primitive::default() }
}

pub(crate) fn model_of(primitives: Vec<Primitive>) -> Model {
    Model {
        nodes: vec![Node { name: "part".into(), mesh: Some(0), ..Node::default() }],
        meshes: vec![Mesh { name: "part".into(), primitives }],
        materials: vec![Material::default()],
        ..Model::default()
    }
}

/// Returns a box with two given corners.
pub(crate) fn cuboid(min: [f32; 3], max: [f32; 3]) -> Model {
    let corner = |i: u8| std::array::from_fn(|axis| if i >> axis & 1 == 0 { min[axis] } else { max[axis] });
    model_of(vec![primitive((0..8).map(corner).collect())])
}

/// Scales and moves the vertices of a model, as if its file used other units and another origin.
pub(crate) fn moved(mut model: Model, scale: f32, offset: [f32; 3]) -> Model {
    for p in model.meshes.iter_mut().flat_map(|m| &mut m.primitives).flat_map(|p| &mut p.positions) {
        *p = std::array::from_fn(|axis| p[axis] * scale + offset[axis]);
    }
    model
}

pub(crate) fn named(mut model: Model, name: &str) -> Model {
    model.nodes[0].name = name.into();
    model
}

/// Returns a model that contains the nodes of both models.
pub(crate) fn together(mut a: Model, b: Model) -> Model {
    let meshes = a.meshes.len();
    a.nodes.extend(b.nodes.into_iter().map(|n| Node { mesh: n.mesh.map(|m| m + meshes), ..n }));
    a.meshes.extend(b.meshes);
    a
}

pub(crate) fn placed_at(mut model: Model, trs: Trs) -> Model {
    model.nodes[0].local = Transform::Trs(trs);
    model
}

/// Adds a clip that moves the first node along x, from `from` to `to` and back, in `duration` seconds.
pub(crate) fn sliding(mut model: Model, from: f32, to: f32, duration: f32) -> Model {
    model.animations.push(Animation {
        name: "slide".into(),
        duration,
        channels: vec![Channel {
            node: 0,
            property: Property::Translation,
            interpolation: Interpolation::Linear,
            times: vec![0.0, duration * 0.5, duration],
            values: vec![from, 0.0, 0.0, to, 0.0, 0.0, from, 0.0, 0.0],
        }],
    });
    model
}

/// Returns a strip along the y axis with two joints. The upper joint is at y = 1, and rotates by 90° about z in one
/// second.
pub(crate) fn arm() -> Model {
    let heights = [0.0, 0.5, 1.0, 1.5, 2.0];
    let mut part = primitive(heights.iter().flat_map(|y| [[-0.1, *y, 0.0], [0.1, *y, 0.0]]).collect());
    part.joints = vec![[0, 1, 0, 0]; 10];
    part.weights =
        heights.iter().flat_map(|y| [if *y > 1.0 { [0.0, 1.0, 0.0, 0.0] } else { [1.0, 0.0, 0.0, 0.0] }; 2]).collect();
    part.tangents = vec![[1.0, 0.0, 0.0, 1.0]; 10];
    let mut model = model_of(vec![part]);
    let joint = |parent, y| Node {
        parent,
        local: Transform::Trs(Trs { translation: Vec3::new(0.0, y, 0.0), ..Trs::default() }),
        ..Node::default()
    };
    model.nodes.push(joint(None, 0.0));
    model.nodes.push(joint(Some(1), 1.0));
    model.nodes[0].skin = Some(0);
    model.skins.push(Skin {
        joints: vec![1, 2],
        inverse_bind: vec![Mat4::IDENTITY, Mat4::from_translation(Vec3::new(0.0, -1.0, 0.0))],
    });
    let bent = Quat::from_rotation_z(-std::f32::consts::FRAC_PI_2);
    model.animations.push(Animation {
        name: "bend".into(),
        duration: 1.0,
        channels: vec![Channel {
            node: 2,
            property: Property::Rotation,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 1.0],
            values: Quat::IDENTITY.to_array().into_iter().chain(bent.to_array()).collect(),
        }],
    });
    model
}

/// Returns a unit square at z = 0 with a morph target, which moves the first corner to x = −3 in one second.
pub(crate) fn morphing() -> Model {
    let mut part = primitive(vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
    let mut pull = vec![[0.0; 3]; 4];
    pull[0] = [-3.0, 0.0, 0.0];
    part.morph_targets.push(MorphTarget { positions: pull, ..MorphTarget::default() });
    let mut model = model_of(vec![part]);
    model.nodes[0].weights = vec![0.0];
    model.animations.push(Animation {
        name: "pull".into(),
        duration: 1.0,
        channels: vec![Channel {
            node: 0,
            property: Property::Weights,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 1.0],
            values: vec![0.0, 1.0],
        }],
    });
    model
}
