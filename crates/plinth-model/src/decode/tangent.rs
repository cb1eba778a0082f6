//! Tangents: MikkTSpace, or plain sums where that would take too long.
//!
//! Texture coordinates of glTF have v down, and the bitangent `cross(normal, tangent) · w` points up on the texture
//! (glTF 2.0, section 3.7.2.1). Both generators are given v up, so that the sign they find is that `w`.

use std::collections::HashMap;

use bevy_mikktspace::{Geometry, TangentSpace};
use glam::{Vec2, Vec3};

use super::rearrange::{Appended, bytes_per_vertex, rearrange};
use crate::model::{Material, Primitive};

/// MikkTSpace takes some hundred bytes a triangle while it works.
const MAX_MIKK_TRIANGLES: usize = 1_000_000;
/// MikkTSpace takes time with the square of the triangles around a point, and a stack as deep as their number.
const MAX_MIKK_TRIANGLES_AROUND_POINT: u32 = 1000;
/// What the sums of a vertex and its tangent take.
const BYTES_PER_VERTEX: u64 = 40;
/// What the tangents of a triangle's corners take.
const BYTES_PER_TRIANGLE: u64 = 48;
/// The tangent of a corner that has no direction: the texture does not change over its surface.
const NONE: [f32; 4] = [0.0; 4];

fn is_none([_, _, _, sign]: &[f32; 4]) -> bool {
    *sign == 0.0
}

/// The texture coordinates that tangents follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coordinates {
    set: usize,
    /// Two rows of three: `TextureRef::transform`.
    transform: Option<[f32; 6]>,
}

impl Coordinates {
    /// Those of the map that is read in tangent space; `None` where the material has no use for tangents.
    pub(crate) fn of(material: &Material) -> Option<Self> {
        let coat = material.clearcoat.and_then(|c| c.normal_texture);
        let flow = material.anisotropy.and_then(|a| a.texture);
        let map = material.normal_texture.or(coat).or(flow);
        let first = material.anisotropy.map(|_| Self { set: 0, transform: None });
        map.map(|map| Self { set: map.uv_set, transform: map.transform }).or(first)
    }

    /// Whether a primitive has the set.
    pub(crate) fn are_in(self, primitive: &Primitive) -> bool {
        primitive.uvs.get(self.set).is_some_and(|set| !set.is_empty())
    }

    /// The coordinates of a vertex, with v up.
    fn at(self, uvs: &[[f32; 2]], vertex: u32) -> [f32; 2] {
        let [u, v] = uvs[vertex as usize];
        let [a, b, c, d, e, f] = self.transform.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        [a * u + b * v + c, -(d * u + e * v + f)]
    }
}

/// Tangents of a primitive, before they are given to it.
pub(crate) struct Tangents {
    /// One for each vertex, then one for each copy.
    list: Vec<[f32; 4]>,
    /// Vertices that are needed once more, because their corners have different tangents: where the texture is mirrored.
    copies: Vec<u32>,
    /// Corners that refer to a copy, with its index.
    moved: Vec<(usize, u32)>,
}

impl Tangents {
    /// Bytes that [`Tangents::of`] takes.
    pub(crate) fn bytes_to_make(primitive: &Primitive) -> u64 {
        let triangles = (primitive.indices.len() / 3).min(MAX_MIKK_TRIANGLES) as u64;
        BYTES_PER_VERTEX * primitive.positions.len() as u64 + BYTES_PER_TRIANGLE * triangles
    }

    /// Makes tangents for triangles with normals; `None` where the texture coordinates are not there.
    pub(crate) fn of(primitive: &Primitive, coordinates: Coordinates) -> Option<Self> {
        let set = primitive.uvs.get(coordinates.set).filter(|set| !set.is_empty())?;
        let uv = |vertex: u32| coordinates.at(set, vertex);
        if suits_mikktspace(primitive) {
            let corners = by_mikktspace(primitive, uv)?;
            Some(Self::of_corners(primitive, |corner| corners[corner]))
        } else {
            let sums = Sums::over(primitive, &uv);
            Some(Self::of_corners(primitive, |corner| sums.tangent(primitive, &uv, corner)))
        }
    }

    fn of_corners(primitive: &Primitive, tangent_of: impl Fn(usize) -> [f32; 4]) -> Self {
        let count = primitive.positions.len();
        let mut out = Self { list: vec![NONE; count], copies: Vec::new(), moved: Vec::new() };
        let mut known: HashMap<(u32, [u32; 4]), u32> = HashMap::new();
        for (corner, vertex) in primitive.indices.iter().enumerate() {
            let tangent = tangent_of(corner);
            let bits = tangent.map(f32::to_bits);
            let first = &mut out.list[*vertex as usize];
            if is_none(&tangent) || bits == first.map(f32::to_bits) {
                continue;
            }
            if is_none(first) {
                *first = tangent;
                continue;
            }
            let next = (count + out.copies.len()) as u32;
            let copy = *known.entry((*vertex, bits)).or_insert(next);
            if copy == next {
                out.copies.push(*vertex);
                out.list.push(tangent);
            }
            out.moved.push((corner, copy));
        }
        out
    }

    /// Bytes that the copies of vertices take.
    pub(crate) fn bytes_to_give(&self, primitive: &Primitive) -> u64 {
        bytes_per_vertex(primitive).saturating_mul(self.copies.len() as u64)
    }

    /// Gives them to the primitive they were made for.
    pub(crate) fn give_to(self, primitive: &mut Primitive) {
        primitive.tangents = Vec::new();
        rearrange(primitive, &Appended(&self.copies));
        for (corner, copy) in self.moved {
            primitive.indices[corner] = copy;
        }
        let or_any = |(tangent, normal): ([f32; 4], &[f32; 3])| {
            if is_none(&tangent) {
                Vec3::from(*normal).any_orthonormal_vector().extend(0.0).to_array()
            } else {
                tangent
            }
        };
        primitive.tangents = self.list.into_iter().zip(&primitive.normals).map(or_any).collect();
    }
}

fn suits_mikktspace(primitive: &Primitive) -> bool {
    if primitive.indices.len() / 3 > MAX_MIKK_TRIANGLES {
        return false;
    }
    let mut around: HashMap<[u32; 3], u32> = HashMap::new();
    primitive.indices.iter().all(|i| {
        let count = around.entry(place(primitive, *i).map(f32::to_bits)).or_default();
        *count += 1;
        *count <= MAX_MIKK_TRIANGLES_AROUND_POINT
    })
}

fn place(primitive: &Primitive, vertex: u32) -> [f32; 3] {
    without_sign_of_zero(primitive.positions[vertex as usize])
}

/// Vertices are equal where their bits are: 0 and −0 must not differ.
fn without_sign_of_zero<const N: usize>(values: [f32; N]) -> [f32; N] {
    values.map(|v| v + 0.0)
}

/// A unit tangent with its sign, or none.
fn unit(direction: Vec3, sign: f32) -> [f32; 4] {
    let length = direction.length();
    if length > 1e-12 && length.is_finite() { (direction / length).extend(sign).to_array() } else { NONE }
}

/// Mikkelsen 2008, "Simulation of Wrinkled Surfaces Revisited": a tangent for each corner.
fn by_mikktspace(primitive: &Primitive, uv: impl Fn(u32) -> [f32; 2]) -> Option<Vec<[f32; 4]>> {
    // Triangles with two corners in one place change nothing, but each is compared with all others.
    let is_whole = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|vertex| place(primitive, vertex).map(f32::to_bits));
        a != b && b != c && c != a
    };
    let triangles = primitive.indices.as_chunks::<3>().0;
    let faces = triangles.iter().enumerate().filter(|(_, t)| is_whole(t)).map(|(i, _)| i).collect();
    let mut work = Work { primitive, uv, faces, corners: vec![NONE; primitive.indices.len()] };
    bevy_mikktspace::generate_tangents(&mut work).is_ok().then_some(work.corners)
}

struct Work<'a, F> {
    primitive: &'a Primitive,
    uv: F,
    /// The triangles it works on.
    faces: Vec<usize>,
    corners: Vec<[f32; 4]>,
}

impl<F> Work<'_, F> {
    fn vertex(&self, face: usize, corner: usize) -> u32 {
        self.primitive.indices[self.faces[face] * 3 + corner]
    }
}

impl<F: Fn(u32) -> [f32; 2]> Geometry for Work<'_, F> {
    fn num_faces(&self) -> usize {
        self.faces.len()
    }

    fn num_vertices_of_face(&self, _face: usize) -> usize {
        3
    }

    fn position(&self, face: usize, vert: usize) -> [f32; 3] {
        place(self.primitive, self.vertex(face, vert))
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
        self.corners[self.faces[face] * 3 + vert] = unit(Vec3::new(x, y, z), sign);
    }
}

/// Lengyel 2001, "Computing Tangent Space Basis Vectors for an Arbitrary Mesh": directions of u, summed at each vertex
/// over the triangles on which the texture is mirrored, and over the others.
struct Sums(Vec<[Vec3; 2]>);

impl Sums {
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
        let Some(triangle) = primitive.indices.as_chunks::<3>().0.get(corner / 3) else { return NONE };
        let [d1, d2] = edges(*triangle, uv);
        let area = d1.perp_dot(d2);
        if area == 0.0 {
            return NONE;
        }
        let vertex = triangle[corner % 3] as usize;
        let sum = self.0[vertex][usize::from(area < 0.0)];
        let normal = Vec3::from(primitive.normals[vertex]);
        unit(sum - normal * normal.dot(sum), area.signum())
    }
}

/// Two edges of a triangle on the texture.
fn edges(triangle: [u32; 3], uv: &impl Fn(u32) -> [f32; 2]) -> [Vec2; 2] {
    let [s, p, q] = triangle.map(|i| Vec2::from(uv(i)));
    [p - s, q - s]
}
