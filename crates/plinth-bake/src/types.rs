//! What goes in and what comes out.

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
    /// Unit world normals, one a vertex.
    pub normals: Vec<Vec3>,
    /// Three indices a triangle, counter-clockwise seen from its front.
    pub indices: Vec<u32>,
    /// Linear diffuse albedo, one a vertex: what a hit reflects. A `texture` multiplies it.
    pub albedo: Vec<Vec3>,
    /// Linear reflectance at normal incidence, one a vertex; empty: nothing is reflected as in a mirror.
    pub f0: Vec<Vec3>,
    /// Perceptual roughness, one a vertex; empty where `f0` is.
    pub roughness: Vec<f32>,
    /// Linear emitted radiance, one a vertex; empty: none.
    pub emission: Vec<Vec3>,
    /// Share of light that is let through straight, one a vertex (1 − alpha, or transmission times its colour's
    /// luminance); empty: opaque.
    pub transparency: Vec<f32>,
    /// Colour and holes between the vertices.
    pub texture: Option<BakeTexture>,
    /// Both sides are seen, so both receive light.
    pub double_sided: bool,
    /// Whether rays can hit it (a shadow-catching floor only receives).
    pub occludes: bool,
    /// Whether light is gathered for it.
    pub receives: bool,
}

impl BakeMesh {
    /// A surface that is not there: it shows what arrives at it, and no more.
    pub(crate) const fn is_floor(&self) -> bool {
        self.receives && !self.occludes
    }

    /// Corners of a triangle.
    pub(crate) fn corners(&self, triangle: usize) -> [usize; 3] {
        std::array::from_fn(|k| self.indices[3 * triangle + k] as usize)
    }

    /// World positions of a triangle's corners.
    pub(crate) fn triangle(&self, triangle: usize) -> [Vec3; 3] {
        self.corners(triangle).map(|i| self.positions[i])
    }
}

/// An image over a mesh.
#[derive(Clone, Debug)]
pub struct BakeTexture {
    /// Place on the image, one a vertex; (0, 0) is the corner of its first texel. It repeats.
    pub uvs: Vec<Vec2>,
    /// The texels that rays read.
    pub image: Arc<BakeImage>,
    /// Alpha from which on a texel is there; the others are holes. Nothing: alpha is coverage.
    pub cutoff: Option<f32>,
}

/// Linear colour with alpha, row by row.
#[derive(Clone, Debug, Default)]
pub struct BakeImage {
    /// Texels in a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Linear RGB and alpha, not premultiplied.
    pub texels: Vec<[f32; 4]>,
}

impl BakeImage {
    pub(crate) fn texel(&self, at: Vec2) -> [f32; 4] {
        let wrap = |x: f32, size: usize| ((x.rem_euclid(1.0) * size as f32) as usize).min(size.max(1) - 1);
        let index = wrap(at.y, self.height) * self.width + wrap(at.x, self.width);
        self.texels.get(index).copied().unwrap_or([1.0; 4])
    }
}

/// Light that arrives at one place of a surface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct GatheredLight {
    /// Per channel: irradiance that arrives directly from the environment (shadowed by geometry), divided by what
    /// would arrive without any geometry. 0..=1 up to noise.
    pub direct: Vec3,
    /// Irradiance that arrives after one or more bounces (and from emissive surfaces), same unit as the
    /// environment's irradiance.
    pub indirect: Vec3,
    /// Visibility of the environment over directions as spherical harmonics of degree 1 in world space:
    /// `V(d) ≈ c0 + cx·d.x + cy·d.y + cz·d.z` (c0 is the mean over the upper hemisphere fitted this way).
    pub visibility: [f32; 4],
    /// Radiance of what blocks the environment, as seen in a direction (0 where nothing does), as its luminance over
    /// directions in the form of `visibility`. Its colour is that of `indirect`.
    pub blocked: [f32; 4],
}

impl GatheredLight {
    /// With what closes the environment off counted `times` over: light becomes the share that arrives to that power, so
    /// that an open place stays as it is. 1 changes nothing.
    pub fn occluded(self, times: f32) -> Self {
        let open = (self.direct.element_sum() / 3.0).clamp(0.0, 1.0);
        let less = open.powf(times - 1.0).min(4.0);
        Self {
            direct: self.direct * less,
            indirect: self.indirect * less,
            visibility: self.visibility.map(|v| v * less),
            blocked: self.blocked.map(|v| v * less),
        }
    }
}

impl Default for GatheredLight {
    /// What arrives where nothing is in the way.
    fn default() -> Self {
        Self { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: [1.0, 0.0, 0.0, 0.0], blocked: [0.0; 4] }
    }
}

/// What is known of the meshes' light.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baked {
    /// Light that arrives, for each mesh.
    pub meshes: Vec<BakedMesh>,
    /// Light that leaves, for each mesh; empty unless it is asked for.
    pub surfaces: Vec<LitSurface>,
}

/// The light of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedMesh {
    /// At each vertex, on the side of its normal; empty where nothing was gathered.
    pub front: Vec<GatheredLight>,
    /// At each vertex, on the other side; empty unless both sides are seen.
    pub back: Vec<GatheredLight>,
    /// For triangles whose light is not that of their corners, in the order of their numbers.
    pub grids: Vec<LightGrid>,
}

impl BakedMesh {
    /// The light of all its places.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut GatheredLight> {
        let grids = self.grids.iter_mut().flat_map(|grid| grid.front.iter_mut().chain(&mut grid.back));
        self.front.iter_mut().chain(&mut self.back).chain(grids)
    }
}

/// The light of one triangle.
#[derive(Clone, Debug, PartialEq)]
pub struct LightGrid {
    /// The triangle's number in its mesh.
    pub triangle: u32,
    /// Where the values lie.
    pub lattice: Lattice,
    /// In the lattice's order, on the side of the normal.
    pub front: Vec<GatheredLight>,
    /// On the other side; empty unless both sides are seen.
    pub back: Vec<GatheredLight>,
}

/// A light with a direction, whose reflected light is gathered too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BakeLight {
    /// Parallel light.
    Directional {
        /// Unit vector to the light.
        to_light: Vec3,
        /// Irradiance on a surface facing it.
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

/// How much work a bake may be, and how exact it has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakeOptions {
    /// Rays over all vertices together, about.
    pub ray_budget: usize,
    /// Fewest rays a vertex.
    pub min_samples: usize,
    /// Most rays a vertex.
    pub max_samples: usize,
    /// Times that light is reflected.
    pub bounces: usize,
    /// Distance at which large triangles carry light before anything is known of it, in world units; up to twice that where
    /// vertices take the rays.
    pub spacing: f32,
    /// Places on large triangles at that distance, at most; above it they are farther apart.
    pub max_places: usize,
    /// Smallest distance of places on a triangle, in world units.
    pub finest: f32,
    /// Difference of a surface's colour, in the display's encoding (0 to 1), below which no place is added.
    pub error: f32,
    /// Rays at each place on a large triangle that a camera sees.
    pub place_samples: usize,
    /// Rays at each such place that no camera sees: it lights others.
    pub unseen_samples: usize,
    /// Rays with which the light of neighbouring places is compared.
    pub probe_samples: usize,
    /// Rays of such comparisons, at most; fewer where vertices are so many that they carry the light themselves.
    pub probe_budget: usize,
    /// Whether the light that leaves surfaces is asked for.
    pub surfaces: bool,
}

impl BakeOptions {
    /// A third of the rays: for drafts, and where light is worked out for one pose after the other, so that what is left of
    /// their noise does not stand still.
    #[must_use]
    pub fn coarser(self) -> Self {
        Self {
            ray_budget: self.ray_budget / 3,
            max_samples: self.max_samples / 2,
            max_places: self.max_places / 3,
            place_samples: self.place_samples / 3,
            unseen_samples: self.unseen_samples / 2,
            probe_samples: self.probe_samples / 2,
            probe_budget: self.probe_budget / 6,
            finest: 2.0 * self.finest,
            error: 1.5 * self.error,
            ..self
        }
    }

    /// Three times the rays, where the shading of crevices and contacts is asked for or pictures are large.
    #[must_use]
    pub fn finer(self) -> Self {
        Self {
            ray_budget: 3 * self.ray_budget,
            min_samples: 3 * self.min_samples,
            max_samples: 2 * self.max_samples,
            place_samples: 2 * self.place_samples,
            probe_samples: 2 * self.probe_samples,
            probe_budget: 2 * self.probe_budget,
            finest: 0.7 * self.finest,
            error: 0.7 * self.error,
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
            max_places: 30_000,
            finest: 0.006,
            error: 0.02,
            place_samples: 448,
            unseen_samples: 64,
            probe_samples: 192,
            probe_budget: 5_000_000,
            surfaces: true,
        }
    }
}
