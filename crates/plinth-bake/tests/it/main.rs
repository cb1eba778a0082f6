//! The bake as its users see it.

mod analytic;
