//! Environment light, filtered on the CPU for shading: radiance by roughness, and irradiance.

mod irradiance;
mod pyramid;
mod specular;

pub(crate) use irradiance::irradiance_map;
pub(crate) use specular::prefilter;

/// A map over directions, addressed by `octahedral_direction`.
pub(crate) struct OctahedralMap {
    /// Side of mip 0 in texels.
    pub(crate) side: u32,
    /// Mip levels: rows of R, G, B, 1.
    pub(crate) mips: Vec<Vec<[f32; 4]>>,
}
