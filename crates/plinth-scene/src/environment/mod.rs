//! Environment light: panoramas that are read from files, and the built-in studio.

mod blur;
mod gain_map;
mod map;
mod radiance;
mod studio;

pub(crate) use gain_map::linear_from_srgb;
pub use gain_map::{GainMap, gain_map};
pub use map::EnvironmentMap;
pub use radiance::radiance_hdr;
pub use studio::studio;
