//! Computes the vertices of the model in world space, including node animation, skins, morph targets and instances.

use std::collections::BTreeSet;

use glam::{DMat3, DMat4, DVec3, Mat3, Mat4, Vec3};
use plinth_model::{Animation, Channel, Model, Primitive, Property, Skin, Transform};
use rayon::prelude::*;

use crate::clip::{Sampled, sample};
use crate::scene::Scene;
use crate::shot::{PoseTransform, PosedPrimitive, VertexTransforms};

/// Minimum number of vertices of a parallel task. Smaller tasks would take longer to start than to run.
const VERTICES_PER_TASK: usize = 4096;

impl Scene {
    /// Returns the world-space vertices of all primitives that are not hidden. `clip_time` is the time in the animation
    /// clip; `None` is the rest pose. The order of the primitives does not depend on the time.
    pub fn pose(&self, clip_time: Option<f32>) -> Vec<PosedPrimitive> {
        self.placed().pose(self.playing().zip(clip_time), |_draw| true)
    }

    /// Returns the same as [`Self::pose`], but computes only the vertices of the primitives for which `wanted`, a list with
    /// one entry for each of them, is true. The others have no vertices.
    pub fn pose_wanted(&self, clip_time: Option<f32>, wanted: &[bool]) -> Vec<PosedPrimitive> {
        self.placed().pose(self.playing().zip(clip_time), |draw| wanted[draw])
    }

    /// Returns the transforms with which the vertices of the primitives in [`Self::pose`] are computed. Returns `None` for
    /// primitives for which `wanted`, a list with one entry for each of them, is false.
    pub fn pose_transforms(&self, clip_time: Option<f32>, wanted: &[bool]) -> Vec<Option<PoseTransform>> {
        let (placed, clip) = (self.placed(), self.playing().zip(clip_time));
        let sampled = sample(&self.model, clip);
        let matrices = node_matrices(&self.model, &sampled);
        let transform = |draw: &Draw<'_>| PoseTransform {
            vertices: placed.vertex_transforms(draw, &matrices),
            morph_weights: sampled.weights[draw.node].clone(),
        };
        placed.draws().iter().zip(wanted).map(|(draw, wanted)| wanted.then(|| transform(draw))).collect()
    }

    /// Returns for each posed primitive with a volume the largest [`PosedPrimitive::scale`] in any frame, and for each
    /// other primitive the scale that it has in `posed`. Only volumes need their scale, because their thickness is in mesh
    /// space.
    pub fn largest_scales(&self, posed: &[PosedPrimitive]) -> Vec<f32> {
        let mut largest: Vec<f32> = posed.iter().map(|one| one.scale).collect();
        let (placed, clip) = (self.placed(), self.playing());
        let draws = placed.draws();
        let scaled = transformed_nodes(&self.model, clip, |channel| channel.property == Property::Scale);
        let has_volume = |draw: &Draw<'_>| {
            self.model.materials[draw.primitive.material].volume.is_some_and(|volume| volume.thickness > 0.0)
        };
        let grows = |draw: &Draw<'_>| scaled[draw.node] && has_volume(draw) && placed.skin(draw).is_none();
        if !draws.iter().any(grows) {
            return largest;
        }
        let times: BTreeSet<u32> = self.shots.iter().filter_map(|shot| shot.clip_time).map(f32::to_bits).collect();
        for time in times {
            let sampled = sample(&self.model, clip.map(|clip| (clip, f32::from_bits(time))));
            let matrices = node_matrices(&self.model, &sampled);
            for (known, draw) in largest.iter_mut().zip(&draws).filter(|(_, draw)| grows(draw)) {
                if let Carrier::Rigid(world) = placed.carrier(draw, &matrices) {
                    *known = known.max(scale(world));
                }
            }
        }
        largest
    }

    /// Returns for each posed primitive whether the clip moves it.
    pub fn moving(&self, posed: &[PosedPrimitive]) -> Vec<bool> {
        let moving = moving_nodes(&self.model, self.playing());
        posed.iter().map(|one| moving[one.node]).collect()
    }

    /// Returns for each posed primitive whether the clip changes its size or its shape: by scaling, by rotating it inside a
    /// stretched space, by moving joints of its skin, or by changing its morph weights.
    pub fn reshaped(&self, posed: &[PosedPrimitive]) -> Vec<bool> {
        let reshaped = reshaped_nodes(&self.model, self.playing(), self.exact_world_from_model);
        posed.iter().map(|one| reshaped[one.node]).collect()
    }

    /// Returns for each mesh the largest factor by which its transforms to world space lengthen vectors. Returns `None`
    /// for meshes that are not drawn, have a skin, or are moved by the clip.
    pub fn still_mesh_scales(&self) -> Vec<Option<f32>> {
        let placed = self.placed();
        let matrices = node_matrices(&self.model, &sample(&self.model, None));
        let moving = moving_nodes(&self.model, self.playing());
        let mut scales = vec![Some(0.0_f32); self.model.meshes.len()];
        for draw in placed.draws() {
            let is_still = !moving[draw.node] && self.model.nodes[draw.node].skin.is_none();
            let scale = &mut scales[draw.mesh];
            *scale = scale.filter(|_| is_still).map(|known| match placed.carrier(&draw, &matrices) {
                Carrier::Rigid(world) => known.max(growth(world)),
                Carrier::Skin(_) => f32::INFINITY,
            });
        }
        scales.into_iter().map(|scale| scale.filter(|scale| *scale > 0.0 && scale.is_finite())).collect()
    }

    fn playing(&self) -> Option<&Animation> {
        self.clip.and_then(|c| self.model.animations.get(c))
    }

    fn placed(&self) -> Placed<'_> {
        Placed { model: &self.model, hidden: &self.hidden_nodes, world_from_model: self.exact_world_from_model }
    }
}

/// Returns for each node whether a clip moves its mesh, by moving the node, an ancestor or a joint of its skin, or by
/// changing its morph weights.
fn moving_nodes(model: &Model, clip: Option<&Animation>) -> Vec<bool> {
    let mut moved = transformed_nodes(model, clip, |channel| channel.property != Property::Weights);
    for (moves, bends) in moved.iter_mut().zip(bent_nodes(model, clip)) {
        *moves |= bends;
    }
    moved
}

/// Returns for each node whether a clip scales the node or an ancestor, or rotates one of them in a space that is stretched in
/// world space, or moves a joint of its skin, or changes its morph weights.
fn reshaped_nodes(model: &Model, clip: Option<&Animation>, world_from_model: DMat4) -> Vec<bool> {
    let matrices = node_matrices(model, &sample(model, None));
    let is_in_stretched_space = |node: usize| {
        let outer = model.nodes[node].parent.map_or(DMat4::IDENTITY, |parent| matrices[parent]);
        !is_similarity(world_from_model * outer)
    };
    let mut reshaped = transformed_nodes(model, clip, |channel| match channel.property {
        Property::Scale => true,
        Property::Rotation => is_in_stretched_space(channel.node),
        Property::Translation | Property::Weights => false,
    });
    for (changes, bends) in reshaped.iter_mut().zip(bent_nodes(model, clip)) {
        *changes |= bends;
    }
    reshaped
}

/// Returns for each node whether a clip changes one of these properties of the node or of an ancestor.
fn transformed_nodes(model: &Model, clip: Option<&Animation>, counts: impl Fn(&Channel) -> bool) -> Vec<bool> {
    let mut changed = vec![false; model.nodes.len()];
    for channel in clip.iter().flat_map(|clip| &clip.channels).filter(|channel| counts(channel)) {
        changed[channel.node] = true;
    }
    for i in 0..model.nodes.len() {
        // Parents precede their children, so `changed` is already known for the parent.
        changed[i] |= model.nodes[i].parent.is_some_and(|p| changed[p]);
    }
    changed
}

/// Returns for each node whether a clip moves a joint of its skin, or changes its morph weights.
pub(crate) fn bent_nodes(model: &Model, clip: Option<&Animation>) -> Vec<bool> {
    let moved = transformed_nodes(model, clip, |channel| channel.property != Property::Weights);
    let skin_moves = |skin: &Skin| skin.joints.iter().any(|j| moved[*j]);
    let mut bent: Vec<bool> =
        model.nodes.iter().map(|n| n.skin.and_then(|s| model.skins.get(s)).is_some_and(skin_moves)).collect();
    for channel in clip.iter().flat_map(|clip| &clip.channels).filter(|channel| channel.property == Property::Weights) {
        bent[channel.node] = true;
    }
    bent
}

/// Returns the node-to-model transform of each node. The transforms have double precision, because centring the model
/// later subtracts offsets that may be large.
pub(crate) fn node_matrices(model: &Model, sampled: &Sampled) -> Vec<DMat4> {
    let mut out: Vec<DMat4> = Vec::with_capacity(model.nodes.len());
    for (node, local) in model.nodes.iter().zip(&sampled.locals) {
        let parent = node.parent.map_or(DMat4::IDENTITY, |p| out[p]);
        out.push(parent * matrix(local));
    }
    out
}

pub(crate) fn matrix(transform: &Transform) -> DMat4 {
    match transform {
        Transform::Matrix(m) => m.as_dmat4(),
        Transform::Trs(t) => {
            DMat4::from_scale_rotation_translation(t.scale.as_dvec3(), t.rotation.as_dquat(), t.translation.as_dvec3())
        }
    }
}

/// A model, and the transform from the model's coordinates to the world space in which its vertices are computed.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) model: &'a Model,
    pub(crate) hidden: &'a [bool],
    pub(crate) world_from_model: DMat4,
}

/// One primitive to draw. A primitive is drawn once for each node and instance that uses it.
#[derive(Clone, Copy)]
pub(crate) struct Draw<'a> {
    pub(crate) node: usize,
    pub(crate) mesh: usize,
    pub(crate) index: usize,
    pub(crate) primitive: &'a Primitive,
    instance: usize,
}

impl<'a> Placed<'a> {
    /// Returns all primitives to draw, in a fixed order.
    pub(crate) fn draws(&self) -> Vec<Draw<'a>> {
        let mut draws = Vec::new();
        for (n, node) in self.model.nodes.iter().enumerate().filter(|(n, _)| !self.hidden[*n]) {
            let Some((mesh, parts)) = node.mesh.and_then(|m| Some((m, self.model.meshes.get(m)?))) else { continue };
            for instance in 0..node.instances.len().max(1) {
                let part = |(index, primitive)| Draw { node: n, mesh, index, instance, primitive };
                draws.extend(parts.primitives.iter().enumerate().map(part));
            }
        }
        draws
    }

    /// Computes the vertices of the primitives to draw for whose indices `wanted` returns true. The others have no vertices.
    pub(crate) fn pose(
        &self,
        clip: Option<(&Animation, f32)>,
        wanted: impl Fn(usize) -> bool + Sync,
    ) -> Vec<PosedPrimitive> {
        let sampled = sample(self.model, clip);
        let matrices = node_matrices(self.model, &sampled);
        self.draws()
            .into_par_iter()
            .enumerate()
            .map(|(i, draw)| {
                let place = PosedPrimitive {
                    node: draw.node,
                    instance: draw.instance,
                    primitive: draw.index,
                    ..PosedPrimitive::default()
                };
                if !wanted(i) {
                    return place;
                }
                let morphed = Morphed { primitive: draw.primitive, weights: &sampled.weights[draw.node] };
                let transforms = self.vertex_transforms(&draw, &matrices);
                let mut posed = match &transforms {
                    VertexTransforms::Rigid(world) => rigid(&morphed, *world),
                    VertexTransforms::Skin(joints) => PosedPrimitive {
                        mirrored: transforms.mirrors(&joint_shares(draw.primitive, joints.len())),
                        scale: scale(self.world_from_model),
                        ..skinned(&morphed, &single_precision(joints))
                    },
                };
                if draw.primitive.is_flat && (morphed.moves() || matches!(transforms, VertexTransforms::Skin(_))) {
                    flatten(draw.primitive, &mut posed);
                }
                PosedPrimitive { node: place.node, instance: place.instance, primitive: place.primitive, ..posed }
            })
            .collect()
    }

    /// Returns the linear part of the transform to world space for each primitive to draw, in the order of
    /// [`Self::pose`]. Returns `None` for primitives with a skin, whose vertices have different transforms.
    pub(crate) fn linear_parts(&self, clip: Option<(&Animation, f32)>) -> Vec<Option<DMat3>> {
        let matrices = node_matrices(self.model, &sample(self.model, clip));
        let linear_part = |draw: &Draw<'_>| match self.carrier(draw, &matrices) {
            Carrier::Rigid(world) => Some(DMat3::from_mat4(world)),
            Carrier::Skin(_) => None,
        };
        self.draws().iter().map(linear_part).collect()
    }

    /// Returns the world-space positions of a subset of the vertices. `wanted` selects primitives, and `vertices`
    /// returns the indices of the needed vertices of a primitive.
    pub(crate) fn positions(
        &self,
        clip: Option<(&Animation, f32)>,
        wanted: impl Fn(&Draw<'a>) -> bool,
        vertices: impl Fn(&Draw<'a>) -> &'a [u32],
    ) -> Vec<Vec3> {
        let sampled = sample(self.model, clip);
        let matrices = node_matrices(self.model, &sampled);
        let mut out = Vec::new();
        for draw in self.draws().iter().filter(|d| wanted(d)) {
            let morphed = Morphed { primitive: draw.primitive, weights: &sampled.weights[draw.node] };
            let carrier = self.carrier(draw, &matrices);
            let place = |v: &u32| carrier.position(&morphed, *v as usize);
            out.par_extend(vertices(draw).par_iter().with_min_len(VERTICES_PER_TASK).map(place));
        }
        out
    }

    /// Returns the positions of some vertices of a primitive that has no skin, in a space to which `space_from_node`
    /// transforms from the coordinates of the primitive's node. The morph weights are those of the rest pose.
    pub(crate) fn unmoved_positions(&self, draw: &Draw<'_>, vertices: &[u32], space_from_node: DMat4) -> Vec<DVec3> {
        let morphed = Morphed { primitive: draw.primitive, weights: &self.model.nodes[draw.node].weights };
        let space_from_mesh = space_from_node * self.node_from_instance(draw);
        let place = |v: &u32| space_from_mesh.transform_point3(morphed.position(*v as usize).as_dvec3());
        vertices.par_iter().with_min_len(VERTICES_PER_TASK).map(place).collect()
    }

    /// Returns the skin that bends a primitive.
    pub(crate) fn skin(&self, draw: &Draw<'_>) -> Option<&'a Skin> {
        let skin = self.model.nodes[draw.node].skin.and_then(|s| self.model.skins.get(s));
        skin.filter(|_| !draw.primitive.joints.is_empty())
    }

    fn carrier(&self, draw: &Draw<'_>, matrices: &[DMat4]) -> Carrier {
        match self.vertex_transforms(draw, matrices) {
            VertexTransforms::Rigid(world) => Carrier::Rigid(world),
            VertexTransforms::Skin(joints) => Carrier::Skin(single_precision(&joints)),
        }
    }

    fn vertex_transforms(&self, draw: &Draw<'_>, matrices: &[DMat4]) -> VertexTransforms {
        if let Some(skin) = self.skin(draw) {
            let joint = |(j, bind): (&usize, &Mat4)| self.world_from_model * matrices[*j] * bind.as_dmat4();
            VertexTransforms::Skin(skin.joints.iter().zip(&skin.inverse_bind).map(joint).collect())
        } else {
            VertexTransforms::Rigid(self.world_from_model * matrices[draw.node] * self.node_from_instance(draw))
        }
    }

    fn node_from_instance(&self, draw: &Draw<'_>) -> DMat4 {
        self.model.nodes[draw.node].instances.get(draw.instance).map_or(DMat4::IDENTITY, matrix)
    }
}

fn single_precision(joints: &[DMat4]) -> Vec<Mat4> {
    joints.iter().map(DMat4::as_mat4).collect()
}

/// The transform of a primitive's vertices to world space.
enum Carrier {
    Rigid(DMat4),
    Skin(Vec<Mat4>),
}

impl Carrier {
    fn position(&self, morphed: &Morphed<'_>, v: usize) -> Vec3 {
        match self {
            Self::Rigid(world) => place(*world, morphed.position(v)),
            Self::Skin(joints) => blended(morphed.primitive, joints, v).transform_point3(morphed.position(v)),
        }
    }
}

fn place(world: DMat4, position: Vec3) -> Vec3 {
    world.transform_point3(position.as_dvec3()).as_vec3()
}

/// Returns the joint matrix of a skinned vertex: the weighted sum of its joints' matrices.
fn blended(primitive: &Primitive, joints: &[Mat4], v: usize) -> Mat4 {
    let influences = primitive.joints[v].iter().zip(primitive.weights[v]).filter(|(_, weight)| *weight > 0.0);
    influences.fold(Mat4::ZERO, |sum, (joint, weight)| {
        sum + joints.get(usize::from(*joint)).copied().unwrap_or(Mat4::IDENTITY) * weight
    })
}

/// Returns the cofactor matrix, by which normals are transformed. Unlike the inverse transpose, it also exists if the
/// matrix flattens.
fn cofactors(m: Mat3) -> Mat3 {
    let out = Mat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis));
    if m.determinant() < 0.0 { -out } else { out }
}

/// Returns the cube root of the factor by which a transform changes volumes.
fn scale(world: DMat4) -> f32 {
    DMat3::from_mat4(world).determinant().abs().cbrt() as f32
}

impl VertexTransforms {
    /// Returns whether the transforms reverse the winding of triangles. With a skin, this is so if they do it for most of the
    /// vertices. `joint_shares` is the result of [`joint_shares`].
    pub fn mirrors(&self, joint_shares: &[f32]) -> bool {
        let side = |(joint, share): (&DMat4, &f32)| share.copysign(DMat3::from_mat4(*joint).determinant() as f32);
        match self {
            Self::Rigid(world) => shape(*world).determinant() < 0.0,
            Self::Skin(joints) => {
                joints.iter().chain([&DMat4::IDENTITY]).zip(joint_shares).map(side).sum::<f32>() < 0.0
            }
        }
    }
}

/// Returns the sums of the weights of each of `joints` joints over all vertices of a primitive, and last of those that the skin
/// lacks.
pub fn joint_shares(primitive: &Primitive, joints: usize) -> Vec<f32> {
    let mut shares = vec![0.0; joints + 1];
    for (joint, weight) in primitive.joints.iter().flatten().zip(primitive.weights.iter().flatten()) {
        shares[usize::from(*joint).min(joints)] += weight;
    }
    shares
}

/// Returns whether a transform keeps shapes: it scales all directions by the same factor, and keeps right angles.
fn is_similarity(transform: DMat4) -> bool {
    let DMat3 { x_axis: x, y_axis: y, z_axis: z } = DMat3::from_mat4(transform);
    let size = x.length_squared().max(y.length_squared()).max(z.length_squared());
    let differences = [x.length_squared() - size, y.length_squared() - size, z.length_squared() - size];
    let angles = [x.dot(y), y.dot(z), z.dot(x)];
    differences.into_iter().chain(angles).all(|error| error.abs() <= 1e-3 * size)
}

/// Returns an upper bound of the factor by which a transform lengthens vectors. The bound is exact if the transform
/// does not shear.
fn growth(world: DMat4) -> f32 {
    let linear = DMat3::from_mat4(world);
    // The factor is the square root of the largest eigenvalue of this matrix. No eigenvalue exceeds the largest row sum
    // of absolute values (Gershgorin 1931).
    let squares = linear.transpose() * linear;
    let sums = squares.to_cols_array_2d().map(|column| column.iter().map(|x| x.abs()).sum::<f64>());
    sums.into_iter().fold(0.0, f64::max).sqrt() as f32
}

/// Returns the linear part of a transform, divided by its largest entry. Without this division, the cofactors of very
/// small or very large models would exceed the range of single precision.
fn shape(world: DMat4) -> Mat3 {
    let linear = DMat3::from_mat4(world);
    let largest = linear.to_cols_array().into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest > 0.0 && largest.is_finite() { (linear * largest.recip()).as_mat3() } else { Mat3::IDENTITY }
}

fn unit(v: Vec3) -> Vec3 {
    // The vector is scaled first, because the squared length of a tiny vector would underflow.
    let largest = v.abs().max_element();
    if largest > 0.0 && largest.is_finite() { (v / largest).normalize() } else { Vec3::Y }
}

fn rigid(morphed: &Morphed<'_>, world: DMat4) -> PosedPrimitive {
    let shape = shape(world);
    let turn = cofactors(shape);
    let Primitive { positions, normals, tangents, .. } = morphed.primitive;
    let vertices = |count: usize| (0..count).into_par_iter().with_min_len(VERTICES_PER_TASK);
    PosedPrimitive {
        mirrored: shape.determinant() < 0.0,
        scale: scale(world),
        positions: vertices(positions.len()).map(|v| place(world, morphed.position(v))).collect(),
        normals: vertices(normals.len()).map(|v| unit(turn * morphed.normal(v))).collect(),
        tangents: vertices(tangents.len()).map(|v| unit(shape * morphed.tangent(v))).collect(),
        ..PosedPrimitive::default()
    }
}

fn skinned(morphed: &Morphed<'_>, joints: &[Mat4]) -> PosedPrimitive {
    let primitive = morphed.primitive;
    let count = primitive.positions.len();
    let vertex = |v: usize| {
        let matrix = blended(primitive, joints, v);
        let shape = Mat3::from_mat4(matrix);
        let normal = if primitive.normals.is_empty() { Vec3::ZERO } else { unit(cofactors(shape) * morphed.normal(v)) };
        let tangent = if primitive.tangents.is_empty() { Vec3::ZERO } else { unit(shape * morphed.tangent(v)) };
        (matrix.transform_point3(morphed.position(v)), (normal, tangent))
    };
    let (positions, (mut normals, mut tangents)): (Vec<_>, (Vec<_>, Vec<_>)) =
        (0..count).into_par_iter().with_min_len(VERTICES_PER_TASK).map(vertex).unzip();
    normals.truncate(primitive.normals.len());
    tangents.truncate(primitive.tangents.len());
    PosedPrimitive { positions, normals, tangents, ..PosedPrimitive::default() }
}

/// Computes flat normals from the posed triangles (glTF 2.0, section 3.7.2.1). No two triangles may share a vertex.
fn flatten(primitive: &Primitive, posed: &mut PosedPrimitive) {
    for triangle in primitive.indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(|v| posed.positions[v as usize]);
        // The edges are scaled first, because the cross product of tiny edges would underflow.
        let (u, v) = (b - a, c - a);
        let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
        let outward = (u / scale).cross(v / scale) * if posed.mirrored { -1.0 } else { 1.0 };
        // A degenerate triangle has no normal, so its vertices keep their previous normals.
        if let Some(normal) = outward.try_normalize() {
            for v in triangle {
                posed.normals[*v as usize] = normal;
            }
        }
    }
}

/// A primitive with the morph weights at one time.
struct Morphed<'a> {
    primitive: &'a Primitive,
    weights: &'a [f32],
}

impl Morphed<'_> {
    /// Returns whether any morph target has a weight other than 0.
    fn moves(&self) -> bool {
        self.primitive.morph_targets.iter().zip(self.weights).any(|(t, w)| *w != 0.0 && !t.positions.is_empty())
    }

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
