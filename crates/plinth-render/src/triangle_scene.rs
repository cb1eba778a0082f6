//! The scene of tests that need any scene.

use std::sync::Arc;

use plinth_model::{Material, Mesh, Model, Node, Primitive};
use plinth_scene::{Scene, build_scene};
use plinth_spec::RenderSettings;

/// Returns a scene with one triangle and the default settings.
pub(crate) fn triangle_scene() -> Scene {
    let triangle = Primitive {
        positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        normals: vec![[0.0, 0.0, 1.0]; 3],
        indices: vec![0, 1, 2],
        ..Primitive::default()
    };
    let model = Model {
        nodes: vec![Node { mesh: Some(0), ..Node::default() }],
        meshes: vec![Mesh { primitives: vec![triangle], ..Mesh::default() }],
        materials: vec![Material::default()],
        ..Model::default()
    };
    build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap()
}
