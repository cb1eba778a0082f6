//! Decoders for the parts of a glTF document.

pub(crate) mod clip;
pub(crate) mod draco;
pub(crate) mod flat;
pub(crate) mod image;
mod jpeg;
pub(crate) mod ktx2;
pub(crate) mod light;
pub(crate) mod material;
pub(crate) mod mesh;
pub(crate) mod node;
mod pixel_budget;
mod png;
pub(crate) mod raster;
pub(crate) mod rearrange;
pub(crate) mod skin;
pub(crate) mod spec_gloss;
pub(crate) mod tangent;
pub(crate) mod uv_sets;

pub use self::image::read_picture;
