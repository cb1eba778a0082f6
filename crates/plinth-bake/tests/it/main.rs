//! Integration tests of the bake.

mod analytic;
mod large;
mod scenes;
