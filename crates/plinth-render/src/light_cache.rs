//! Prepared light that is cached in memory between scenes.

use std::sync::{Arc, PoisonError};

use plinth_scene::LightDetail;

use crate::cache::Cache;
use crate::gpu::Gpu;
use crate::prepare::{LightCacheKeys, NewResults, PrepareInputs, Prepared, prepare};

/// Maximum number of entries: one in full detail, and drafts for what is being changed.
const MAX_ENTRIES: usize = 4;

/// Light of the scenes that were drawn last, most recent first.
#[derive(Default)]
pub(crate) struct LightCache(Vec<(LightCacheKeys, Arc<Prepared>)>);

impl LightCache {
    /// Returns the light with these names. A draft may have light of other cameras, or of another detail.
    fn find(&mut self, names: &LightCacheKeys, is_draft: bool) -> Option<Arc<Prepared>> {
        let fits = |known: &LightCacheKeys| known == names || is_draft && known.any_camera == names.any_camera;
        let place = self.0.iter().position(|(known, _light)| fits(known))?;
        self.0[..=place].rotate_right(1);
        Some(Arc::clone(&self.0[0].1))
    }

    fn keep(&mut self, names: LightCacheKeys, light: &Arc<Prepared>) {
        self.0.insert(0, (names, Arc::clone(light)));
        self.0.truncate(MAX_ENTRIES);
    }
}

/// Returns the light of a scene: kept, from the cache, or computed. Light of moving models is not kept, because their renderer
/// changes it.
pub(crate) fn prepared(gpu: &Gpu, inputs: &PrepareInputs<'_>, cache: Option<&Cache>) -> (Arc<Prepared>, NewResults) {
    let new = || {
        let (light, fresh) = prepare(inputs, cache);
        (Arc::new(light), fresh)
    };
    let (Some(device_cache), Some(cache)) = (gpu.device.cache(), cache) else { return new() };
    if inputs.moving.contains(&true) {
        return new();
    }
    let is_draft = inputs.scene.light_detail == LightDetail::Draft;
    let names = LightCacheKeys::of(cache, inputs);
    let known = || device_cache.light.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(light) = known().find(&names, is_draft) {
        return (light, NewResults::default());
    }
    let (light, fresh) = new();
    known().keep(names, &light);
    // Drafts change too often to be worth a file.
    (light, if is_draft { NewResults::default() } else { fresh })
}
