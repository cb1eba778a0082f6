//! Loads, validates and decodes model files (GLB), and converts OBJ archives to GLB.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`Limits` keeps counts within 32 bits; colours are clamped before they are converted to bytes"
)]

mod accessor;
mod container;
mod conversion;
mod decode;
mod error;
mod image_container;
mod inventory;
mod json;
mod limits;
mod load;
mod meshopt;
mod model;
pub mod obj_zip;
mod source;
mod texture_slot;
mod warnings;

pub use conversion::conversion_advice;
pub use decode::read_picture;
pub use error::ModelError;
pub use image_container::check_picture;
pub use inventory::{AnimationSummary, Inventory, TextureSummary, inspect};
pub use limits::Limits;
pub use load::{LoadOptions, load_glb, load_glb_with_known_images};
pub use model::*;
pub use source::{NAME_CHARS, cut_name};
pub use texture_slot::{TextureEncoding, TextureSlot};
