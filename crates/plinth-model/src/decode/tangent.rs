//! MikkTSpace tangents.

use bevy_mikktspace::{Geometry, TangentSpace};

use crate::model::Primitive;

/// Makes tangents for triangles with texture coordinates. Corners that need different tangents at one vertex are
/// averaged: splitting them would change the vertex lists that morph targets and skins share.
pub(crate) fn generate(primitive: &mut Primitive, uv_set: usize) {
    let Some(uvs) = primitive.uvs.get(uv_set).or_else(|| primitive.uvs.first()) else { return };
    let mut work = Work { primitive, uvs, sums: vec![[0.0; 4]; primitive.positions.len()] };
    if bevy_mikktspace::generate_tangents(&mut work).is_err() {
        return;
    }
    let sums = work.sums;
    primitive.tangents = sums
        .into_iter()
        .zip(&primitive.normals)
        .map(|([x, y, z, w], normal)| {
            let length = (x * x + y * y + z * z).sqrt();
            let hand = if w < 0.0 { -1.0 } else { 1.0 };
            if length > 1e-12 {
                [x / length, y / length, z / length, hand]
            } else {
                let [a, b, c] = glam::Vec3::from(*normal).any_orthonormal_vector().to_array();
                [a, b, c, hand]
            }
        })
        .collect();
}

struct Work<'a> {
    primitive: &'a Primitive,
    uvs: &'a [[f32; 2]],
    sums: Vec<[f32; 4]>,
}

impl Work<'_> {
    fn vertex(&self, face: usize, corner: usize) -> usize {
        self.primitive.indices[face * 3 + corner] as usize
    }
}

impl Geometry for Work<'_> {
    fn num_faces(&self) -> usize {
        self.primitive.indices.len() / 3
    }

    fn num_vertices_of_face(&self, _face: usize) -> usize {
        3
    }

    fn position(&self, face: usize, vert: usize) -> [f32; 3] {
        self.primitive.positions[self.vertex(face, vert)]
    }

    fn normal(&self, face: usize, vert: usize) -> [f32; 3] {
        self.primitive.normals[self.vertex(face, vert)]
    }

    fn tex_coord(&self, face: usize, vert: usize) -> [f32; 2] {
        self.uvs[self.vertex(face, vert)]
    }

    fn set_tangent(&mut self, tangent_space: Option<TangentSpace>, face: usize, vert: usize) {
        let Some(space) = tangent_space else { return };
        let vertex = self.vertex(face, vert);
        for (sum, value) in self.sums[vertex].iter_mut().zip(space.tangent_encoded()) {
            *sum += value;
        }
    }
}
