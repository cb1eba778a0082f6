//! Shader sources: the preprocessor, the list of variants, and generated texture declarations.

mod compose;
pub(crate) mod flat_uniforms;
pub(crate) mod material_source;
pub(crate) mod pairs;
mod variants;

pub(crate) use compose::compose;
