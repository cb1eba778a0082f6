//! Filters the environment's light on the CPU. The results are maps of the filtered radiance for several roughnesses,
//! and of the irradiance.
//!
//! The inner loops compute eight or more numbers at once, which the compiler turns into vector instructions. They are
//! compiled twice, once for any processor and once for AVX2, as in decision 0087. Both have the same results.

#![expect(clippy::inline_always, reason = "the target features of a function must apply to the loops that it calls")]

mod irradiance;
mod pyramid;
mod specular;

use glam::Vec3;

pub(crate) use irradiance::irradiance_map;
pub(crate) use specular::{FilterQuality, prefilter};

/// A map over all directions. `octahedral_direction` converts positions in the map to directions.
pub(crate) struct OctahedralMap {
    /// Side length of mip level 0 in texels.
    pub(crate) side: u32,
    /// Mip levels. Each texel is R, G, B, 1.
    pub(crate) mips: Vec<Vec<[f32; 4]>>,
}

impl OctahedralMap {
    /// Returns the colour of mip level 0 in the direction +Y, which is the centre of the map. The side length must be
    /// odd.
    pub(crate) fn above(&self) -> Vec3 {
        let texels = self.mips.first().map_or(&[][..], Vec::as_slice);
        texels.get(texels.len() / 2).map_or(Vec3::ZERO, |[r, g, b, _]| Vec3::new(*r, *g, *b))
    }
}
