//! Limits on the contents of a model, checked before memory is allocated.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ModelError, Result};

/// Limits on the contents of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Maximum depth of the node tree.
    pub depth: u64,
    /// Vertices of all primitives together, including instances.
    pub vertices: u64,
    /// Indices of all primitives together, including instances.
    pub indices: u64,
    /// Number of objects in the JSON document.
    pub json_objects: u64,
    /// Number of values in all lists and objects of the JSON document.
    pub json_values: u64,
    /// Bytes of all data that is unpacked, decoded or generated during one load, except images. Also the maximum
    /// decoded size of a single image in bytes.
    pub decoded_bytes: u64,
    /// Maximum width and height of an image in pixels.
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

/// Returns an error if `count` exceeds `limit`. `what` names the counted items in the plural.
pub(crate) fn check(what: &'static str, count: u64, limit: u64) -> Result<()> {
    if count > limit { Err(ModelError::Limit { what, count, limit }) } else { Ok(()) }
}

/// Counts the bytes that one load has unpacked, decoded and generated so far. Freed memory is not subtracted, so the
/// budget bounds time as well as memory.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    limit: u64,
}

impl Budget {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { used: AtomicU64::new(0), limit }
    }

    /// Counts `count` values of type `T`, before they are allocated.
    pub(crate) fn take<T>(&self, count: usize) -> Result<()> {
        self.take_bytes((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Counts bytes, before they are allocated.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<()> {
        let used = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        self.used.store(used, Ordering::Relaxed);
        check("bytes of decoded data", used, self.limit)
    }

    /// Number of bytes that may still be allocated.
    pub(crate) fn remaining_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }
}
