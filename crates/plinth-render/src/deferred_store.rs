//! Stores new light in the cache on disk while frames are drawn. Serialising and writing it takes tens of milliseconds,
//! which would delay the first frame.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::cache::Cache;
use crate::prepare::{NewResults, Prepared};

/// Light that is stored in the cache after the first frame. If no frame is drawn, it is stored when this object is
/// dropped. Dropping waits until everything is stored, so the next render finds it.
#[derive(Default)]
pub(crate) struct DeferredStore {
    /// The light, until storing begins.
    unstored: Option<Arc<UnstoredLight>>,
    thread: Option<JoinHandle<()>>,
}

struct UnstoredLight {
    light: Arc<Prepared>,
    results: NewResults,
    cache: Cache,
}

impl UnstoredLight {
    fn store(&self) {
        self.results.serialize(&self.light).store(&self.cache);
    }
}

impl DeferredStore {
    /// Creates an object that stores those parts of `light` that are listed in `results`.
    pub(crate) fn new(light: &Arc<Prepared>, results: NewResults, cache: &Cache) -> Self {
        if results.is_empty() {
            return Self::default();
        }
        let unstored = UnstoredLight { light: Arc::clone(light), results, cache: cache.clone() };
        Self { unstored: Some(Arc::new(unstored)), thread: None }
    }

    /// Starts a thread that stores the light. Does nothing if the light is already being stored.
    pub(crate) fn start(&mut self) {
        let Some(unstored) = self.unstored.take() else { return };
        let of_thread = Arc::clone(&unstored);
        let started = Builder::new().spawn(move || of_thread.store());
        self.thread = started.inspect_err(|_no_thread| unstored.store()).ok();
    }
}

impl Drop for DeferredStore {
    fn drop(&mut self) {
        if let Some(unstored) = self.unstored.take() {
            unstored.store();
        }
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the next render computes the light again.
            drop(thread.join());
        }
    }
}
