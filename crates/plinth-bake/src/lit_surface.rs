//! Computes the radiance that leaves the surfaces of the model. The renderer uses the radiance for reflections of these
//! surfaces in other surfaces.

use glam::Vec3;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::coarse::CoarseSamples;
use crate::gather::{GatherResult, Scene};
use crate::light::LitPoint;
use crate::samples::TriangleSide;
use crate::types::{BakeMesh, BakeTexture, diffuse_reflectance};

/// Maximum mean transparency of a mesh that appears in reflections.
const MAX_TRANSPARENCY: f32 = 0.5;
/// Fraction of `f0` that is added to the diffuse albedo. The added albedo approximates reflections between glossy
/// surfaces, which are not traced. Light from `BakeLight`s is multiplied by the diffuse albedo alone, because the
/// mirror images of `BakeLight`s are visible from only few directions.
const DIFFUSE_SHARE_OF_F0: f32 = 0.9;

/// The triangles of a mesh, with the radiance that leaves them. The radiance is the same in all directions, as if the
/// surface were diffuse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LitSurface {
    /// World positions of the vertices.
    pub positions: Vec<Vec3>,
    /// Linear radiance of each vertex.
    pub radiance: Vec<Vec3>,
    /// Three vertex indices per triangle, counter-clockwise as seen from the lit side. A double-sided surface has
    /// separate triangles for both sides.
    pub indices: Vec<u32>,
}

impl LitSurface {
    /// Returns the world positions of a triangle's corners. `triangle` contains the vertex indices of the corners.
    pub fn corners(&self, triangle: &[u32; 3]) -> [Vec3; 3] {
        triangle.map(|i| self.positions[i as usize])
    }
}

/// Returns the lit surface of each mesh. The surface is empty if the mesh does not block rays, is transparent, has
/// holes, or is an inverted hull. If `vertices_share` is set, several corners of a triangle may have the same sample
/// point. Such a triangle is omitted, because it would be only a line or a point.
pub(crate) fn lit_surfaces(
    scene: &Scene<'_>,
    coarse: &CoarseSamples<'_>,
    gathered: &[GatherResult],
    lit: &[LitPoint],
    vertices_share: bool,
) -> Vec<LitSurface> {
    let of_mesh = |(m, mesh): (usize, &BakeMesh)| {
        if !mesh.occludes || scene.occluders.is_inverted_hull[m] || is_transmissive_or_has_holes(mesh) {
            return LitSurface::default();
        }
        let mut out = LitSurface::default();
        for back in coarse.samples.sides(m) {
            let mut vertex_of_sample: FxHashMap<u32, u32> = FxHashMap::default();
            for t in 0..mesh.indices.len() / 3 {
                let side = TriangleSide { mesh: m as u32, triangle: t as u32, back };
                for mut triangle in coarse.sub_triangles(side) {
                    let [a, b, c] = triangle.map(|(sample, _weights)| sample);
                    if vertices_share && (a == b || b == c || c == a) {
                        continue;
                    }
                    if back {
                        triangle.swap(1, 2);
                    }
                    let corners = triangle.map(|(sample, weights)| {
                        *vertex_of_sample.entry(sample).or_insert_with(|| {
                            let index = sample as usize;
                            let irradiance = [lit[index].irradiance, gathered[index].light_irradiance.iter().sum()];
                            out.positions.push(coarse.samples.list[index].position);
                            out.radiance.push(radiance(mesh, t, weights, irradiance));
                            out.positions.len() as u32 - 1
                        })
                    });
                    out.indices.extend(corners);
                }
            }
        }
        out
    };
    scene.meshes.par_iter().enumerate().map(of_mesh).collect()
}

fn is_transmissive_or_has_holes(mesh: &BakeMesh) -> bool {
    let has_holes = mesh.texture.as_ref().is_some_and(|texture| texture.is_masked);
    has_holes || mesh.transparency.iter().sum::<f32>() > MAX_TRANSPARENCY * mesh.transparency.len().max(1) as f32
}

/// Returns the radiance that leaves a point of a triangle. The point is given by its barycentric weights.
/// `light_irradiance` is the irradiance from the `BakeLight`s; `irradiance` is all other irradiance.
fn radiance(mesh: &BakeMesh, triangle: usize, weights: [f32; 3], [irradiance, light_irradiance]: [Vec3; 2]) -> Vec3 {
    let corners = mesh.corners(triangle);
    let interpolate = |values: &[Vec3]| -> Vec3 {
        if values.is_empty() { Vec3::ZERO } else { corners.iter().zip(weights).map(|(i, w)| values[*i] * w).sum() }
    };
    let color = BakeTexture::color(mesh.texture.as_ref(), corners, weights);
    let passing: f32 = if mesh.passing.is_empty() {
        1.0
    } else {
        corners.iter().zip(weights).map(|(i, w)| mesh.passing[*i] * w).sum()
    };
    let diffuse = diffuse_reflectance(interpolate(&mesh.albedo), color) * (irradiance + light_irradiance) * passing;
    let glossy = interpolate(&mesh.f0) * DIFFUSE_SHARE_OF_F0 * irradiance;
    mesh.emitted(triangle, weights) + (diffuse + glossy) / std::f32::consts::PI
}
