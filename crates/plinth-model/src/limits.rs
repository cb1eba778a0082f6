//! Bounds on what a model may hold, checked before memory is taken.

use crate::error::{ModelError, Result};

/// Bounds on what a model may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Nodes of the scene.
    pub nodes: u64,
    /// Longest chain of nodes from a root.
    pub depth: u64,
    /// Vertices of all primitives together, instances counted.
    pub vertices: u64,
    /// Indices of all primitives together, instances counted.
    pub indices: u64,
    /// Bytes that one accessor, compressed buffer view or embedded buffer may unpack to.
    pub accessor_bytes: u64,
    /// Longest side of an image in pixels.
    pub image_side: u64,
    /// Pixels of all images together.
    pub image_pixels: u64,
    /// Values of all animation channels together.
    pub animation_values: u64,
    /// Morph target values (targets times vertices) of all primitives together.
    pub morph_values: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            nodes: 200_000,
            depth: 256,
            vertices: 40_000_000,
            indices: 120_000_000,
            accessor_bytes: 1 << 30,
            image_side: 16_384,
            image_pixels: 600_000_000,
            animation_values: 50_000_000,
            morph_values: 100_000_000,
        }
    }
}

/// Refuses a count above its limit.
pub(crate) fn check(what: &'static str, count: u64, limit: u64) -> Result<()> {
    if count > limit { Err(ModelError::Limit { what, count, limit }) } else { Ok(()) }
}
