//! Converts the scene to buffers and textures on the device.

pub(crate) mod batch;
pub(crate) mod boxes;
pub(crate) mod closed;
pub(crate) mod first_level;
pub(crate) mod gathered_light;
pub(crate) mod geometry;
pub(crate) mod geometry_cache;
pub(crate) mod kept_levels;
pub(crate) mod kept_shadows;
pub(crate) mod levels;
pub(crate) mod light_maps;
pub(crate) mod material;
pub(crate) mod material_sets;
pub(crate) mod numbered;
pub(crate) mod octahedral;
pub(crate) mod pool;
mod pool_builder;
mod pools;
mod read_tiles;
pub(crate) mod spacing;
pub(crate) mod sprite_material;
pub(crate) mod sprites;
mod texel_density;
pub(crate) mod texture;
pub(crate) mod triangles;
