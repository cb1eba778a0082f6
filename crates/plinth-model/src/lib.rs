//! A model file becomes a checked, decoded model; OBJ archives become GLB.

mod model;

pub use model::*;
