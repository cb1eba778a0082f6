//! Generates tangents with MikkTSpace. If MikkTSpace would take too long, the tangent of a vertex is the average over
//! the vertex's triangles.
//!
//! In glTF, the texture coordinate v points down, and the bitangent `cross(normal, tangent) · w` points up (glTF 2.0,
//! section 3.7.2.1). Both generators receive coordinates in which v points up, so the sign that they return is the `w`
//! of glTF.

use std::collections::HashMap;

use bevy_mikktspace::{Geometry, TangentSpace};
use glam::{Vec2, Vec3};

use super::rearrange::{AppendCopies, bytes_per_vertex, rearrange};
use crate::model::{Material, Primitive};

/// Maximum number of triangles for which MikkTSpace is used. MikkTSpace needs several hundred bytes per triangle.
const MAX_MIKK_TRIANGLES: usize = 1_000_000;
/// Maximum number of triangles around a point for which MikkTSpace is used. MikkTSpace's time grows with the square of
/// this number, and its stack depth grows linearly.
const MAX_MIKK_TRIANGLES_AROUND_POINT: u32 = 1000;
/// Memory in bytes for the sums and the tangent of one vertex.
const BYTES_PER_VERTEX: u64 = 40;
/// Memory in bytes for the tangents of one triangle's corners.
const BYTES_PER_TRIANGLE: u64 = 48;
/// The tangent of a corner at which the texture coordinates do not vary.
const NO_TANGENT: [f32; 4] = [0.0; 4];

fn is_missing([_, _, _, sign]: &[f32; 4]) -> bool {
    *sign == 0.0
}

/// The texture coordinates from which tangents are derived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UvMapping {
    set: usize,
    /// Texture transform as in `TextureRef::transform`.
    transform: Option<[f32; 6]>,
}

impl UvMapping {
    /// Returns the texture coordinates of the texture of the material that needs tangents, such as its normal map.
    /// Returns `None` if the material needs no tangents.
    pub(crate) fn of(material: &Material) -> Option<Self> {
        let clearcoat = material.clearcoat.and_then(|c| c.normal_texture);
        let anisotropy = material.anisotropy.and_then(|a| a.texture);
        let map = material.normal_texture.or(clearcoat).or(anisotropy);
        let default = material.anisotropy.map(|_| Self { set: 0, transform: None });
        map.map(|map| Self { set: map.uv_set, transform: map.transform }).or(default)
    }

    /// Returns whether a primitive has the texture coordinate set.
    pub(crate) fn exists_in(self, primitive: &Primitive) -> bool {
        primitive.uvs.get(self.set).is_some_and(|set| !set.is_empty())
    }

    /// Returns the texture coordinates of a vertex, with v pointing up.
    fn at(self, uvs: &[[f32; 2]], vertex: u32) -> [f32; 2] {
        let [u, v] = uvs[vertex as usize];
        let [a, b, c, d, e, f] = self.transform.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        [a * u + b * v + c, -(d * u + e * v + f)]
    }
}

/// Tangents that were generated for a primitive and have not been added to it yet.
pub(crate) struct Tangents {
    /// The tangents of all vertices, followed by the tangents of all duplicated vertices.
    list: Vec<[f32; 4]>,
    /// Vertices that must be duplicated because their corners have different tangents. Such vertices are at the seams
    /// of mirrored textures.
    copies: Vec<u32>,
    /// Triangle corners that must refer to a duplicate of their vertex, each with the index of the duplicate.
    remapped_corners: Vec<(usize, u32)>,
}

impl Tangents {
    /// Returns the number of bytes that [`Tangents::of`] allocates.
    pub(crate) fn generation_bytes(primitive: &Primitive) -> u64 {
        let triangles = (primitive.indices.len() / 3).min(MAX_MIKK_TRIANGLES) as u64;
        BYTES_PER_VERTEX * primitive.positions.len() as u64 + BYTES_PER_TRIANGLE * triangles
    }

    /// Generates tangents for a primitive that consists of triangles and has normals. Returns `None` if the primitive
    /// lacks the texture coordinate set.
    pub(crate) fn of(primitive: &Primitive, mapping: UvMapping) -> Option<Self> {
        let set = primitive.uvs.get(mapping.set).filter(|set| !set.is_empty())?;
        let uv = |vertex: u32| mapping.at(set, vertex);
        if suits_mikktspace(primitive) {
            let corners = mikktspace_tangents(primitive, uv)?;
            Some(Self::of_corners(primitive, |corner| corners[corner]))
        } else {
            let sums = AveragedTangents::over(primitive, &uv);
            Some(Self::of_corners(primitive, |corner| sums.tangent(primitive, &uv, corner)))
        }
    }

    fn of_corners(primitive: &Primitive, tangent_of: impl Fn(usize) -> [f32; 4]) -> Self {
        let count = primitive.positions.len();
        let mut out = Self { list: vec![NO_TANGENT; count], copies: Vec::new(), remapped_corners: Vec::new() };
        let mut copy_of: HashMap<(u32, [u32; 4]), u32> = HashMap::new();
        for (corner, vertex) in primitive.indices.iter().enumerate() {
            let tangent = tangent_of(corner);
            let bits = tangent.map(f32::to_bits);
            let first = &mut out.list[*vertex as usize];
            if is_missing(&tangent) || bits == first.map(f32::to_bits) {
                continue;
            }
            if is_missing(first) {
                *first = tangent;
                continue;
            }
            let next = (count + out.copies.len()) as u32;
            let copy = *copy_of.entry((*vertex, bits)).or_insert(next);
            if copy == next {
                out.copies.push(*vertex);
                out.list.push(tangent);
            }
            out.remapped_corners.push((corner, copy));
        }
        out
    }

    /// Returns the size of all duplicated vertices in bytes.
    pub(crate) fn copied_bytes(&self, primitive: &Primitive) -> u64 {
        bytes_per_vertex(primitive).saturating_mul(self.copies.len() as u64)
    }

    /// Adds the tangents to `primitive`, which must be the primitive for which they were generated. Duplicates vertices
    /// where necessary.
    pub(crate) fn apply_to(self, primitive: &mut Primitive) {
        primitive.tangents = Vec::new();
        rearrange(primitive, &AppendCopies(&self.copies));
        for (corner, copy) in self.remapped_corners {
            primitive.indices[corner] = copy;
        }
        let tangent_or_arbitrary = |(tangent, normal): ([f32; 4], &[f32; 3])| {
            if is_missing(&tangent) {
                Vec3::from(*normal).any_orthonormal_vector().extend(0.0).to_array()
            } else {
                tangent
            }
        };
        primitive.tangents = self.list.into_iter().zip(&primitive.normals).map(tangent_or_arbitrary).collect();
    }
}

fn suits_mikktspace(primitive: &Primitive) -> bool {
    if primitive.indices.len() / 3 > MAX_MIKK_TRIANGLES {
        return false;
    }
    let mut triangles_at: HashMap<[u32; 3], u32> = HashMap::new();
    primitive.indices.iter().all(|i| {
        let count = triangles_at.entry(position(primitive, *i).map(f32::to_bits)).or_default();
        *count += 1;
        *count <= MAX_MIKK_TRIANGLES_AROUND_POINT
    })
}

fn position(primitive: &Primitive, vertex: u32) -> [f32; 3] {
    without_sign_of_zero(primitive.positions[vertex as usize])
}

/// Converts −0 to 0, because MikkTSpace compares vertices by their bits.
fn without_sign_of_zero<const N: usize>(values: [f32; N]) -> [f32; N] {
    values.map(|v| v + 0.0)
}

/// Normalises a tangent. Returns `NO_TANGENT` if its length is zero.
fn normalized(direction: Vec3, sign: f32) -> [f32; 4] {
    let length = direction.length();
    if length > 1e-12 && length.is_finite() { (direction / length).extend(sign).to_array() } else { NO_TANGENT }
}

/// Generates a tangent for each corner (Mikkelsen 2008, "Simulation of Wrinkled Surfaces Revisited").
fn mikktspace_tangents(primitive: &Primitive, uv: impl Fn(u32) -> [f32; 2]) -> Option<Vec<[f32; 4]>> {
    // Triangles with coinciding corners are left out. They do not affect the result, but MikkTSpace would compare each
    // of them with all others.
    let has_distinct_corners = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|vertex| position(primitive, vertex).map(f32::to_bits));
        a != b && b != c && c != a
    };
    let triangles = primitive.indices.as_chunks::<3>().0;
    let faces = triangles.iter().enumerate().filter(|(_, t)| has_distinct_corners(t)).map(|(i, _)| i).collect();
    let mut geometry = MikkGeometry { primitive, uv, faces, corners: vec![NO_TANGENT; primitive.indices.len()] };
    bevy_mikktspace::generate_tangents(&mut geometry).is_ok().then_some(geometry.corners)
}

struct MikkGeometry<'a, F> {
    primitive: &'a Primitive,
    uv: F,
    /// Indices of the triangles that MikkTSpace processes.
    faces: Vec<usize>,
    corners: Vec<[f32; 4]>,
}

impl<F> MikkGeometry<'_, F> {
    fn vertex(&self, face: usize, corner: usize) -> u32 {
        self.primitive.indices[self.faces[face] * 3 + corner]
    }
}

impl<F: Fn(u32) -> [f32; 2]> Geometry for MikkGeometry<'_, F> {
    fn num_faces(&self) -> usize {
        self.faces.len()
    }

    fn num_vertices_of_face(&self, _face: usize) -> usize {
        3
    }

    fn position(&self, face: usize, vert: usize) -> [f32; 3] {
        position(self.primitive, self.vertex(face, vert))
    }

    fn normal(&self, face: usize, vert: usize) -> [f32; 3] {
        without_sign_of_zero(self.primitive.normals[self.vertex(face, vert) as usize])
    }

    fn tex_coord(&self, face: usize, vert: usize) -> [f32; 2] {
        without_sign_of_zero((self.uv)(self.vertex(face, vert)))
    }

    fn set_tangent(&mut self, tangent_space: Option<TangentSpace>, face: usize, vert: usize) {
        let Some(space) = tangent_space else { return };
        let [x, y, z, sign] = space.tangent_encoded();
        self.corners[self.faces[face] * 3 + vert] = normalized(Vec3::new(x, y, z), sign);
    }
}

/// Averaged tangents (Lengyel 2001, "Computing Tangent Space Basis Vectors for an Arbitrary Mesh"). For each vertex,
/// the u directions of its triangles are added up separately for triangles with a normal and with a mirrored texture.
struct AveragedTangents(Vec<[Vec3; 2]>);

impl AveragedTangents {
    fn over(primitive: &Primitive, uv: &impl Fn(u32) -> [f32; 2]) -> Self {
        let mut sums = vec![[Vec3::ZERO; 2]; primitive.positions.len()];
        for t in primitive.indices.as_chunks::<3>().0 {
            let [d1, d2] = edges(*t, uv);
            let area = d1.perp_dot(d2);
            if area == 0.0 {
                continue;
            }
            let [a, b, c] = t.map(|i| Vec3::from(primitive.positions[i as usize]));
            let u = ((b - a) * d2.y - (c - a) * d1.y) * area.signum();
            for i in t {
                sums[*i as usize][usize::from(area < 0.0)] += u;
            }
        }
        Self(sums)
    }

    fn tangent(&self, primitive: &Primitive, uv: &impl Fn(u32) -> [f32; 2], corner: usize) -> [f32; 4] {
        let Some(triangle) = primitive.indices.as_chunks::<3>().0.get(corner / 3) else { return NO_TANGENT };
        let [d1, d2] = edges(*triangle, uv);
        let area = d1.perp_dot(d2);
        if area == 0.0 {
            return NO_TANGENT;
        }
        let vertex = triangle[corner % 3] as usize;
        let sum = self.0[vertex][usize::from(area < 0.0)];
        let normal = Vec3::from(primitive.normals[vertex]);
        normalized(sum - normal * normal.dot(sum), area.signum())
    }
}

/// Returns the two edges that start at a triangle's first corner, in texture coordinates.
fn edges(triangle: [u32; 3], uv: &impl Fn(u32) -> [f32; 2]) -> [Vec2; 2] {
    let [s, p, q] = triangle.map(|i| Vec2::from(uv(i)));
    [p - s, q - s]
}
