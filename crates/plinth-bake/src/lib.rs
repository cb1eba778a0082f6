//! Light that does not change during a shot, gathered per vertex by ray casting.

mod types;

pub use types::*;
