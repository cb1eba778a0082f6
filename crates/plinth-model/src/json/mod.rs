//! The glTF document as parsed JSON. Parsing checks the types and signs of values. The decoders check the references
//! when they resolve them.

mod document;
mod extensions;
mod material_extensions;
mod repair;
mod scan;

pub(crate) use document::*;
pub(crate) use extensions::*;
pub(crate) use material_extensions::*;
pub(crate) use repair::read_repaired;
pub(crate) use scan::check_size;
