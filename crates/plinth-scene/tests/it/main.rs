//! Tests of scenes that are built from small generated models.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    reason = "tests may fail, and compare what must be equal"
)]

mod at_point;
mod dataset;
mod decals;
mod focus;
mod framing;
mod look;
mod models;
mod motion;
mod posing;
