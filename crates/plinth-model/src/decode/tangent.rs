//! Tangents: MikkTSpace, or plain sums where that would take too long.

use std::collections::HashMap;

use bevy_mikktspace::{Geometry, TangentSpace};
use glam::{Vec2, Vec3};

use crate::model::Primitive;

/// What making takes for each vertex: sums of two directions, and the tangent.
pub(crate) const BYTES_PER_VERTEX: u64 = 40;
/// MikkTSpace takes some hundred bytes a triangle while it works.
const MAX_MIKK_TRIANGLES: usize = 1_000_000;
/// MikkTSpace takes time with the square of the triangles around a point, and a stack as deep as their number.
const MAX_MIKK_TRIANGLES_AROUND_POINT: u32 = 1000;

/// Makes tangents for triangles with texture coordinates: of the set, or of the first one where it is missing.
/// Corners that need different tangents at one vertex are averaged: splitting them would change the vertex lists that
/// morph targets and skins share.
pub(crate) fn generate(primitive: &mut Primitive, uv_set: usize) {
    let present = |set: &&Vec<[f32; 2]>| !set.is_empty();
    let set = primitive.uvs.get(uv_set).filter(present).or_else(|| primitive.uvs.iter().find(present));
    let Some(uvs) = set else { return };
    let sums = if suits_mikktspace(primitive) {
        let mut work = Work { primitive, uvs, sums: vec![[0.0; 4]; primitive.positions.len()] };
        if bevy_mikktspace::generate_tangents(&mut work).is_err() {
            return;
        }
        work.sums
    } else {
        sums_over_triangles(primitive, uvs)
    };
    primitive.tangents = sums
        .into_iter()
        .zip(&primitive.normals)
        .map(|([x, y, z, w], normal)| {
            let length = (x * x + y * y + z * z).sqrt();
            let hand = if w < 0.0 { -1.0 } else { 1.0 };
            if length > 1e-12 && length.is_finite() {
                [x / length, y / length, z / length, hand]
            } else {
                let [a, b, c] = Vec3::from(*normal).any_orthonormal_vector().to_array();
                [a, b, c, hand]
            }
        })
        .collect();
}

fn suits_mikktspace(primitive: &Primitive) -> bool {
    if primitive.indices.len() / 3 > MAX_MIKK_TRIANGLES {
        return false;
    }
    let mut around: HashMap<[u32; 3], u32> = HashMap::new();
    primitive.indices.iter().all(|i| {
        let count = around.entry(without_sign_of_zero(primitive.positions[*i as usize]).map(f32::to_bits)).or_default();
        *count += 1;
        *count <= MAX_MIKK_TRIANGLES_AROUND_POINT
    })
}

/// Lengyel 2001, "Computing Tangent Space Basis Vectors for an Arbitrary Mesh", made orthogonal to the normals.
fn sums_over_triangles(primitive: &Primitive, uvs: &[[f32; 2]]) -> Vec<[f32; 4]> {
    let mut sums = vec![[Vec3::ZERO; 2]; primitive.positions.len()];
    for t in primitive.indices.as_chunks::<3>().0 {
        let [a, b, c] = t.map(|i| Vec3::from(primitive.positions[i as usize]));
        let [s, p, q] = t.map(|i| Vec2::from(uvs[i as usize]));
        let (e1, e2, d1, d2) = (b - a, c - a, p - s, q - s);
        let sign = if d1.perp_dot(d2) < 0.0 { -1.0 } else { 1.0 };
        let [u, v] = [(e1 * d2.y - e2 * d1.y) * sign, (e2 * d1.x - e1 * d2.x) * sign];
        for i in t {
            let [sum_u, sum_v] = &mut sums[*i as usize];
            *sum_u += u;
            *sum_v += v;
        }
    }
    let orthogonal = |([u, v], normal): ([Vec3; 2], &[f32; 3])| {
        let normal = Vec3::from(*normal);
        let [x, y, z] = (u - normal * normal.dot(u)).normalize_or_zero().to_array();
        [x, y, z, normal.cross(u).dot(v)]
    };
    sums.into_iter().zip(&primitive.normals).map(orthogonal).collect()
}

/// Vertices are equal where their bits are: 0 and −0 must not differ.
fn without_sign_of_zero<const N: usize>(values: [f32; N]) -> [f32; N] {
    values.map(|v| v + 0.0)
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
        without_sign_of_zero(self.primitive.positions[self.vertex(face, vert)])
    }

    fn normal(&self, face: usize, vert: usize) -> [f32; 3] {
        without_sign_of_zero(self.primitive.normals[self.vertex(face, vert)])
    }

    fn tex_coord(&self, face: usize, vert: usize) -> [f32; 2] {
        without_sign_of_zero(self.uvs[self.vertex(face, vert)])
    }

    fn set_tangent(&mut self, tangent_space: Option<TangentSpace>, face: usize, vert: usize) {
        let Some(space) = tangent_space else { return };
        let vertex = self.vertex(face, vert);
        for (sum, value) in self.sums[vertex].iter_mut().zip(space.tangent_encoded()) {
            *sum += value;
        }
    }
}
