//! The model's vertices in world space: node animation, skins, morph targets, instances.

use glam::{Mat3, Mat4, Vec3};
use plinth_model::{Animation, Model, Primitive, Property, Skin};
use rayon::prelude::*;

use crate::clip::{Sampled, sample};
use crate::scene::Scene;
use crate::shot::PosedPrimitive;

/// One drawing of one primitive.
#[derive(Clone, Copy)]
struct Draw {
    node: usize,
    instance: usize,
    primitive: usize,
}

impl Scene {
    /// World-space vertices of everything that is not hidden, at a time of the clip or at rest.
    pub fn pose(&self, clip_time: Option<f32>) -> Vec<PosedPrimitive> {
        let clip = self.clip.and_then(|c| self.model.animations.get(c)).zip(clip_time);
        pose_model(&self.model, clip, self.world_from_model, &self.hidden_nodes)
    }

    /// For each posed primitive, whether the clip moves it.
    pub fn moving(&self, posed: &[PosedPrimitive]) -> Vec<bool> {
        let Some(clip) = self.clip.and_then(|c| self.model.animations.get(c)) else { return vec![false; posed.len()] };
        let animated = animated_nodes(&self.model, clip);
        let skin_moves = |skin: &Skin| skin.joints.iter().any(|j| animated[*j]);
        posed
            .iter()
            .map(|one| {
                let node = &self.model.nodes[one.node];
                let skinned = node.skin.and_then(|s| self.model.skins.get(s)).is_some_and(skin_moves);
                let morphs = |c: &plinth_model::Channel| c.property == Property::Weights && c.node == one.node;
                animated[one.node] || skinned || clip.channels.iter().any(morphs)
            })
            .collect()
    }
}

/// Nodes that a clip moves, by themselves or by an ancestor.
fn animated_nodes(model: &Model, clip: &Animation) -> Vec<bool> {
    let mut animated = vec![false; model.nodes.len()];
    for channel in clip.channels.iter().filter(|c| c.property != Property::Weights) {
        animated[channel.node] = true;
    }
    for i in 0..model.nodes.len() {
        // Parents come before children.
        animated[i] |= model.nodes[i].parent.is_some_and(|p| animated[p]);
    }
    animated
}

/// Model-from-local of every node.
pub(crate) fn node_matrices(model: &Model, sampled: &Sampled) -> Vec<Mat4> {
    let mut out: Vec<Mat4> = Vec::with_capacity(model.nodes.len());
    for (node, local) in model.nodes.iter().zip(&sampled.locals) {
        let parent = node.parent.map_or(Mat4::IDENTITY, |p| out[p]);
        out.push(parent * local.matrix());
    }
    out
}

/// Poses all visible primitives.
pub(crate) fn pose_model(
    model: &Model,
    clip: Option<(&Animation, f32)>,
    world_from_model: Mat4,
    hidden: &[bool],
) -> Vec<PosedPrimitive> {
    let sampled = sample(model, clip);
    let matrices = node_matrices(model, &sampled);
    let mut draws = Vec::new();
    for (n, node) in model.nodes.iter().enumerate().filter(|(n, _)| !hidden[*n]) {
        let Some(mesh) = node.mesh.and_then(|m| model.meshes.get(m)) else { continue };
        for instance in 0..node.instances.len().max(1) {
            draws.extend((0..mesh.primitives.len()).map(|primitive| Draw { node: n, instance, primitive }));
        }
    }
    draws
        .into_par_iter()
        .filter_map(|draw| {
            let node = &model.nodes[draw.node];
            let primitive = &model.meshes[node.mesh?].primitives[draw.primitive];
            let skin = node.skin.and_then(|s| model.skins.get(s)).filter(|_| !primitive.joints.is_empty());
            let weights = &sampled.weights[draw.node];
            let mut posed = if let Some(skin) = skin {
                let joints: Vec<Mat4> = skin
                    .joints
                    .iter()
                    .zip(&skin.inverse_bind)
                    .map(|(j, bind)| world_from_model * matrices[*j] * *bind)
                    .collect();
                skinned(primitive, weights, &joints)
            } else {
                let instance = node.instances.get(draw.instance).map_or(Mat4::IDENTITY, |t| t.matrix());
                rigid(primitive, weights, world_from_model * matrices[draw.node] * instance)
            };
            (posed.node, posed.instance, posed.primitive) = (draw.node, draw.instance, draw.primitive);
            Some(posed)
        })
        .collect()
}

/// Cofactors: transform normals also where the matrix shears, mirrors or flattens.
fn cofactors(m: Mat3) -> Mat3 {
    let out = Mat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis));
    if m.determinant() < 0.0 { -out } else { out }
}

fn unit(v: Vec3) -> Vec3 {
    // Scaled first, so that the length of tiny models does not underflow.
    let largest = v.abs().max_element();
    if largest > 0.0 && largest.is_finite() { (v / largest).normalize() } else { Vec3::Y }
}

fn rigid(primitive: &Primitive, weights: &[f32], world: Mat4) -> PosedPrimitive {
    let linear = Mat3::from_mat4(world);
    let turn = cofactors(linear);
    let m = Morphed { primitive, weights };
    let count = primitive.positions.len();
    PosedPrimitive {
        mirrored: linear.determinant() < 0.0,
        positions: (0..count).map(|v| world.transform_point3(m.position(v))).collect(),
        normals: (0..primitive.normals.len()).map(|v| unit(turn * m.normal(v))).collect(),
        tangents: (0..primitive.tangents.len()).map(|v| unit(linear * m.tangent(v))).collect(),
        ..PosedPrimitive::default()
    }
}

fn skinned(primitive: &Primitive, weights: &[f32], joints: &[Mat4]) -> PosedPrimitive {
    let m = Morphed { primitive, weights };
    let count = primitive.positions.len();
    let mut out = PosedPrimitive::default();
    let mut turned = 0_usize;
    for v in 0..count {
        let mut matrix = Mat4::ZERO;
        for (joint, weight) in primitive.joints[v].iter().zip(primitive.weights[v]) {
            if weight > 0.0 {
                matrix += joints.get(usize::from(*joint)).copied().unwrap_or(Mat4::IDENTITY) * weight;
            }
        }
        out.positions.push(matrix.transform_point3(m.position(v)));
        let linear = Mat3::from_mat4(matrix);
        if v < primitive.normals.len() {
            out.normals.push(unit(cofactors(linear) * m.normal(v)));
        }
        if v < primitive.tangents.len() {
            out.tangents.push(unit(linear * m.tangent(v)));
        }
        turned += usize::from(linear.determinant() < 0.0);
    }
    out.mirrored = turned * 2 > count;
    out
}

/// A primitive's vertices with its morph targets mixed in.
struct Morphed<'a> {
    primitive: &'a Primitive,
    weights: &'a [f32],
}

impl Morphed<'_> {
    fn mix(&self, base: [f32; 3], pick: impl Fn(&plinth_model::MorphTarget) -> Option<[f32; 3]>) -> Vec3 {
        let targets = self.primitive.morph_targets.iter().zip(self.weights).filter(|(_, w)| **w != 0.0);
        targets.fold(Vec3::from(base), |sum, (target, weight)| {
            pick(target).map_or(sum, |offset| sum + Vec3::from(offset) * *weight)
        })
    }

    fn position(&self, v: usize) -> Vec3 {
        self.mix(self.primitive.positions[v], |t| t.positions.get(v).copied())
    }

    fn normal(&self, v: usize) -> Vec3 {
        self.mix(self.primitive.normals[v], |t| t.normals.get(v).copied())
    }

    fn tangent(&self, v: usize) -> Vec3 {
        let [x, y, z, _] = self.primitive.tangents[v];
        self.mix([x, y, z], |t| t.tangents.get(v).copied())
    }
}
