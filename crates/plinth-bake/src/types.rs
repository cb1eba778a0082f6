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

impl Default for BakeOptions {
    fn default() -> Self {
        Self { ray_budget: 900_000, min_samples: 12, max_samples: 128, bounces: 4 }
    }
}
