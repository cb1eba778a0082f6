//! Precomputes the lighting of a model's surfaces ("baking") by casting rays on the CPU.
//!
//! In a turntable video, the camera moves and the model does not. Therefore shadows and light that is reflected between
//! surfaces of the model are computed only once. The result does not depend on the number of threads.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the model's limits keep all indices below u32::MAX"
)]

mod bake;
mod bvh;
mod coarse;
mod enclosed;
mod gather;
mod geometry;
mod grids;
mod interpolate;
mod inverted_hull;
mod lattice;
mod light;
mod lit_surface;
mod neighbours;
mod occluders;
mod octahedron;
mod point_lists;
mod radiosity;
mod refine;
mod samples;
mod sampling;
mod sky;
mod sun;
mod types;
mod vertex_smoothing;

pub use bake::{bake, bake_light};
pub use geometry::MeshGeometry;
pub use grids::MAX_GRID_VALUES;
pub use interpolate::LightInterpolator;
pub use lattice::Lattice;
pub use lit_surface::LitSurface;
pub use octahedron::direction as octahedral_direction;
pub use radiosity::LUMINANCE;
pub use sun::{Sun, extract_sun, find_sun};
pub use types::*;
