//! The input and output types of the bake.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};
use plinth_model::Wrap;

use crate::lattice::Lattice;
use crate::lit_surface::LitSurface;

/// A mesh in world space that blocks, reflects and receives light.
#[derive(Clone, Debug, Default)]
pub struct BakeMesh {
    /// World positions of the vertices.
    pub positions: Vec<Vec3>,
    /// Unit normals in world space, one per vertex.
    pub normals: Vec<Vec3>,
    /// Three vertex indices per triangle, counter-clockwise as seen from the front.
    pub indices: Vec<u32>,
    /// Whether both sides of the triangles are visible and receive light.
    pub double_sided: bool,
    /// Linear diffuse albedo of each vertex, to be multiplied by the colour of `texture`. Products are clamped to
    /// 0 to 1.
    pub albedo: Vec<Vec3>,
    /// For each vertex, the fraction of the light that passes through the surface to its diffuse part, divided by the
    /// same fraction for a dielectric with the default reflectance 0.04. [`Baked::surfaces`] are multiplied by it. Light
    /// between surfaces is not: its specularly reflected fraction is computed from `f0` for each direction. If the list
    /// is empty, the value is 1.
    pub passing: Vec<f32>,
    /// Linear reflectance of each vertex at normal incidence. If the list is empty, the mesh has no specular
    /// reflection.
    pub f0: Vec<Vec3>,
    /// Whether a part of the mesh is more a dielectric than a metal, and its `f0` has a colour. The colour that such a mesh
    /// reflects most determines how much light of all colours is left for its diffuse reflection (KHR_materials_specular).
    pub is_tinted_dielectric: bool,
    /// Perceptual roughness of each vertex. The list is empty if `f0` is empty.
    pub roughness: Vec<f32>,
    /// Linear emitted radiance, to be multiplied by the colour of `emission_texture`. Zero if the mesh emits no light.
    pub emission: Vec3,
    /// For each vertex, the fraction of the light that passes straight through the surface, which results from the
    /// alpha and the transmission of the material. If the list is empty, the mesh is opaque.
    pub transparency: Vec<f32>,
    /// Texture with the colour and the holes of the surface.
    pub texture: Option<BakeTexture>,
    /// Texture with the colour of the emitted light. Its alpha is ignored.
    pub emission_texture: Option<BakeTexture>,
    /// Whether rays can hit the mesh. False for a surface that lies on another one, and for a shadow catcher.
    pub occludes: bool,
    /// Whether the light that arrives at the mesh is computed.
    pub receives_light: bool,
    /// Whether the mesh shows shadows but is otherwise invisible. Only its share of direct light is computed.
    pub is_shadow_catcher: bool,
}

impl BakeMesh {
    /// Returns the vertex indices of a triangle.
    pub(crate) fn corners(&self, triangle: usize) -> [usize; 3] {
        std::array::from_fn(|k| self.indices[3 * triangle + k] as usize)
    }

    /// Interpolates values of vertices between the corners of a triangle.
    #[inline]
    pub(crate) fn interpolate([a, b, c]: [usize; 3], [wa, wb, wc]: [f32; 3], values: &[Vec3]) -> Vec3 {
        values[a] * wa + values[b] * wb + values[c] * wc
    }

    /// Returns the linear radiance that a point of a triangle emits. `weights` are the barycentric weights of the point.
    pub(crate) fn emitted(&self, triangle: usize, weights: [f32; 3]) -> Vec3 {
        if self.emission == Vec3::ZERO {
            return Vec3::ZERO;
        }
        self.emission * BakeTexture::color(self.emission_texture.as_ref(), self.corners(triangle), weights)
    }

    /// Returns the world positions of a triangle's corners.
    pub(crate) fn triangle(&self, triangle: usize) -> [Vec3; 3] {
        self.corners(triangle).map(|i| self.positions[i])
    }
}

/// A texture of a mesh.
#[derive(Clone, Debug)]
pub struct BakeTexture {
    /// Texture coordinates of each vertex. (0, 0) is the outer corner of the first texel.
    pub uvs: Vec<Vec2>,
    pub image: Arc<BakeImage>,
    /// Wrapping of u and v outside 0..1.
    pub wrap: [Wrap; 2],
    /// Whether the surface is alpha-masked. Alpha is then the fraction of a texel's area that is no hole. Otherwise alpha is
    /// the opacity of the surface.
    pub is_masked: bool,
}

impl BakeTexture {
    /// Returns the RGBA texel at a point of a triangle. `corners` are the indices of the triangle's vertices, and `weights` the
    /// barycentric weights of the point.
    pub(crate) fn texel(&self, corners: [usize; 3], weights: [f32; 3]) -> [f32; 4] {
        let [a, b, c] = corners.map(|i| self.uvs.get(i).copied().unwrap_or(Vec2::ZERO));
        let uv = a * weights[0] + b * weights[1] + c * weights[2];
        let BakeImage { width, height, texels } = &*self.image;
        let index = self.wrap[1].texel(uv.y, *height) * width + self.wrap[0].texel(uv.x, *width);
        texels.get(index).copied().unwrap_or([1.0; 4])
    }

    /// Returns the colour of [`texel`](Self::texel), or white without a texture.
    pub(crate) fn color(texture: Option<&Self>, corners: [usize; 3], weights: [f32; 3]) -> Vec3 {
        texture.map_or(Vec3::ONE, |texture| {
            let [r, g, b, _] = texture.texel(corners, weights);
            Vec3::new(r, g, b)
        })
    }
}

/// Returns the fraction of the light that a surface reflects diffusely: its albedo times the colour of its texture. The
/// result is at most 1, because light between surfaces that reflect more than they receive would grow with each bounce.
#[inline]
pub(crate) fn diffuse_reflectance(albedo: Vec3, color: Vec3) -> Vec3 {
    (albedo * color).clamp(Vec3::ZERO, Vec3::ONE)
}

/// An image with linear colour and alpha, in row-major order.
#[derive(Clone, Debug, Default)]
pub struct BakeImage {
    /// Number of texels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Texels as linear R, G, B and straight alpha.
    pub texels: Vec<[f32; 4]>,
}

/// The light that arrives at one point of a surface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct GatheredLight {
    /// Fraction of the environment's irradiance that arrives directly, for each colour channel. The fraction is the
    /// irradiance with shadows divided by the irradiance without shadows, so it is in 0..=1 except for noise.
    pub direct: Vec3,
    /// Irradiance from light that was reflected at least once, and from emissive surfaces. The unit is that of the
    /// irradiance of the environment.
    pub indirect: Vec3,
    /// Fraction of the environment's light from the direction `d` that arrives, as spherical harmonics up to degree 1
    /// in world space: `V(d) ≈ c0 + cx·d.x + cy·d.y + cz·d.z`. The function is fitted over the hemisphere above the
    /// surface, where c0 is its mean.
    pub visibility: [f32; 4],
    /// Luminance of the occluders as a function of direction, in the same form as `visibility`. The luminance is 0
    /// where nothing blocks the environment. The colour of the occluders is assumed to be that of `indirect`.
    pub blocked: [f32; 4],
}

impl GatheredLight {
    /// Exaggerates occlusion: multiplies all light by `a^(strength − 1)`, where `a` is the fraction of the light that
    /// arrives. Points without occlusion do not change. A strength of 1 changes nothing.
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
    /// Returns the light at a point without occlusion.
    fn default() -> Self {
        Self { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: [1.0, 0.0, 0.0, 0.0], blocked: [0.0; 4] }
    }
}

/// The result of a bake.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baked {
    /// The light that arrives at each mesh.
    pub meshes: Vec<BakedMesh>,
    /// The light that leaves each mesh. The list is empty unless `BakeOptions::surfaces` is true.
    pub surfaces: Vec<LitSurface>,
}

/// The light that arrives at one mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedMesh {
    /// Light at each vertex on the front side. The list is empty if the light was not computed.
    pub front: Vec<GatheredLight>,
    /// Light at each vertex on the back side. The list is empty unless the mesh is double-sided.
    pub back: Vec<GatheredLight>,
    /// Light grids of the triangles on which the light is not linear between the corners, sorted by triangle index.
    pub grids: Vec<LightGrid>,
}

impl BakedMesh {
    /// Returns all light values of the mesh.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut GatheredLight> {
        let grids = self.grids.iter_mut().flat_map(|grid| grid.front.iter_mut().chain(&mut grid.back));
        self.front.iter_mut().chain(&mut self.back).chain(grids)
    }

    /// Returns the light of the same mesh after the second and the third corner of all triangles are swapped.
    #[must_use]
    pub fn turned(mut self) -> Self {
        for grid in &mut self.grids {
            let lattice = grid.lattice;
            for side in [&mut grid.front, &mut grid.back] {
                if !side.is_empty() {
                    *side = lattice.points().map(|(i, j)| side[lattice.index((j, i))]).collect();
                }
            }
        }
        self
    }
}

/// The light on one triangle, stored at the points of a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct LightGrid {
    /// Index of the triangle in the mesh.
    pub triangle: u32,
    /// The lattice at whose points the light is stored.
    pub lattice: Lattice,
    /// Light on the front side, in the order of the lattice's points.
    pub front: Vec<GatheredLight>,
    /// Light on the back side. The list is empty unless the mesh is double-sided.
    pub back: Vec<GatheredLight>,
}

/// A light source that is not part of the environment. The bake computes how surfaces reflect its light; the renderer
/// computes the light that arrives directly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BakeLight {
    /// A light source that is infinitely far away.
    Directional {
        /// Unit vector towards the light.
        to_light: Vec3,
        /// Irradiance of a surface that faces the light.
        irradiance: Vec3,
    },
    /// A light source at a point.
    Point {
        /// World position of the light.
        position: Vec3,
        /// Irradiance times the squared distance.
        intensity: Vec3,
    },
}

/// Limits of the work and of the error of a bake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakeOptions {
    /// Approximate number of rays that all vertices together cast.
    pub ray_budget: usize,
    /// Minimum number of rays per vertex. Vertices inside a closed double-sided mesh cast fewer.
    pub min_samples: usize,
    /// Maximum number of rays per vertex.
    pub max_samples: usize,
    /// Maximum number of times that light is reflected.
    pub bounces: usize,
    /// Spacing of the lattice points on large triangles before refinement, in world units. The spacing is up to twice
    /// as large if the vertices use the whole ray budget.
    pub spacing: f32,
    /// Maximum number of lattice points before refinement. The spacing is increased if there would be more points.
    pub max_lattice_points: usize,
    /// Minimum spacing of the lattice points after refinement, in world units.
    pub min_spacing: f32,
    /// Sample points are added only where interpolation would change the colour of a surface by more than this. The
    /// colour is in display encoding (0 to 1).
    pub max_error: f32,
    /// Number of rays per lattice point that a camera sees, before refinement.
    pub seen_samples: usize,
    /// Number of rays per lattice point that no camera sees, before refinement. Such a point only affects the light
    /// that other points receive.
    pub unseen_samples: usize,
    /// Number of rays per probe. Probes are used to compare the light of neighbouring points.
    pub probe_samples: usize,
    /// Number of rays per vertex of a shadow catcher.
    pub shadow_catcher_samples: usize,
    /// Maximum number of rays of all probes together. The number is reduced if the vertices are so dense that they
    /// already store the light in detail.
    pub probe_budget: usize,
    /// Maximum number of triangles that are tested for refinement, the largest first. If a triangle has a lattice, the
    /// small triangles between the points of the lattice count instead.
    pub max_refined: usize,
    /// Whether the light that leaves surfaces is computed.
    pub surfaces: bool,
    /// Side of a cube, in world units, within which vertices of a dense mesh share their light if their normals are
    /// similar. With 0, each vertex has its own light.
    pub shared_cell: f32,
}

impl BakeOptions {
    /// Returns options with about a third of the rays, for animated models. Each pose of an animated model is baked
    /// separately, so the remaining noise differs from pose to pose.
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

    /// Returns options for a first impression of a model. A bake with these options casts about half as many rays as a
    /// bake with [`coarser`](Self::coarser) options. `min_samples` is reduced, too, because it determines the number of
    /// rays if there are many vertices.
    #[must_use]
    pub fn draft(self) -> Self {
        Self {
            ray_budget: self.ray_budget / 6,
            min_samples: self.min_samples / 3,
            shadow_catcher_samples: self.shadow_catcher_samples / 2,
            ..self.coarser()
        }
    }

    /// Returns options for pictures that are drawn while a setting changes. Lattice points and probes have half as many
    /// rays as in a [`draft`](Self::draft). On dense meshes, close vertices share their light, which needs fewer rays, too.
    #[must_use]
    pub fn interactive(self) -> Self {
        Self {
            ray_budget: self.ray_budget / 5,
            seen_samples: self.seen_samples / 6,
            unseen_samples: self.unseen_samples / 4,
            probe_samples: self.probe_samples / 4,
            probe_budget: self.probe_budget / 12,
            max_refined: 20_000,
            shared_cell: 0.025,
            ..self.draft()
        }
    }

    /// Returns options with about three times the rays, for detailed shading of crevices and contacts, and for large
    /// images.
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
            // A shadow catcher is one smooth surface, on which noise would be visible.
            shadow_catcher_samples: 128,
            probe_budget: 5_000_000,
            max_refined: usize::MAX,
            surfaces: true,
            shared_cell: 0.0,
        }
    }
}
