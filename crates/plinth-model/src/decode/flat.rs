//! Flat normals for triangles that have none.

use glam::Vec3;

use super::rearrange::{Picked, bytes_per_vertex, rearrange};
use super::tangent::{Coordinates, Tangents};
use crate::model::{Material, Primitive};

impl Primitive {
    /// Gives each triangle its own normal, with the vertices split. Tangents are made again where there were any, for
    /// the maps of this material.
    pub fn shade_flat(&mut self, material: &Material) {
        let had_tangents = !self.tangents.is_empty();
        shade(self);
        if had_tangents && let Some(tangents) = Coordinates::of(material).and_then(|along| Tangents::of(self, along)) {
            tangents.give_to(self);
        }
    }
}

/// Bytes that [`shade`] makes.
pub(crate) fn bytes(primitive: &Primitive) -> u64 {
    if corners_are_vertices(primitive) {
        return (size_of::<Vec3>() as u64).saturating_mul(primitive.positions.len() as u64);
    }
    let index = size_of::<u32>() as u64;
    (bytes_per_vertex(primitive) + index).saturating_mul(primitive.indices.len() as u64)
}

/// Splits all vertices and gives each triangle its own normal (glTF 2.0, section 3.7.2.1).
pub(crate) fn shade(primitive: &mut Primitive) {
    (primitive.normals, primitive.tangents) = (Vec::new(), Vec::new());
    for target in &mut primitive.morph_targets {
        (target.normals, target.tangents) = (Vec::new(), Vec::new());
    }
    if !corners_are_vertices(primitive) {
        let indices = std::mem::take(&mut primitive.indices);
        rearrange(primitive, &Picked(&indices));
        primitive.indices = (0..indices.len() as u32).collect();
    }
    let triangles = primitive.positions.as_chunks::<3>().0;
    primitive.normals = triangles.iter().flat_map(|t| [normal(t); 3]).collect();
    // Vertices behind the last whole triangle are not drawn.
    primitive.normals.resize(primitive.positions.len(), Vec3::Y.to_array());
    primitive.is_flat = true;
}

/// The vertices stand as if there were no indices, so that no triangle shares one.
fn corners_are_vertices(primitive: &Primitive) -> bool {
    primitive.indices.iter().zip(0..).all(|(index, i): (&u32, u32)| *index == i)
}

fn normal(corners: &[[f32; 3]; 3]) -> [f32; 3] {
    let [a, b, c] = corners.map(Vec3::from);
    // Scaled first: the cross product of tiny edges would vanish.
    let (u, v) = (b - a, c - a);
    let scale = u.abs().max_element().max(v.abs().max_element()).max(f32::MIN_POSITIVE);
    (u / scale).cross(v / scale).normalize_or(Vec3::Y).to_array()
}
