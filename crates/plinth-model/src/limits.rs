//! Bounds on what a model may hold, checked before memory is taken.

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Objects of the JSON document.
    pub json_objects: u64,
    /// Values of its lists and objects together.
    pub json_values: u64,
    /// Bytes of everything that is unpacked, decoded or made during one load, images apart; also of the largest single
    /// image, decoded.
    pub decoded_bytes: u64,
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
            json_objects: 1_000_000,
            json_values: 20_000_000,
            decoded_bytes: 1 << 30,
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

/// What one load has unpacked, decoded and made so far. Nothing is given back: the sum bounds time as well as memory.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    limit: u64,
}

impl Budget {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { used: AtomicU64::new(0), limit }
    }

    /// Enters `count` values of type `T` that are about to be made.
    pub(crate) fn take<T>(&self, count: usize) -> Result<()> {
        self.take_bytes((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Enters bytes that are about to be made.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<()> {
        let used = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        self.used.store(used, Ordering::Relaxed);
        check("bytes of decoded data", used, self.limit)
    }

    /// What may still be made.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }
}
