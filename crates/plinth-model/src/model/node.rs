//! Nodes of the scene graph and their transforms.

use glam::{Mat4, Quat, Vec3};

/// One node of the scene graph.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Name of the node. The setting `hiddenMeshNames` refers to nodes with meshes by this name. In their names, spaces
    /// are replaced by `_`, and repeated names get `_1`, `_2` and so on.
    pub name: String,
    /// Index of the parent node, which is always smaller than the index of this node.
    pub parent: Option<usize>,
    /// Transform relative to the parent, in the rest pose.
    pub local: Transform,
    /// Index of the mesh in [`Model::meshes`](super::Model::meshes); `None` if the node has no mesh.
    pub mesh: Option<usize>,
    /// Index of the skin in [`Model::skins`](super::Model::skins); `None` if the mesh is not skinned.
    pub skin: Option<usize>,
    /// Index of the light in [`Model::lights`](super::Model::lights); `None` if the node has no light.
    pub light: Option<usize>,
    /// Morph weights in the rest pose. If the node has no weights of its own, they are the weights of its mesh.
    pub weights: Vec<f32>,
    /// Transforms from EXT_mesh_gpu_instancing. The mesh is drawn once per entry, with the transform `world *
    /// instance`. If the list is empty, the mesh is drawn once.
    pub instances: Vec<Transform>,
}

/// The transform of a node relative to its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// A matrix that maps local coordinates to the parent's coordinates. Animated nodes never have a matrix.
    Matrix(Mat4),
    /// Scale, rotation and translation, applied in this order.
    Trs(Trs),
}

/// Translation, rotation and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trs {
    /// Translation.
    pub translation: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Scale per axis.
    pub scale: Vec3,
}

impl Default for Trs {
    fn default() -> Self {
        Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE }
    }
}

impl Default for Transform {
    fn default() -> Self {
        Self::Trs(Trs::default())
    }
}

impl Transform {
    /// Returns the matrix that maps local coordinates to the parent's coordinates.
    pub fn matrix(&self) -> Mat4 {
        match self {
            Self::Matrix(m) => *m,
            Self::Trs(t) => Mat4::from_scale_rotation_translation(t.scale, t.rotation, t.translation),
        }
    }
}
