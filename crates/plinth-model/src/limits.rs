//! Limits on the contents of a model, which are checked before memory is allocated.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ModelError, Result};

/// Limits on the contents of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the file in bytes.
    pub bytes: u64,
    /// Maximum number of nodes.
    pub nodes: u64,
    /// Maximum depth of the node tree.
    pub depth: u64,
    /// Maximum number of vertices of all primitives. Each instance of a primitive counts separately.
    pub vertices: u64,
    /// Maximum number of indices of all primitives. Each instance of a primitive counts separately.
    pub indices: u64,
    /// Maximum number of objects in the JSON document.
    pub json_objects: u64,
    /// Maximum number of values in all lists and objects of the JSON document.
    pub json_values: u64,
    /// Maximum number of bytes that are unpacked, decoded or generated while one model is loaded, not counting images.
    /// The same number also limits the decoded size of each image separately.
    pub decoded_bytes: u64,
    /// Maximum width and height of an image in pixels.
    pub image_side: u64,
    /// Maximum number of pixels of all images together.
    pub image_pixels: u64,
    /// Maximum number of values of all animation channels together.
    pub animation_values: u64,
    /// Maximum number of morph target values (targets times vertices) of all primitives together.
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

/// Returns an error if `count` exceeds `limit`. `what` is the plural name of the counted items.
pub(crate) fn check(what: &'static str, count: u64, limit: u64) -> Result<()> {
    if count > limit { Err(ModelError::Limit { what, count, limit }) } else { Ok(()) }
}

/// Counts the bytes that were unpacked, decoded and generated since loading began. Memory that was freed still counts,
/// so the budget also bounds the loading time.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    limit: u64,
}

impl Budget {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { used: AtomicU64::new(0), limit }
    }

    /// Counts the bytes of `count` values of type `T`. Must be called before the values are allocated.
    pub(crate) fn take<T>(&self, count: usize) -> Result<()> {
        self.take_bytes((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Counts `bytes` bytes. Must be called before the bytes are allocated.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<()> {
        let used = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        self.used.store(used, Ordering::Relaxed);
        check("bytes of decoded data", used, self.limit)
    }

    /// Returns the number of bytes that may still be allocated.
    pub(crate) fn remaining_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }
}
