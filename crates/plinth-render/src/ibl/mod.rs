//! Filters the environment's light on the CPU. The results are its radiance for several roughnesses, and its
//! irradiance.

mod irradiance;
mod pyramid;
mod specular;

pub(crate) use irradiance::irradiance_map;
pub(crate) use specular::prefilter;

/// A map whose texels are directions. The mapping is `octahedral_direction`.
pub(crate) struct OctahedralMap {
    /// Side length of mip level 0 in texels.
    pub(crate) side: u32,
    /// Mip levels. Each texel is R, G, B, 1.
    pub(crate) mips: Vec<Vec<[f32; 4]>>,
}
