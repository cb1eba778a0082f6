//! Light that does not change during a shot, gathered per vertex by ray casting.
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
mod bounce;
mod bvh;
mod gather;
mod hemisphere;
mod neighbours;
mod refine;
mod sky;
mod sun;
mod types;
mod weld;

pub use bake::bake;
pub use refine::refine;
pub use sun::{Sun, extract_sun};
pub use types::*;
