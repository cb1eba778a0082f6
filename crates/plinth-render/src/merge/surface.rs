//! The criteria for merging two vertices.

use glam::{Vec2, Vec3};
use plinth_model::{Material, Model, Primitive};

use crate::prepare::is_polished;

/// Maximum distance between two vertices that are merged, in pixels. The visible displacement is much smaller: both
/// vertices lie on the same smooth surface, along which positions, texture coordinates and normals are interpolated.
const MAX_DISTANCE: f32 = 2.0;
/// Maximum distance of each of the two vertices from the tangent plane of the other vertex, in pixels.
const MAX_DISPLACEMENT: f32 = 0.1;
/// Maximum change of texture coordinates that is not linear, in multiples of their change over one pixel.
const MAX_UV_ERROR: f32 = 0.25;
/// Minimum cosine of the angle between the shading normals of two vertices.
const MIN_COSINE: f32 = 0.97;
/// Same as `MIN_COSINE`, for polished surfaces.
const MIN_POLISHED_COSINE: f32 = 0.999;
/// Maximum difference between the colours of two vertices.
const MAX_COLOR_STEP: f32 = 1.0 / 64.0;

/// A primitive whose vertices are merged.
#[derive(Clone, Copy)]
pub(super) struct Surface<'a> {
    pub(super) model: &'a Model,
    pub(super) material: &'a Material,
    pub(super) primitive: &'a Primitive,
    /// Size of a pixel in the units of the primitive.
    pub(super) pixel: f32,
}

/// A vertex with the shape of the surface around it.
#[derive(Clone, Copy, Default)]
pub(super) struct VertexShape {
    /// Unit normal of the adjacent triangles, weighted by area.
    pub(super) normal: Vec3,
    /// Gradients of the two texture coordinates.
    pub(super) uv_gradients: [Vec3; 2],
}

impl Surface<'_> {
    pub(super) fn position(&self, v: u32) -> Vec3 {
        Vec3::from(self.primitive.positions[v as usize])
    }

    pub(super) fn uv(&self, v: u32) -> Vec2 {
        let uvs = self.primitive.uvs.first().and_then(|set| set.get(v as usize));
        uvs.copied().map_or(Vec2::ZERO, Vec2::from)
    }

    /// Returns whether `vertex` may be replaced by `center`.
    pub(super) fn may_merge(
        &self,
        (vertex, around_vertex): (u32, &VertexShape),
        (center, around): (u32, &VertexShape),
    ) -> bool {
        let step = self.position(vertex) - self.position(center);
        let is_flat = |normal: Vec3| normal.dot(step).abs() <= MAX_DISPLACEMENT * self.pixel;
        step.length_squared() <= (MAX_DISTANCE * self.pixel).powi(2)
            && is_flat(around.normal)
            && is_flat(around_vertex.normal)
            && self.has_linear_uvs(step, vertex, (center, around))
            && self.have_similar_normals(vertex, center)
            && self.have_similar_directions(vertex, center)
            && self.have_similar_colors(vertex, center)
    }

    /// Returns whether the texture coordinates at `vertex` are those that the gradients at `center` predict.
    fn has_linear_uvs(&self, step: Vec3, vertex: u32, (center, around): (u32, &VertexShape)) -> bool {
        let [s, t] = around.uv_gradients;
        let (from, to) = (self.uv(center), self.uv(vertex));
        let error = (from + Vec2::new(s.dot(step), t.dot(step)) - to).length();
        let over_pixel = (s.length_squared() + t.length_squared()).sqrt() * self.pixel;
        let rounding = 8.0 * f32::EPSILON * from.abs().max_element();
        error <= MAX_UV_ERROR * over_pixel + rounding
    }

    fn have_similar_normals(&self, vertex: u32, center: u32) -> bool {
        let Primitive { normals, tangents, .. } = self.primitive;
        let (v, c) = (vertex as usize, center as usize);
        let (Some(normal), Some(other)) = (normals.get(v), normals.get(c)) else { return true };
        let cosine = Vec3::from(*normal).dot(Vec3::from(*other));
        let hand = |at: usize| tangents.get(at).map(|t| t[3].to_bits());
        cosine >= MIN_COSINE
            && hand(v) == hand(c)
            && (cosine >= MIN_POLISHED_COSINE || !is_polished(self.model, self.material, self.primitive, v))
    }

    /// Returns whether the tangents, which anisotropic reflections follow, are similar.
    fn have_similar_directions(&self, vertex: u32, center: u32) -> bool {
        let tangents = &self.primitive.tangents;
        let (Some(tangent), Some(other)) = (tangents.get(vertex as usize), tangents.get(center as usize)) else {
            return true;
        };
        let direction = |tangent: &[f32; 4]| Vec3::from_slice(tangent);
        self.material.anisotropy.is_none() || direction(tangent).dot(direction(other)) >= MIN_POLISHED_COSINE
    }

    fn have_similar_colors(&self, vertex: u32, center: u32) -> bool {
        let colors = &self.primitive.colors;
        let (Some(color), Some(other)) = (colors.get(vertex as usize), colors.get(center as usize)) else {
            return true;
        };
        color.iter().zip(other).all(|(a, b)| (a - b).abs() <= MAX_COLOR_STEP)
    }
}
