//! Prepared light that is cached in memory between scenes.

use std::sync::{Arc, PoisonError};

use plinth_scene::LightDetail;

use crate::cache::Cache;
use crate::gpu::Gpu;
use crate::prepare::{KnownTriangles, LightCacheKeys, ModelLight, NewResults, PrepareInputs, Prepared, prepare};

/// Maximum number of entries: one for the light in full detail, the others for drafts.
const MAX_ENTRIES: usize = 4;

/// Light of the scenes that were drawn last, most recent first.
#[derive(Default)]
pub(crate) struct LightCache(Vec<(LightCacheKeys, Arc<Prepared>)>);

impl LightCache {
    /// Returns the light that is stored under `names`. An interactive picture may also use light that was computed for
    /// other cameras or with another level of detail.
    fn find(&mut self, names: &LightCacheKeys, is_interactive: bool) -> Option<Arc<Prepared>> {
        let is_exact = |known: &LightCacheKeys| known.environment == names.environment && known.model == names.model;
        let fits = |known: &LightCacheKeys| is_exact(known) || is_interactive && known.any_camera == names.any_camera;
        let place = self.0.iter().position(|(known, _light)| fits(known))?;
        self.0[..=place].rotate_right(1);
        Some(Arc::clone(&self.0[0].1))
    }

    /// Returns the triangles to draw, with the name under which they are stored. An interactive picture may also use
    /// triangles that were selected for other cameras. Only such a picture gets their geometry, in which vertices share
    /// sample points.
    fn triangles(&self, names: &LightCacheKeys, is_interactive: bool) -> Option<(String, KnownTriangles)> {
        let fits = |known: &LightCacheKeys| {
            known.triangles == names.triangles || is_interactive && known.surfaces == names.surfaces
        };
        let (known, light) = self.0.iter().find(|(known, _light)| fits(known))?;
        let ModelLight { indices, geometry, .. } = &light.model;
        let geometry = geometry.clone().filter(|_geometry| is_interactive);
        Some((known.triangles.clone(), KnownTriangles { indices: Arc::clone(indices), geometry }))
    }

    fn keep(&mut self, names: LightCacheKeys, light: &Arc<Prepared>) {
        self.0.insert(0, (names, Arc::clone(light)));
        self.0.truncate(MAX_ENTRIES);
    }
}

/// Returns the light of a scene from memory or from the cache on disk, or computes it. The light of moving models is
/// not kept in memory, because their renderer changes it. As soon as the triangles are known that are drawn,
/// `use_triangles` is called. Its result is returned.
pub(crate) fn prepared<T: Send>(
    gpu: &Gpu,
    inputs: &PrepareInputs<'_>,
    cache: Option<&Cache>,
    use_triangles: impl FnOnce(&[Vec<u32>]) -> T + Send,
) -> (Arc<Prepared>, NewResults, T) {
    let detail = inputs.scene.light_detail;
    let is_interactive = detail == LightDetail::Interactive;
    let in_memory = gpu.device.cache().filter(|_cache| !inputs.moving.contains(&true));
    let names = cache.map(|cache| (cache, LightCacheKeys::of(cache, inputs)));
    let new = |triangles, use_triangles| {
        // Drafts that are kept in memory are not stored on disk, because they change too often.
        let files = names
            .as_ref()
            .filter(|_names| !(detail.is_draft() && in_memory.is_some()))
            .map(|(cache, names)| (*cache, names));
        let (light, fresh, used) = prepare(inputs, files, triangles, use_triangles);
        (Arc::new(light), fresh, used)
    };
    let (Some(in_memory), Some((_cache, names))) = (in_memory, &names) else { return new(None, use_triangles) };
    let known = || in_memory.light.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().find(names, is_interactive);
    if let Some(light) = found {
        let used = use_triangles(&light.model.indices);
        return (light, NewResults::default(), used);
    }
    let triangles = known().triangles(names, is_interactive);
    let (light, fresh, used) = new(triangles.as_ref().map(|(_name, triangles)| triangles.clone()), use_triangles);
    // Reused triangles keep their name. Under the new name, the full picture would later find triangles that were
    // selected for other cameras.
    let is_reused = |(_name, known): &(String, KnownTriangles)| Arc::ptr_eq(&known.indices, &light.model.indices);
    let triangles = triangles.filter(is_reused).map_or_else(|| names.triangles.clone(), |(name, _known)| name);
    known().keep(LightCacheKeys { triangles, ..names.clone() }, &light);
    (light, fresh, used)
}
