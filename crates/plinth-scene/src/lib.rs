//! A model and settings become what the camera sees at a time; pure mathematics, no GPU.

mod environment;
mod scene;
mod shot;

pub use environment::EnvironmentMap;
pub use scene::*;
pub use shot::*;
