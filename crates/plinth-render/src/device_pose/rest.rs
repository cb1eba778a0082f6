//! The vertices of a moving pool before they are posed, and how far they can get in a pose.

use std::collections::BTreeMap;

use glam::{DMat3, DMat4, DVec3, DVec4, Vec3};
use plinth_model::{MorphTarget, Primitive};
use plinth_scene::{PoseTransform, PosedPrimitive, Scene, VertexTransforms, joint_shares};
use rayon::prelude::*;

use crate::gpu_types::{PosedPiece, RestVertex};
use crate::upload::boxes::Bounds;
use crate::upload::geometry::{MIN_VERTICES, primitive_of, uv_of};
use crate::upload::pool::{Pool, VertexRange};

/// The rows of an affine transform to world space.
pub(super) type TransformRows = [[f32; 4]; 3];

/// The displacements of a vertex's position, normal and tangent.
type Displacement = [[f32; 3]; 3];

/// Everything about a pool that does not depend on the pose.
pub(super) struct Rest {
    pub(super) vertices: Vec<RestVertex>,
    /// One element for each morph target and vertex of each primitive. Instances of a primitive share them.
    pub(super) displacements: Vec<Displacement>,
    pub(super) pieces: Vec<RestPiece>,
}

/// The vertices of one posed primitive.
pub(super) struct RestPiece {
    /// Index of the posed primitive.
    posed: usize,
    center: DVec3,
    vertices: usize,
    first_displacement: usize,
    has_flat_normals: bool,
    has_tangents: bool,
    /// The result of [`joint_shares`]. Empty without a skin.
    joint_shares: Vec<f32>,
    /// Boxes, relative to `center`, around the vertices that each joint moves, and last around those that no joint of the skin
    /// moves. Without a skin, one box around all vertices. `None` if there are no such vertices.
    boxes: Vec<Option<Bounds>>,
    /// For each morph target, a box that contains the displacements of all positions. `None` if it has none.
    target_boxes: Vec<Option<Bounds>>,
}

/// The mean position of the corners of a pool's triangles, as a sum that depends on the pose only through the transforms and the
/// weights of the morph targets.
pub(super) struct Mean {
    /// For each transform, the weighted mean of the corners. The last number is the sum of the weights.
    corners: Vec<DVec4>,
    /// For each morph target and transform, the weighted mean of the displacements of the corners.
    displacements: Vec<Vec<DVec4>>,
}

/// A pool in one pose, as the device gets it.
#[derive(Default)]
pub(super) struct Posed {
    pub(super) transforms: Vec<TransformRows>,
    pub(super) morph_weights: Vec<f32>,
    pub(super) pieces: Vec<PosedPiece>,
    /// A box around each piece. The box can be larger than necessary.
    pub(super) bounds: Vec<Bounds>,
}

impl Rest {
    /// Collects the vertices of a pool. `posed` are all posed primitives, and `transforms` has an entry for each of them; only
    /// those of the pool are needed. Returns `None` if a buffer would be larger than `most_bytes`.
    pub(super) fn of(
        scene: &Scene,
        posed: &[PosedPrimitive],
        pool: &Pool,
        transforms: &[Option<PoseTransform>],
        most_bytes: u64,
    ) -> Option<Self> {
        let primitive = |piece: &VertexRange| primitive_of(scene, &posed[piece.posed]);
        let parts: Vec<&Primitive> = pool.pieces.iter().map(primitive).collect::<Option<_>>()?;
        let (places, displacements) = displacement_places(&parts);
        let vertices = parts.iter().map(|primitive| primitive.positions.len()).sum::<usize>();
        let vertices = vertices.max(pool.chosen.as_ref().map_or(0, Vec::len));
        let largest = (vertices * size_of::<RestVertex>()).max(displacements * size_of::<Displacement>());
        if largest as u64 > most_bytes {
            return None;
        }
        let mut out = Self { vertices: Vec::new(), displacements: Vec::new(), pieces: Vec::new() };
        for ((number, piece), (primitive, first)) in (0..).zip(&pool.pieces).zip(parts.into_iter().zip(places)) {
            let rest = RestPiece::of(primitive, piece.posed, transforms[piece.posed].as_ref()?, first);
            let vertices = (0..primitive.positions.len()).into_par_iter().with_min_len(MIN_VERTICES);
            out.vertices.par_extend(vertices.map(|v| rest_vertex(primitive, rest.center, number, v)));
            // The instances of a primitive share its displacements.
            if first == out.displacements.len() {
                for target in &primitive.morph_targets {
                    let vertices = 0..primitive.positions.len();
                    out.displacements.extend(vertices.map(|v| displacement(primitive, target, v)));
                }
            }
            out.pieces.push(rest);
        }
        if let Some(chosen) = &pool.chosen {
            out.vertices = chosen.iter().map(|v| out.vertices[*v as usize]).collect();
        }
        Some(out)
    }

    /// Stores in `mirrored` for each posed primitive of the pool whether its triangles are mirrored.
    pub(super) fn find_mirrored(&self, transforms: &[Option<PoseTransform>], mirrored: &mut [bool]) {
        for piece in &self.pieces {
            if let Some(transform) = &transforms[piece.posed] {
                mirrored[piece.posed] = transform.vertices.mirrors(&piece.joint_shares);
            }
        }
    }

    /// Returns the mean position of the corners of triangles, for pools of only one primitive. `corners` are indices of vertices.
    pub(super) fn mean(&self, corners: &[u32]) -> Option<Mean> {
        let [piece] = self.pieces.as_slice() else { return None };
        let (transforms, targets) = (piece.boxes.len(), piece.target_boxes.len());
        let mut mean = Mean {
            corners: vec![DVec4::ZERO; transforms],
            displacements: vec![vec![DVec4::ZERO; transforms]; targets],
        };
        for corner in corners {
            let vertex = &self.vertices[*corner as usize];
            for (transform, weight) in vertex.influences(transforms) {
                let weight = f64::from(weight) / corners.len() as f64;
                mean.corners[transform] += Vec3::from(vertex.position).as_dvec3().extend(1.0) * weight;
                for (target, of_target) in mean.displacements.iter_mut().enumerate() {
                    let at = piece.first_displacement + target * piece.vertices + vertex.number as usize;
                    let [position, ..] = self.displacements[at];
                    of_target[transform] += Vec3::from(position).as_dvec3().extend(0.0) * weight;
                }
            }
        }
        Some(mean)
    }

    /// Returns the mean position in the pose that `transforms` describe.
    pub(super) fn posed_mean(&self, mean: &Mean, transforms: &[Option<PoseTransform>]) -> Option<Vec3> {
        let piece = self.pieces.first()?;
        let transform = transforms[piece.posed].as_ref()?;
        let center = DMat4::from_translation(piece.center);
        let of_matrix = |(i, matrix): (usize, DMat4)| {
            let targets = mean.displacements.iter().zip(&transform.morph_weights);
            let sum = targets.fold(mean.corners[i], |sum, (of, weight)| sum + of[i] * f64::from(*weight));
            (matrix * center * sum).truncate()
        };
        Some(matrices(transform).into_iter().enumerate().map(of_matrix).sum::<DVec3>().as_vec3())
    }

    /// Returns the pool in the pose that `transforms` describe.
    pub(super) fn posed(&self, transforms: &[Option<PoseTransform>], mirrored: &[bool]) -> Posed {
        let mut out = Posed::default();
        for piece in &self.pieces {
            if let Some(transform) = &transforms[piece.posed] {
                piece.pose(transform, mirrored[piece.posed], &mut out);
            }
        }
        out
    }
}

impl RestVertex {
    /// Returns the indices of the transforms that move the vertex, and their weights. Without a skin, there is one transform.
    /// With a skin, there is one for each joint, and a last one for joints that the skin lacks.
    fn influences(&self, transforms: usize) -> impl Iterator<Item = (usize, f32)> {
        let has_skin = transforms > 1;
        let joints = self.joints.into_iter().zip(self.weights).filter(move |(_, weight)| has_skin && *weight > 0.0);
        let only = (!has_skin).then_some((0, 1.0));
        only.into_iter().chain(joints.map(move |(joint, weight)| (usize::from(joint).min(transforms - 1), weight)))
    }
}

impl RestPiece {
    fn of(primitive: &Primitive, posed: usize, transform: &PoseTransform, first_displacement: usize) -> Self {
        let center = center(&primitive.positions);
        let relative = |v: usize| relative(primitive, center, v);
        let (mut boxes, mut shares) = (vec![None], Vec::new());
        match &transform.vertices {
            VertexTransforms::Rigid(_) => {
                (0..primitive.positions.len()).for_each(|v| widen(&mut boxes[0], relative(v)));
            }
            VertexTransforms::Skin(joints) => {
                boxes = vec![None; joints.len() + 1];
                shares = joint_shares(primitive, joints.len());
                for (v, (of_vertex, weights)) in primitive.joints.iter().zip(&primitive.weights).enumerate() {
                    for (joint, _) in of_vertex.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                        let joint = usize::from(*joint).min(joints.len());
                        widen(&mut boxes[joint], relative(v));
                    }
                }
            }
        }
        let target_box = |target: &MorphTarget| {
            let mut out = None;
            target.positions.iter().for_each(|d| widen(&mut out, Vec3::from(*d)));
            out
        };
        Self {
            posed,
            center,
            vertices: primitive.positions.len(),
            first_displacement,
            has_flat_normals: primitive.is_flat,
            has_tangents: !primitive.tangents.is_empty(),
            joint_shares: shares,
            boxes,
            target_boxes: primitive.morph_targets.iter().map(target_box).collect(),
        }
    }

    fn pose(&self, transform: &PoseTransform, mirrored: bool, out: &mut Posed) {
        let (first_transform, first_weight) = (out.transforms.len() as u32, out.morph_weights.len() as u32);
        out.transforms.extend(matrices(transform).into_iter().map(|matrix| rows(matrix, self.center)));
        let joints = (self.boxes.len() - 1) as u32;
        // A target without a weight has no effect.
        let weight = |target: usize| transform.morph_weights.get(target).copied().unwrap_or(0.0);
        out.morph_weights.extend((0..self.target_boxes.len()).map(weight));
        let is_morphed = self.target_boxes.iter().enumerate().any(|(t, of)| of.is_some() && weight(t) != 0.0);
        out.pieces.push(PosedPiece {
            first_transform,
            joints,
            first_displacement: (self.first_displacement * DISPLACEMENT_NUMBERS) as u32,
            vertices: self.vertices as u32,
            first_weight,
            targets: self.target_boxes.len() as u32,
            flip: if mirrored { -1.0 } else { 1.0 },
            is_flat: u32::from(self.has_flat_normals && (joints > 0 || is_morphed)),
            has_tangents: u32::from(self.has_tangents),
        });
        out.bounds.push(self.bounds(transform));
    }

    /// Returns a box around all vertices in a pose. The transform of a vertex with a skin is a weighted mean of transforms of
    /// joints, so that the vertex is between the places to which its joints would move it.
    fn bounds(&self, transform: &PoseTransform) -> Bounds {
        let (mut least, mut most) = (DVec3::ZERO, DVec3::ZERO);
        let targets = self.target_boxes.iter().zip(&transform.morph_weights);
        for ((low, high), weight) in targets.filter_map(|(of, weight)| of.as_ref().zip(Some(*weight))) {
            let (a, b) = (low.as_dvec3() * f64::from(weight), high.as_dvec3() * f64::from(weight));
            least += a.min(b);
            most += a.max(b);
        }
        let (mut low, mut high) = (DVec3::MAX, DVec3::MIN);
        let moved = matrices(transform).into_iter().zip(&self.boxes);
        for (matrix, (box_low, box_high)) in moved.filter_map(|(matrix, of)| Some(matrix).zip(*of)) {
            let (a, b) = (box_low.as_dvec3() + least, box_high.as_dvec3() + most);
            let (middle, half) = (matrix.transform_point3((a + b) * 0.5 + self.center), (b - a) * 0.5);
            let linear = DMat3::from_mat4(matrix);
            let reach = linear.x_axis.abs() * half.x + linear.y_axis.abs() * half.y + linear.z_axis.abs() * half.z;
            (low, high) = (low.min(middle - reach), high.max(middle + reach));
        }
        // The device rounds the positions of the vertices.
        let slack = DVec3::splat(ROUNDING * low.abs().max(high.abs()).max_element());
        ((low - slack).as_vec3(), (high + slack).as_vec3())
    }
}

/// Returns all transforms of a primitive: the only one, or those of the joints and a last one for joints that the skin lacks.
fn matrices(transform: &PoseTransform) -> Vec<DMat4> {
    match &transform.vertices {
        VertexTransforms::Rigid(world) => vec![*world],
        VertexTransforms::Skin(joints) => joints.iter().copied().chain([DMat4::IDENTITY]).collect(),
    }
}

/// Number of 32-bit numbers per displacement of a vertex.
const DISPLACEMENT_NUMBERS: usize = 9;

/// Maximum error of a position on the device, relative to the largest coordinate.
const ROUNDING: f64 = 1e-5;

fn center(positions: &[[f32; 3]]) -> DVec3 {
    let mut around = None;
    for position in positions {
        widen(&mut around, Vec3::from(*position));
    }
    around.map_or(DVec3::ZERO, |(low, high)| (low.as_dvec3() + high.as_dvec3()) * 0.5)
}

fn relative(primitive: &Primitive, center: DVec3, v: usize) -> Vec3 {
    (Vec3::from(primitive.positions[v]).as_dvec3() - center).as_vec3()
}

fn widen(around: &mut Option<Bounds>, point: Vec3) {
    let (low, high) = around.unwrap_or((point, point));
    *around = Some((low.min(point), high.max(point)));
}

fn rest_vertex(primitive: &Primitive, center: DVec3, piece: u32, v: usize) -> RestVertex {
    let [x, y, z, handedness] = primitive.tangents.get(v).copied().unwrap_or_default();
    RestVertex {
        position: relative(primitive, center, v).to_array(),
        piece,
        normal: primitive.normals.get(v).copied().unwrap_or_default(),
        handedness,
        tangent: [x, y, z],
        number: v as u32,
        weights: primitive.weights.get(v).copied().unwrap_or_default(),
        joints: primitive.joints.get(v).copied().unwrap_or_default(),
        uv0: uv_of(primitive, 0, v),
    }
}

/// Returns for each primitive the index of its first displacement, and the number of all displacements.
fn displacement_places(parts: &[&Primitive]) -> (Vec<usize>, usize) {
    let mut known: BTreeMap<*const Primitive, usize> = BTreeMap::new();
    let mut count = 0;
    let mut place = |primitive: &&Primitive| {
        *known.entry(std::ptr::from_ref(*primitive)).or_insert_with(|| {
            let first = count;
            count += primitive.morph_targets.len() * primitive.positions.len();
            first
        })
    };
    let places = parts.iter().map(&mut place).collect();
    (places, count)
}

/// Returns the displacements of a vertex. Attributes that the primitive lacks are not displaced.
fn displacement(primitive: &Primitive, target: &MorphTarget, v: usize) -> Displacement {
    let of = |list: &[[f32; 3]], has: bool| list.get(v).filter(|_| has).copied().unwrap_or_default();
    [
        of(&target.positions, true),
        of(&target.normals, !primitive.normals.is_empty()),
        of(&target.tangents, !primitive.tangents.is_empty()),
    ]
}

/// Returns the rows of a transform for positions relative to `center`.
fn rows(matrix: DMat4, center: DVec3) -> TransformRows {
    let moved = matrix * DMat4::from_translation(center);
    [0, 1, 2].map(|i| moved.row(i).as_vec4().to_array())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::{Mat4, Quat};
    use plinth_model::{
        Animation, Channel, Interpolation, Material, Mesh, Model, Node, Property, Skin, Transform, Trs,
    };
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ParseOptions;

    use super::*;

    /// Returns a scene with a row of points with normals along x. Two joints at x = 0 and x = 1 bend it if `is_skin` is true,
    /// or its node rotates otherwise. A morph target moves the points along y.
    fn bent_row(is_skin: bool) -> Scene {
        let share = |v: usize| v as f32 / 10.0;
        let at = |v: usize, size: f32| [share(v) * 2.0 - 0.5, size * (v % 3) as f32, 0.5 * (v % 2) as f32];
        let row = Primitive {
            positions: (0..11).map(|v| at(v, 0.1)).collect(),
            normals: vec![[0.0, 0.0, 1.0]; 11],
            indices: (0..9).flat_map(|v| [v, v + 1, v + 2]).collect(),
            joints: if is_skin { vec![[0, 1, 9, 0]; 11] } else { Vec::new() },
            weights: (0..11).map(|v| [0.9 - 0.9 * share(v), 0.9 * share(v), 0.1, 0.0]).collect(),
            morph_targets: vec![MorphTarget {
                positions: (0..11).map(|v| at(v, -1.5)).collect(),
                ..MorphTarget::default()
            }],
            ..Primitive::default()
        };
        let turned = Quat::from_euler(glam::EulerRot::XYZ, 1.0, -0.4, 2.0);
        let channel = |node, property, values| Channel {
            node,
            property,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 1.0],
            values,
        };
        let turns = Quat::IDENTITY.to_array().into_iter().chain(turned.to_array()).collect();
        let along_x = Transform::Trs(Trs { translation: Vec3::X, ..Trs::default() });
        let model = Model {
            nodes: vec![
                Node { mesh: Some(0), skin: is_skin.then_some(0), weights: vec![0.0], ..Node::default() },
                Node::default(),
                Node { parent: Some(1), local: along_x, ..Node::default() },
            ],
            meshes: vec![Mesh { primitives: vec![row], ..Mesh::default() }],
            materials: vec![Material::default()],
            skins: vec![Skin {
                joints: vec![1, 2],
                inverse_bind: vec![Mat4::IDENTITY, Mat4::from_translation(-Vec3::X)],
            }],
            animations: vec![Animation {
                name: "bend".to_owned(),
                duration: 1.0,
                channels: vec![
                    channel(if is_skin { 2 } else { 0 }, Property::Rotation, turns),
                    channel(0, Property::Weights, vec![-0.5, 1.0]),
                ],
            }],
            ..Model::default()
        };
        let settings = serde_json::json!({"animation": "bend", "length": 1, "shadows": false});
        let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        build_scene(Arc::new(model), &settings, None).unwrap()
    }

    #[test]
    fn the_box_around_a_piece_contains_its_vertices_and_is_not_much_larger() {
        for is_skin in [false, true] {
            let scene = bent_row(is_skin);
            let primitive = &scene.model.meshes[0].primitives[0];
            for time in [0.0, 0.3, 0.7, 1.0] {
                let transforms = scene.pose_transforms(Some(time), &[true]);
                let transform = transforms[0].as_ref().unwrap();
                let (low, high) = RestPiece::of(primitive, 0, transform, 0).bounds(transform);
                let posed = scene.pose(Some(time));
                let points = || posed[0].positions.iter();
                assert!(points().all(|p| p.cmpge(low).all() && p.cmple(high).all()), "skin: {is_skin}, time {time}");
                let (least, most) = points().fold((Vec3::MAX, Vec3::MIN), |(a, b), p| (a.min(*p), b.max(*p)));
                let ratio = (high - low).max_element() / (most - least).max_element();
                assert!(ratio < 4.0, "skin: {is_skin}, time {time}: the box is {ratio} times as large as the vertices");
            }
        }
    }

    #[test]
    fn the_mean_of_posed_corners_follows_from_the_transforms() {
        for is_skin in [false, true] {
            let scene = bent_row(is_skin);
            let primitive = &scene.model.meshes[0].primitives[0];
            let transforms = |time: f32| scene.pose_transforms(Some(time), &[true]);
            let piece = RestPiece::of(primitive, 0, transforms(0.0)[0].as_ref().unwrap(), 0);
            let displaced = |v: usize| displacement(primitive, &primitive.morph_targets[0], v);
            let rest = Rest {
                vertices: (0..11).map(|v| rest_vertex(primitive, piece.center, 0, v)).collect(),
                displacements: (0..11).map(displaced).collect(),
                pieces: vec![piece],
            };
            let mean = rest.mean(&primitive.indices).unwrap();
            for time in [0.0, 0.3, 1.0] {
                let posed = &scene.pose(Some(time))[0].positions;
                let sum: Vec3 = primitive.indices.iter().map(|v| posed[*v as usize]).sum();
                let expected = sum / primitive.indices.len() as f32;
                let found = rest.posed_mean(&mean, &transforms(time)).unwrap();
                assert!(found.distance(expected) < 1e-5, "skin: {is_skin}, time {time}: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn instances_share_the_displacements_of_their_primitive() {
        let of = |targets: usize, vertices: usize| Primitive {
            positions: vec![[0.0; 3]; vertices],
            morph_targets: vec![MorphTarget::default(); targets],
            ..Primitive::default()
        };
        let [plain, one, two] = [of(0, 9), of(1, 3), of(2, 5)];
        assert_eq!(displacement_places(&[&two, &plain, &two, &one, &plain]), (vec![0, 10, 0, 10, 10], 13));
    }

    #[test]
    fn a_pose_has_a_row_of_transforms_per_joint_and_only_bent_normals_are_flat() {
        for is_skin in [false, true] {
            let scene = bent_row(is_skin);
            let flat = Primitive { is_flat: true, ..scene.model.meshes[0].primitives[0].clone() };
            let at = |time: f32, primitive: &Primitive, mirrored: bool| {
                let transforms = scene.pose_transforms(Some(time), &[true]);
                let piece = RestPiece::of(primitive, 0, transforms[0].as_ref().unwrap(), 7);
                let rest = Rest { vertices: Vec::new(), displacements: Vec::new(), pieces: vec![piece] };
                let posed = rest.posed(&transforms, &[mirrored]);
                (posed.transforms.len(), posed.morph_weights.clone(), posed.pieces[0])
            };
            let (rows, weights, piece) = at(1.0, &flat, true);
            // A skin has another transform for joints that it lacks.
            assert_eq!((rows, piece.joints), if is_skin { (3, 2) } else { (1, 0) });
            assert_eq!((weights, piece.targets, piece.vertices), (vec![1.0], 1, 11));
            assert_eq!((piece.flip, piece.is_flat, piece.first_displacement), (-1.0, 1, 63));
            // One third of the way, the weight is 0, so that nothing is bent without a skin.
            let (_, weights, piece) = at(1.0 / 3.0, &flat, false);
            assert!(weights[0].abs() < 1e-6, "{weights:?}");
            assert_eq!((piece.flip, piece.is_flat), (1.0, u32::from(is_skin || weights[0] != 0.0)));
            assert_eq!(at(1.0, &scene.model.meshes[0].primitives[0], false).2.is_flat, 0);
        }
    }
}
