//! The environment's light, filtered on the processor for shading: a map of radiance by roughness, and irradiance.

mod irradiance;
mod pyramid;
mod specular;

pub(crate) use irradiance::irradiance_map;
pub(crate) use specular::prefilter;

/// A map over directions, by `octahedral_direction`.
pub(crate) struct OctahedralMap {
    /// Side of mip 0 in texels.
    pub(crate) side: u32,
    /// Each mip: rows of R, G, B, 1.
    pub(crate) mips: Vec<Vec<[f32; 4]>>,
}
