//! Stores new light and new mip levels in the cache on disk while frames are drawn. Serialising and writing them takes
//! tens of milliseconds, which would delay the first frame.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crate::cache::Cache;
use crate::prepare::{NewResults, Prepared};
use crate::upload::kept_levels::UnstoredLevels;

/// Results that are stored in the cache after the first frame. If no frame is drawn, they are stored when this object is
/// dropped. Dropping waits until everything is stored, so the next render finds it.
#[derive(Default)]
pub(crate) struct DeferredStore {
    /// The results, until storing begins.
    unstored: Option<Arc<Unstored>>,
    thread: Option<JoinHandle<()>>,
}

struct Unstored {
    light: Option<(Arc<Prepared>, NewResults)>,
    levels: UnstoredLevels,
    cache: Cache,
}

impl Unstored {
    fn store(&self) {
        if let Some((light, results)) = &self.light {
            results.serialize(light).store(&self.cache);
        }
        self.levels.store(&self.cache);
    }
}

impl DeferredStore {
    /// Creates an object that stores the listed parts of new light, and mip levels.
    pub(crate) fn new(light: Option<(Arc<Prepared>, NewResults)>, levels: UnstoredLevels, cache: &Cache) -> Self {
        let light = light.filter(|(_light, results)| !results.is_empty());
        if light.is_none() && levels.is_empty() {
            return Self::default();
        }
        let unstored = Unstored { light, levels, cache: cache.clone() };
        Self { unstored: Some(Arc::new(unstored)), thread: None }
    }

    /// Starts a thread that stores the results. Does nothing if they are already being stored.
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
            // If the thread panicked, the next render computes the results again.
            drop(thread.join());
        }
    }
}
