//! Tests that draw scenes of small generated models on the best available adapter.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests may fail, and count small numbers"
)]

mod alone;
mod as_card;
mod bumps;
mod cache;
mod compiling;
mod devices;
mod host_visibility;
mod lamps;
mod layers;
mod looks;
mod materials;
mod matrix;
mod mip_levels;
mod models;
mod opacity;
mod opening;
mod pictures;
mod pose_light;
mod post;
mod sprites;
mod surroundings;
