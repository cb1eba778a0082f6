//! The description of the interface. What it does is tested over the real program, in the crate of the binary.

#![expect(clippy::unwrap_used, reason = "tests")]

mod openapi;
