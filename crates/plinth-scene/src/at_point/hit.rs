//! Finds the triangles that a ray hits.

use glam::{Vec2, Vec3};
use plinth_model::{AlphaMode, Image, Material, Model, Primitive, Topology, Wrap};
use rayon::prelude::*;

use super::view::Ray;
use crate::shot::PosedPrimitive;

/// Minimum number of triangles of a parallel task. Smaller tasks would take longer to start than to run.
const TRIANGLES_PER_TASK: usize = 4096;
/// A blended surface (`AlphaMode::Blend`) with a smaller opacity counts as invisible.
const LEAST_OPACITY: f32 = 0.02;
/// A blended surface with at least this opacity hides the surfaces behind it.
const OPAQUE: f32 = 0.98;

/// A triangle that a ray hits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Index in the list of posed primitives.
    pub(super) posed: usize,
    /// Vertex indices of the triangle.
    pub(super) corners: [usize; 3],
    /// Barycentric weights of the corners at the point.
    pub(super) weights: [f32; 3],
    /// Depth of the point in the frame.
    pub(super) depth: f32,
    pub(super) is_back: bool,
}

/// Returns all triangles that the ray hits, from front to back. A triangle that the ray hits from behind is included
/// only if its material is double-sided.
pub(super) fn hits(model: &Model, posed: &[PosedPrimitive], ray: &Ray) -> Vec<Hit> {
    let mut found: Vec<Hit> = posed
        .par_iter()
        .enumerate()
        .flat_map(|(index, one)| {
            let primitive = primitive_of(model, one).filter(|part| part.topology == Topology::Triangles);
            let triangles = primitive.map_or(&[][..], |part| part.indices.as_chunks::<3>().0);
            let is_double_sided = primitive.is_some_and(|part| model.materials[part.material].double_sided);
            let hit = move |triangle: &[u32; 3]| {
                let corners = triangle.map(|v| v as usize);
                let Crossing { weights, depth, is_back } =
                    intersect(ray, corners.map(|v| one.positions[v]), one.mirrored)?;
                (is_double_sided || !is_back).then_some(Hit { posed: index, corners, weights, depth, is_back })
            };
            triangles.par_iter().with_min_len(TRIANGLES_PER_TASK).filter_map(hit)
        })
        .collect();
    found.sort_by(|a, b| a.depth.total_cmp(&b.depth));
    found
}

/// Returns the primitive of the model from which `posed` was computed.
pub(super) fn primitive_of<'a>(model: &'a Model, posed: &PosedPrimitive) -> Option<&'a Primitive> {
    model.meshes.get(model.nodes.get(posed.node)?.mesh?)?.primitives.get(posed.primitive)
}

/// The point at which a ray crosses a triangle. The fields have the same meaning as in [`Hit`].
struct Crossing {
    weights: [f32; 3],
    depth: f32,
    is_back: bool,
}

/// Intersects a ray with a triangle (Möller and Trumbore 1997, "Fast, Minimum Storage Ray-Triangle Intersection").
fn intersect(ray: &Ray, [a, b, c]: [Vec3; 3], mirrored: bool) -> Option<Crossing> {
    let (ab, ac) = (b - a, c - a);
    let p = ray.direction.cross(ac);
    let determinant = ab.dot(p);
    if determinant == 0.0 {
        return None;
    }
    let inverse = determinant.recip();
    let s = ray.origin - a;
    let u = s.dot(p) * inverse;
    let q = s.cross(ab);
    let v = ray.direction.dot(q) * inverse;
    let depth = ac.dot(q) * inverse;
    // Both comparisons are false if a value is NaN, so a degenerate triangle is never hit.
    let is_inside = u >= 0.0 && v >= 0.0 && u + v <= 1.0;
    (is_inside && depth > ray.depths.0 && depth < ray.depths.1).then_some(Crossing {
        weights: [1.0 - u - v, u, v],
        depth,
        is_back: (determinant < 0.0) != mirrored,
    })
}

/// How much of a surface is visible at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// The surface is invisible at this point.
    Nothing,
    /// Both the surface and the surfaces behind it are visible.
    Partly,
    /// The surface hides everything behind it.
    Whole,
}

impl Hit {
    /// Returns how much of the surface is visible at the point.
    pub(super) fn cover(&self, model: &Model, primitive: &Primitive) -> Cover {
        let material = &model.materials[primitive.material];
        let alpha = self.alpha(model, material, primitive);
        match material.alpha_mode {
            AlphaMode::Mask { cutoff } if alpha < cutoff => Cover::Nothing,
            AlphaMode::Blend if alpha < LEAST_OPACITY => Cover::Nothing,
            AlphaMode::Blend if alpha < OPAQUE => Cover::Partly,
            _ if material.overlay || material.transmission.is_some_and(|t| t.factor > 0.0) => Cover::Partly,
            _ => Cover::Whole,
        }
    }

    /// Returns the alpha of the base colour at the point.
    fn alpha(&self, model: &Model, material: &Material, primitive: &Primitive) -> f32 {
        let vertex: f32 = match primitive.colors.as_slice() {
            [] => 1.0,
            colors => self.corners.iter().zip(self.weights).map(|(v, weight)| colors[*v][3] * weight).sum(),
        };
        let texel = || {
            let texture = model.textures.get(material.base_color_texture?.texture)?;
            let image = model.images.get(texture.image)?;
            let uv = self.uv(material, primitive)?;
            alpha_texel(image, uv, (texture.sampler.wrap_u, texture.sampler.wrap_v))
        };
        material.base_color[3] * vertex * texel().unwrap_or(1.0)
    }

    /// Returns the texture coordinates of the base colour at the point, after the transform of the texture.
    pub(super) fn uv(&self, material: &Material, primitive: &Primitive) -> Option<Vec2> {
        let reference = material.base_color_texture;
        let set = primitive.uvs.get(reference.map_or(0, |texture| texture.uv_set))?;
        let corner = |(v, weight): (&usize, f32)| set.get(*v).map(|uv| Vec2::from(*uv) * weight);
        let uv: Vec2 = self.corners.iter().zip(self.weights).map(corner).sum::<Option<Vec2>>()?;
        Some(reference.map_or(uv, |texture| texture.transformed(uv.to_array()).into()))
    }

    /// Interpolates a vertex attribute at the point. Returns `None` if the list is empty.
    pub(super) fn mix(&self, list: &[Vec3]) -> Option<Vec3> {
        self.corners.iter().zip(self.weights).map(|(v, weight)| list.get(*v).map(|value| *value * weight)).sum()
    }
}

/// Returns the alpha of the nearest texel.
fn alpha_texel(image: &Image, uv: Vec2, wrap: (Wrap, Wrap)) -> Option<f32> {
    let (column, row) = (wrap.0.texel(uv.x, image.width as usize), wrap.1.texel(uv.y, image.height as usize));
    let index = row * image.width as usize + column;
    image.pixels.get(4 * index + 3).map(|alpha| f32::from(*alpha) / 255.0)
}
