//! Flat normals for triangles that have none.

use glam::Vec3;

use super::tangent;
use crate::model::{MorphTarget, Primitive};

impl Primitive {
    /// Gives each triangle its own normal, with the vertices split. Tangents are made again where there were any, for
    /// this set of texture coordinates.
    pub fn shade_flat(&mut self, uv_set: usize) {
        let had_tangents = !self.tangents.is_empty();
        shade(self);
        if had_tangents {
            tangent::generate(self, uv_set);
        }
    }
}

/// Bytes that [`shade`] makes.
pub(crate) fn bytes(primitive: &Primitive) -> u64 {
    let vec = size_of::<Vec3>() as u64;
    if corners_are_vertices(primitive) {
        return vec.saturating_mul(primitive.positions.len() as u64);
    }
    let of = |present: bool, bytes: u64| if present { bytes } else { 0 };
    let uvs = 8 * primitive.uvs.iter().filter(|set| !set.is_empty()).count() as u64;
    let (colors, influences) = (of(!primitive.colors.is_empty(), 16), of(!primitive.joints.is_empty(), 24));
    let morphs = vec * primitive.morph_targets.len() as u64;
    let index = 4;
    (2 * vec + uvs + colors + influences + morphs + index).saturating_mul(primitive.indices.len() as u64)
}

/// Splits all vertices and gives each triangle its own normal (glTF 2.0, section 3.7.2.1).
pub(crate) fn shade(primitive: &mut Primitive) {
    if !corners_are_vertices(primitive) {
        split(primitive);
    }
    let triangles = primitive.positions.as_chunks::<3>().0;
    primitive.normals = triangles.iter().flat_map(|t| [normal(t); 3]).collect();
    // Vertices behind the last whole triangle are not drawn.
    primitive.normals.resize(primitive.positions.len(), Vec3::Y.to_array());
    primitive.tangents = Vec::new();
    for target in &mut primitive.morph_targets {
        (target.normals, target.tangents) = (Vec::new(), Vec::new());
    }
}

/// The vertices stand as if there were no indices, so that no triangle shares one.
fn corners_are_vertices(primitive: &Primitive) -> bool {
    primitive.indices.iter().zip(0..).all(|(index, i): (&u32, u32)| *index == i)
}

fn split(primitive: &mut Primitive) {
    let indices = std::mem::take(&mut primitive.indices);
    spread(&mut primitive.positions, &indices);
    primitive.uvs.iter_mut().for_each(|set| spread(set, &indices));
    spread(&mut primitive.colors, &indices);
    spread(&mut primitive.joints, &indices);
    spread(&mut primitive.weights, &indices);
    for MorphTarget { positions, .. } in &mut primitive.morph_targets {
        spread(positions, &indices);
    }
    primitive.indices = (0..indices.len() as u32).collect();
}

/// The entries that indices name; nothing where there are none.
fn spread<T: Copy>(list: &mut Vec<T>, indices: &[u32]) {
    if !list.is_empty() {
        *list = indices.iter().map(|i| list[*i as usize]).collect();
    }
}

fn normal(corners: &[[f32; 3]; 3]) -> [f32; 3] {
    let [a, b, c] = corners.map(Vec3::from);
    // Scaled first: the cross product of tiny edges would vanish.
    let (u, v) = (b - a, c - a);
    let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
    (u / scale).cross(v / scale).normalize_or(Vec3::Y).to_array()
}
