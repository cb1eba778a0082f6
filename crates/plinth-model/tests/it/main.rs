//! Tests of the public API with small generated files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    reason = "tests: a wrong value may panic, and values that are read back are exact"
)]

mod accessors;
mod clips;
mod compressed;
mod container;
mod decoded;
mod geometry;
mod glb;
mod images;
mod inspecting;
mod jpeg;
mod limits;
mod malformed;
mod materials;
mod mtl;
mod nodes;
mod obj_zip;
mod png;
mod skins;
mod structure;
mod tangents;
mod tolerance;
mod zips;
