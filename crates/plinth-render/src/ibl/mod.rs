//! The environment's light, filtered on the processor for shading: a map of radiance by roughness, and irradiance.

mod irradiance;
mod pyramid;
mod specular;

pub(crate) use irradiance::irradiance_sh;
pub(crate) use specular::{SpecularMap, prefilter};
