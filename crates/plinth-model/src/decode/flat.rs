//! Flat shading: generates face normals for triangles without normals.

use glam::Vec3;

use super::rearrange::{PickVertices, bytes_per_vertex, rearrange};
use super::tangent::{Tangents, UvMapping};
use crate::model::{Material, Primitive};

impl Primitive {
    /// Gives each triangle its face normal. Vertices that several triangles share are duplicated. If the primitive has
    /// tangents, they are computed again for the textures of `material`.
    pub fn shade_flat(&mut self, material: &Material) {
        let had_tangents = !self.tangents.is_empty();
        shade(self);
        if had_tangents && let Some(tangents) = UvMapping::of(material).and_then(|mapping| Tangents::of(self, mapping))
        {
            tangents.apply_to(self);
        }
    }
}

/// Returns the number of bytes that [`shade`] allocates for a primitive.
pub(crate) fn bytes(primitive: &Primitive) -> u64 {
    if corners_are_vertices(primitive) {
        return (size_of::<Vec3>() as u64).saturating_mul(primitive.positions.len() as u64);
    }
    let index = size_of::<u32>() as u64;
    (bytes_per_vertex(primitive) + index).saturating_mul(primitive.indices.len() as u64)
}

/// Gives each triangle its face normal, and duplicates the vertices that several triangles share (glTF 2.0, section
/// 3.7.2.1).
pub(crate) fn shade(primitive: &mut Primitive) {
    (primitive.normals, primitive.tangents) = (Vec::new(), Vec::new());
    for target in &mut primitive.morph_targets {
        (target.normals, target.tangents) = (Vec::new(), Vec::new());
    }
    if !corners_are_vertices(primitive) {
        let indices = std::mem::take(&mut primitive.indices);
        rearrange(primitive, &PickVertices(&indices));
        primitive.indices = (0..indices.len() as u32).collect();
    }
    let triangles = primitive.positions.as_chunks::<3>().0;
    primitive.normals = triangles.iter().flat_map(|t| [face_normal(t); 3]).collect();
    // Vertices after the last complete triangle are not drawn, so any unit normal is valid for them.
    primitive.normals.resize(primitive.positions.len(), Vec3::Y.to_array());
    primitive.is_flat = true;
}

/// Returns whether the indices are 0, 1, 2 and so on. No two triangles then share a vertex.
fn corners_are_vertices(primitive: &Primitive) -> bool {
    primitive.indices.iter().zip(0..).all(|(index, i): (&u32, u32)| *index == i)
}

fn face_normal(corners: &[[f32; 3]; 3]) -> [f32; 3] {
    let [a, b, c] = corners.map(Vec3::from);
    // The edges are scaled first, because the cross product of tiny edges would underflow.
    let (u, v) = (b - a, c - a);
    let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
    (u / scale).cross(v / scale).normalize_or(Vec3::Y).to_array()
}
