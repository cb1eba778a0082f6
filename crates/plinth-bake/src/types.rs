//! The inputs and outputs of the bake.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

use crate::lattice::Lattice;
use crate::lit_surface::LitSurface;

/// A piece of world-space geometry that blocks, reflects and receives light.
#[derive(Clone, Debug, Default)]
pub struct BakeMesh {
    /// World positions.
    pub positions: Vec<Vec3>,
    /// Unit world normals, one per vertex.
    pub normals: Vec<Vec3>,
    /// Three indices per triangle, counter-clockwise seen from the front.
    pub indices: Vec<u32>,
    /// Linear diffuse albedo, one value per vertex; `texture` multiplies it.
    pub albedo: Vec<Vec3>,
    /// Linear reflectance at normal incidence, one value per vertex. If empty, there is no specular reflection.
    pub f0: Vec<Vec3>,
    /// Perceptual roughness, one value per vertex; empty if `f0` is empty.
    pub roughness: Vec<f32>,
    /// Linear emitted radiance, one value per vertex. If empty, nothing is emitted.
    pub emission: Vec<Vec3>,
    /// Fraction of light that passes straight through, one value per vertex: 1 − alpha, or transmission × luminance of
    /// its colour. If empty, the mesh is opaque.
    pub transparency: Vec<f32>,
    /// Texture for colour and holes.
    pub texture: Option<BakeTexture>,
    /// Whether both sides are visible and receive light.
    pub double_sided: bool,
    /// Whether rays can hit the mesh. A shadow catcher only receives light.
    pub occludes: bool,
    /// Whether the mesh receives light, so that the light on it is computed.
    pub receives_light: bool,
}

impl BakeMesh {
    /// Whether the mesh is a shadow catcher: it shows shadows but is invisible itself.
    pub(crate) const fn is_shadow_catcher(&self) -> bool {
        self.receives_light && !self.occludes
    }

    /// Returns the vertex indices of a triangle.
    pub(crate) fn corners(&self, triangle: usize) -> [usize; 3] {
        std::array::from_fn(|k| self.indices[3 * triangle + k] as usize)
    }

    /// Returns the world positions of a triangle's corners.
    pub(crate) fn triangle(&self, triangle: usize) -> [Vec3; 3] {
        self.corners(triangle).map(|i| self.positions[i])
    }
}

/// A texture on a mesh.
#[derive(Clone, Debug)]
pub struct BakeTexture {
    /// Texture coordinates, one per vertex. (0, 0) is the outer corner of the first texel; the image repeats.
    pub uvs: Vec<Vec2>,
    /// The texels.
    pub image: Arc<BakeImage>,
    /// Alpha cutoff: texels with a lower alpha are holes. `None` means that alpha is partial coverage.
    pub cutoff: Option<f32>,
}

/// An image with linear colour and alpha, in row-major order.
#[derive(Clone, Debug, Default)]
pub struct BakeImage {
    /// Number of texels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Linear RGB and straight alpha.
    pub texels: Vec<[f32; 4]>,
}

impl BakeImage {
    pub(crate) fn texel(&self, uv: Vec2) -> [f32; 4] {
        let wrap = |x: f32, size: usize| ((x.rem_euclid(1.0) * size as f32) as usize).min(size.max(1) - 1);
        let index = wrap(uv.y, self.height) * self.width + wrap(uv.x, self.width);
        self.texels.get(index).copied().unwrap_or([1.0; 4])
    }
}

/// Light that arrives at one point of a surface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct GatheredLight {
    /// Fraction of the environment's irradiance that arrives directly, per colour channel: irradiance with shadowing by
    /// geometry divided by irradiance without. 0..=1 up to noise.
    pub direct: Vec3,
    /// Irradiance after one or more bounces, and from emissive surfaces, in the unit of the environment's irradiance.
    pub indirect: Vec3,
    /// Visibility of the environment as a function of direction, as spherical harmonics up to degree 1 in world space:
    /// `V(d) ≈ c0 + cx·d.x + cy·d.y + cz·d.z`. The function is fitted over the upper hemisphere, where c0 is its mean.
    pub visibility: [f32; 4],
    /// Luminance of the occluders as a function of direction, in the form of `visibility`; it is 0 where nothing blocks
    /// the environment. The colour of the occluders is that of `indirect`.
    pub blocked: [f32; 4],
}

impl GatheredLight {
    /// Exaggerates occlusion: multiplies all light by `a^(strength − 1)`, where `a` is the fraction of light that
    /// arrives. Unoccluded points do not change; a strength of 1 changes nothing.
    pub fn occluded(self, strength: f32) -> Self {
        let arriving = (self.direct.element_sum() / 3.0).clamp(0.0, 1.0);
        let factor = arriving.powf(strength - 1.0).min(4.0);
        Self {
            direct: self.direct * factor,
            indirect: self.indirect * factor,
            visibility: self.visibility.map(|v| v * factor),
            blocked: self.blocked.map(|v| v * factor),
        }
    }
}

impl Default for GatheredLight {
    /// Returns the light at an unoccluded point.
    fn default() -> Self {
        Self { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: [1.0, 0.0, 0.0, 0.0], blocked: [0.0; 4] }
    }
}

/// The result of a bake.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baked {
    /// Incoming light, for each mesh.
    pub meshes: Vec<BakedMesh>,
    /// Outgoing light, for each mesh; empty unless `BakeOptions::surfaces` is set.
    pub surfaces: Vec<LitSurface>,
}

/// The incoming light of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedMesh {
    /// Light at each vertex, on the side of the normal; empty if it was not computed.
    pub front: Vec<GatheredLight>,
    /// Light at each vertex, on the other side; empty unless the mesh is double-sided.
    pub back: Vec<GatheredLight>,
    /// Lattices for triangles on which light is not linear between the corners, sorted by triangle index.
    pub grids: Vec<LightGrid>,
}

impl BakedMesh {
    /// Returns all light values of the mesh.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut GatheredLight> {
        let grids = self.grids.iter_mut().flat_map(|grid| grid.front.iter_mut().chain(&mut grid.back));
        self.front.iter_mut().chain(&mut self.back).chain(grids)
    }
}

/// The light of one triangle on a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct LightGrid {
    /// Index of the triangle in its mesh.
    pub triangle: u32,
    /// The lattice of the values.
    pub lattice: Lattice,
    /// Light on the side of the normal, in the order of the lattice's points.
    pub front: Vec<GatheredLight>,
    /// Light on the other side; empty unless the mesh is double-sided.
    pub back: Vec<GatheredLight>,
}

/// A light source other than the environment. Its reflected light is computed as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BakeLight {
    /// Parallel light.
    Directional {
        /// Unit vector to the light.
        to_light: Vec3,
        /// Irradiance on a surface that faces the light.
        irradiance: Vec3,
    },
    /// Light from a point.
    Point {
        /// World position.
        position: Vec3,
        /// Irradiance times squared distance.
        intensity: Vec3,
    },
}

/// Limits of the amount of work and of the error of a bake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakeOptions {
    /// Approximate total number of rays of all vertices.
    pub ray_budget: usize,
    /// Minimum number of rays per vertex.
    pub min_samples: usize,
    /// Maximum number of rays per vertex.
    pub max_samples: usize,
    /// Number of times that light is reflected.
    pub bounces: usize,
    /// Initial spacing of lattice points on large triangles, in world units. It is up to twice as large if the vertices
    /// use the ray budget.
    pub spacing: f32,
    /// Maximum number of initial lattice points; the spacing is increased to keep to it.
    pub max_lattice_points: usize,
    /// Minimum spacing of lattice points after refinement, in world units.
    pub min_spacing: f32,
    /// Sampling is refined only where interpolation changes a surface's colour by more than this, in display encoding
    /// (0 to 1).
    pub max_error: f32,
    /// Number of rays per initial lattice point that a camera sees.
    pub seen_samples: usize,
    /// Number of rays per initial lattice point that no camera sees, and that only lights others.
    pub unseen_samples: usize,
    /// Number of rays per probe. Probes compare the light of neighbouring points.
    pub probe_samples: usize,
    /// Maximum number of rays of all probes. It is lower if vertices are so dense that they store the light in
    /// sufficient detail.
    pub probe_budget: usize,
    /// Whether to compute the light that leaves surfaces.
    pub surfaces: bool,
}

impl BakeOptions {
    /// Returns options with about a third of the rays, for drafts and for animated models. Each pose of an animated
    /// model is baked separately, so its residual noise changes over time.
    #[must_use]
    pub fn coarser(self) -> Self {
        Self {
            ray_budget: self.ray_budget / 3,
            max_samples: self.max_samples / 2,
            max_lattice_points: self.max_lattice_points / 3,
            seen_samples: self.seen_samples / 3,
            unseen_samples: self.unseen_samples / 2,
            probe_samples: self.probe_samples / 2,
            probe_budget: self.probe_budget / 6,
            min_spacing: 2.0 * self.min_spacing,
            max_error: 1.5 * self.max_error,
            ..self
        }
    }

    /// Returns options with three times the rays, for detailed shading of crevices and contacts and for large images.
    #[must_use]
    pub fn finer(self) -> Self {
        Self {
            ray_budget: 3 * self.ray_budget,
            min_samples: 3 * self.min_samples,
            max_samples: 2 * self.max_samples,
            seen_samples: 2 * self.seen_samples,
            probe_samples: 2 * self.probe_samples,
            probe_budget: 2 * self.probe_budget,
            min_spacing: 0.7 * self.min_spacing,
            max_error: 0.7 * self.max_error,
            ..self
        }
    }
}

impl Default for BakeOptions {
    fn default() -> Self {
        Self {
            ray_budget: 900_000,
            min_samples: 12,
            max_samples: 128,
            bounces: 4,
            spacing: 0.08,
            max_lattice_points: 30_000,
            min_spacing: 0.006,
            max_error: 0.02,
            seen_samples: 448,
            unseen_samples: 64,
            probe_samples: 192,
            probe_budget: 5_000_000,
            surfaces: true,
        }
    }
}
