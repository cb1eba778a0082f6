//! Surfaces as others reflect them: triangles with the radiance that leaves them.

use glam::{Vec2, Vec3};
use rustc_hash::FxHashMap;

use crate::coarse::Coarse;
use crate::gather::{Gathered, Scene};
use crate::hull::is_inside_out;
use crate::light::Lit;
use crate::places::Face;
use crate::types::BakeMesh;

/// Mean transparency from which on a mesh is not seen in reflections.
const CLEAR: f32 = 0.5;
/// Share of its reflectance at normal incidence by which a surface shines as if it were matt: what it reflects of others is
/// not followed. Lights with a direction are mirrored in one direction, which few look from.
const MATT_SHARE: f32 = 0.9;

/// Triangles of a mesh with the light that leaves them, as if they were matt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LitSurface {
    /// World positions.
    pub positions: Vec<Vec3>,
    /// Linear radiance, one a position.
    pub radiance: Vec<Vec3>,
    /// Three a triangle, counter-clockwise seen from the side that is lit; a surface with two sides has both.
    pub indices: Vec<u32>,
}

impl LitSurface {
    /// World positions of a triangle's corners, given by their indices.
    pub fn corners(&self, triangle: &[u32; 3]) -> [Vec3; 3] {
        triangle.map(|i| self.positions[i as usize])
    }
}

/// What others see of each mesh: nothing of those that block no light or let it through.
pub(crate) fn lit_surfaces(
    scene: &Scene<'_>,
    coarse: &Coarse<'_>,
    gathered: &[Gathered],
    lit: &[Lit],
) -> Vec<LitSurface> {
    let of_mesh = |(m, mesh): (usize, &BakeMesh)| {
        if !mesh.occludes || is_inside_out(mesh) || is_clear(mesh) {
            return LitSurface::default();
        }
        let mut out = LitSurface::default();
        for back in coarse.places.sides(m) {
            let mut known: FxHashMap<u32, u32> = FxHashMap::default();
            for t in 0..mesh.indices.len() / 3 {
                let face = Face { mesh: m as u32, triangle: t as u32, back };
                for mut part in coarse.parts(face) {
                    if back {
                        part.swap(1, 2);
                    }
                    let corners = part.map(|(place, weights)| {
                        *known.entry(place).or_insert_with(|| {
                            let at = place as usize;
                            let irradiance = [lit[at].irradiance, gathered[at].beams.iter().sum()];
                            out.positions.push(coarse.places.list[at].position);
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
    scene.meshes.iter().enumerate().map(of_mesh).collect()
}

fn is_clear(mesh: &BakeMesh) -> bool {
    let has_holes = mesh.texture.as_ref().is_some_and(|texture| texture.cutoff.is_some());
    has_holes || mesh.transparency.iter().sum::<f32>() > CLEAR * mesh.transparency.len().max(1) as f32
}

/// Radiance that leaves a spot of a triangle, given by the weights of its corners. Its irradiance is that of lights with a
/// direction apart.
fn radiance(mesh: &BakeMesh, triangle: usize, weights: [f32; 3], [irradiance, beams]: [Vec3; 2]) -> Vec3 {
    let corners = mesh.corners(triangle);
    let mix = |values: &[Vec3]| -> Vec3 {
        if values.is_empty() { Vec3::ZERO } else { corners.iter().zip(weights).map(|(i, w)| values[*i] * w).sum() }
    };
    let color = mesh.texture.as_ref().map_or(Vec3::ONE, |texture| {
        let uv: Vec2 =
            corners.iter().zip(weights).map(|(i, w)| texture.uvs.get(*i).copied().unwrap_or_default() * w).sum();
        let [r, g, b, _] = texture.image.texel(uv);
        Vec3::new(r, g, b)
    });
    let matt = mix(&mesh.albedo) * color * (irradiance + beams);
    let glossy = mix(&mesh.f0) * MATT_SHARE * irradiance;
    mix(&mesh.emission) + (matt + glossy) / std::f32::consts::PI
}
