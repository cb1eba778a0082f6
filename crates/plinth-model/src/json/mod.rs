//! The glTF document as it stands in JSON. Types and signs are checked by parsing; references are checked where they
//! are followed.

mod document;
mod extensions;
mod repair;
mod scan;

pub(crate) use document::*;
pub(crate) use extensions::*;
pub(crate) use repair::read_repaired;
pub(crate) use scan::check_size;
