//! The environment's light, filtered on the processor for shading: a cube of radiance by roughness, and irradiance.

mod cube;
mod irradiance;
mod pyramid;

pub(crate) use cube::{SpecularCube, prefilter};
pub(crate) use irradiance::irradiance_sh;
