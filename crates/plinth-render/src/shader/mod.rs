//! Shader sources: imports, variants and the textures a material declares.

mod compose;
pub(crate) mod material_source;
mod variants;

pub(crate) use compose::compose;
