//! What goes in and what comes out.

use glam::Vec3;

/// A piece of world-space geometry that blocks, reflects and receives light.
#[derive(Clone, Debug, Default)]
pub struct BakeMesh {
    /// World positions.
    pub positions: Vec<Vec3>,
    /// Unit world normals, one a vertex.
    pub normals: Vec<Vec3>,
    /// Three indices a triangle.
    pub indices: Vec<u32>,
    /// Linear diffuse albedo, one a vertex: what a hit reflects.
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
    /// Both sides receive: the light is gathered on the side of the normal only, and the hit reflects on both.
    pub double_sided: bool,
    /// Whether rays can hit it (a shadow-catching floor only receives).
    pub occludes: bool,
    /// Whether light is gathered for it.
    pub receives: bool,
    /// Whether its triangles may be divided.
    pub divisible: bool,
}

impl BakeMesh {
    /// A surface that is not there: it shows what arrives at it, and no more.
    pub(crate) const fn is_floor(&self) -> bool {
        self.receives && !self.occludes
    }
}

/// Vertices that a mesh is given, and its triangles with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Three indices a triangle, in the order of the triangles that they come from. Those from the mesh's number of
    /// vertices on are of added ones.
    pub indices: Vec<u32>,
    /// For each added vertex, the two in whose middle it is; they come before it.
    pub parents: Vec<[u32; 2]>,
}

impl Refinement {
    /// Appends the added vertices' values to a list with one value a vertex; an empty list stays empty.
    pub fn extend<T: Copy>(&self, values: &mut Vec<T>, middle: impl Fn(T, T) -> T) {
        if values.is_empty() {
            return;
        }
        values.reserve_exact(self.parents.len());
        for [a, b] in &self.parents {
            values.push(middle(values[*a as usize], values[*b as usize]));
        }
    }

    /// Refines a mesh.
    pub fn apply(&self, mesh: &mut BakeMesh) {
        mesh.indices.clone_from(&self.indices);
        self.extend(&mut mesh.positions, Vec3::midpoint);
        self.extend(&mut mesh.normals, |a, b| (a + b).normalize_or(a));
        self.extend(&mut mesh.albedo, Vec3::midpoint);
        self.extend(&mut mesh.f0, Vec3::midpoint);
        self.extend(&mut mesh.roughness, f32::midpoint);
        self.extend(&mut mesh.emission, Vec3::midpoint);
        self.extend(&mut mesh.transparency, f32::midpoint);
    }
}

/// When triangles are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineOptions {
    /// Edges up to this length stay whole, in world units.
    pub shortest_edge: f32,
    /// Edges above this length are halved whatever their light is: a shadow may be between.
    pub longest_edge: f32,
    /// Difference from the mean of an edge's ends, in its middle, below which it stays whole; 1 is all light.
    pub least_error: f32,
    /// The same times the edge's length.
    pub least_area: f32,
    /// Edges of the given meshes that are looked at, about; the longest are.
    pub max_edges: usize,
    /// Vertices that are added, at most.
    pub max_vertices: usize,
    /// Times that an edge is halved, at most.
    pub rounds: usize,
    /// Rays for each place whose light is compared.
    pub samples: usize,
}

impl RefineOptions {
    /// Finer, where the shading of crevices and contacts is asked for.
    #[must_use]
    pub fn finer(self) -> Self {
        Self {
            shortest_edge: 0.6 * self.shortest_edge,
            least_error: 0.6 * self.least_error,
            least_area: 0.4 * self.least_area,
            max_edges: 2 * self.max_edges,
            max_vertices: 2 * self.max_vertices,
            samples: 2 * self.samples,
            ..self
        }
    }
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self {
            shortest_edge: 0.04,
            longest_edge: 0.4,
            least_error: 0.05,
            least_area: 0.01,
            max_edges: 4000,
            max_vertices: 10_000,
            rounds: 7,
            samples: 32,
        }
    }
}

/// Light gathered at one vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakedVertex {
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

impl BakedVertex {
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

impl Default for BakedVertex {
    /// What arrives where nothing is in the way.
    fn default() -> Self {
        Self { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: [1.0, 0.0, 0.0, 0.0], blocked: [0.0; 4] }
    }
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

/// How much work a bake may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BakeOptions {
    /// Rays over all vertices together, about.
    pub ray_budget: usize,
    /// Fewest rays a vertex.
    pub min_samples: usize,
    /// Most rays a vertex.
    pub max_samples: usize,
    /// Times that light is reflected.
    pub bounces: usize,
}

impl BakeOptions {
    /// Three times the rays, where the shading of crevices and contacts is asked for.
    #[must_use]
    pub const fn finer(self) -> Self {
        Self {
            ray_budget: 3 * self.ray_budget,
            min_samples: 3 * self.min_samples,
            max_samples: 2 * self.max_samples,
            ..self
        }
    }
}

impl Default for BakeOptions {
    fn default() -> Self {
        Self { ray_budget: 900_000, min_samples: 12, max_samples: 128, bounces: 4 }
    }
}
