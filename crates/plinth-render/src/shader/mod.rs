//! Shader sources: the preprocessor, the list of variants, generated texture declarations, and changes that depend on
//! the device.

mod compose;
mod entry_point;
mod flat_uniforms;
mod for_device;
pub(crate) mod material_source;
mod uniform_values;
mod variants;
mod word_types;

pub(crate) use compose::compose;
pub(crate) use for_device::ShaderTarget;
