//! Shader sources: imports, variants and the textures a material declares.

mod compose;
pub(crate) mod material_source;

pub(crate) use compose::compose;
