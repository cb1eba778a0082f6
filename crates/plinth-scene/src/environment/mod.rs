//! Environment light: panoramas that are read from files, and the built-in studio.

mod blur;
mod gain_map;
mod gain_map_encoder;
mod map;
mod panorama;
mod radiance;
mod studio;

pub use gain_map::{GainMap, gain_map};
pub(crate) use gain_map::{linear_from_srgb, srgb_from_linear};
pub use gain_map_encoder::{DARKEST_RADIANCE, EncodedGainMap, encode_gain_map};
pub use map::{EnvironmentMap, TexelDirections};
pub use panorama::{Panorama, read_panorama};
pub use radiance::radiance_hdr;
pub use studio::studio;
