//! Integration tests of light baking.

mod analytic;
mod large;
mod scenes;
