//! Light that does not change during a shot, gathered on surfaces by ray casting.
//!
//! The camera of a turntable moves, the model does not: so what it shades of itself and what it reflects onto itself
//! is worked out once, on the processor, and costs nothing per frame. The result does not depend on the number of
//! threads.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices are held below u32 by the model's limits"
)]

mod bake;
mod blend;
mod bvh;
mod coarse;
mod gather;
mod grids;
mod hull;
mod lattice;
mod light;
mod lit_surface;
mod neighbours;
mod octahedron;
mod places;
mod radiosity;
mod refine;
mod sampling;
mod sky;
mod sun;
mod types;

pub use bake::bake;
pub use blend::LightBetween;
pub use grids::MAX_GRID_VALUES;
pub use lattice::Lattice;
pub use lit_surface::LitSurface;
pub use octahedron::direction as octahedral_direction;
pub use radiosity::LUMINANCE;
pub use sun::{Sun, extract_sun};
pub use types::*;
