//! A wgpu device with a cache of compiled and uploaded objects, for processes that draw one scene after another.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::frame_group::LightMapsCache;
use crate::gpu::Gpu;
use crate::light_cache::LightCache;
use crate::upload::geometry_cache::GeometryCache;
use crate::upload::texture::ImageCache;

/// Number of entries after which a cache is emptied.
const MAX_RESULTS: usize = 512;

/// A wgpu device. After [`Self::enable_cache`], the layouts, shader modules and pipelines that it creates are cached.
pub(crate) struct Device {
    inner: wgpu::Device,
    cache: Option<DeviceCache>,
}

/// Everything that a device caches between scenes.
#[derive(Default)]
pub(crate) struct DeviceCache {
    groups: ResultCache<String, wgpu::BindGroupLayout>,
    layouts: ResultCache<Vec<Option<wgpu::BindGroupLayout>>, wgpu::PipelineLayout>,
    modules: ResultCache<String, wgpu::ShaderModule>,
    pipelines: ResultCache<PipelineKey, wgpu::RenderPipeline>,
    pub(crate) images: Mutex<ImageCache>,
    pub(crate) light: Mutex<LightCache>,
    pub(crate) geometry: Mutex<GeometryCache>,
    pub(crate) light_maps: Mutex<LightMapsCache>,
    /// The second device, if one was opened (see `second_device.rs`).
    pub(crate) second_device: Mutex<Option<Arc<Gpu>>>,
}

/// Everything that distinguishes pipelines: the layout, the vertex and fragment shaders, and the `Debug` output of all
/// other state.
type PipelineKey = (Option<wgpu::PipelineLayout>, wgpu::ShaderModule, Option<wgpu::ShaderModule>, String);

impl Device {
    pub(crate) fn new(inner: wgpu::Device) -> Self {
        Self { inner, cache: None }
    }

    /// Starts to cache compiled and uploaded objects.
    pub(crate) fn enable_cache(&mut self) {
        self.cache.get_or_insert_default();
    }

    /// Returns the cache; `None` if caching is not enabled.
    pub(crate) fn cache(&self) -> Option<&DeviceCache> {
        self.cache.as_ref()
    }

    pub(crate) fn create_bind_group_layout(
        &self,
        descriptor: &wgpu::BindGroupLayoutDescriptor<'_>,
    ) -> wgpu::BindGroupLayout {
        let make = || self.inner.create_bind_group_layout(descriptor);
        self.cache.as_ref().map_or_else(make, |cache| cache.groups.get(format!("{:?}", descriptor.entries), make))
    }

    pub(crate) fn create_pipeline_layout(
        &self,
        descriptor: &wgpu::PipelineLayoutDescriptor<'_>,
    ) -> wgpu::PipelineLayout {
        let make = || self.inner.create_pipeline_layout(descriptor);
        let key = || descriptor.bind_group_layouts.iter().map(|group| group.cloned()).collect();
        self.cache.as_ref().map_or_else(make, |cache| cache.layouts.get(key(), make))
    }

    pub(crate) fn create_shader_module(&self, descriptor: wgpu::ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
        match (&self.cache, &descriptor.source) {
            (Some(cache), wgpu::ShaderSource::Wgsl(source)) => {
                let key = source.clone().into_owned();
                cache.modules.get(key, || self.inner.create_shader_module(descriptor))
            }
            _ => self.inner.create_shader_module(descriptor),
        }
    }

    pub(crate) fn create_render_pipeline(
        &self,
        descriptor: &wgpu::RenderPipelineDescriptor<'_>,
    ) -> wgpu::RenderPipeline {
        let make = || self.inner.create_render_pipeline(descriptor);
        self.cache.as_ref().map_or_else(make, |cache| cache.pipelines.get(pipeline_key(descriptor), make))
    }
}

fn pipeline_key(descriptor: &wgpu::RenderPipelineDescriptor<'_>) -> PipelineKey {
    let wgpu::RenderPipelineDescriptor { vertex, fragment, primitive, depth_stencil, multisample, .. } = descriptor;
    let of_vertex = (vertex.entry_point, vertex.compilation_options.constants, vertex.buffers);
    let of_fragment =
        fragment.as_ref().map(|stage| (stage.entry_point, stage.compilation_options.constants, stage.targets));
    let state = format!("{:?}", (of_vertex, of_fragment, primitive, depth_stencil, multisample));
    let module = fragment.as_ref().map(|stage| stage.module.clone());
    (descriptor.layout.cloned(), vertex.module.clone(), module, state)
}

impl Deref for Device {
    type Target = wgpu::Device;

    fn deref(&self) -> &wgpu::Device {
        &self.inner
    }
}

/// A cache of results. The key of a result identifies its inputs.
struct ResultCache<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for ResultCache<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash, V: Clone> ResultCache<K, V> {
    /// Returns the cached result for a key, or calls `make` and caches its result. The lock is not held during this
    /// call, so that several threads can make results at the same time.
    fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let made = make();
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() >= MAX_RESULTS {
            results.clear();
        }
        results.entry(key).or_insert(made).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_made_once_and_do_not_pile_up() {
        let cache: ResultCache<usize, usize> = ResultCache::default();
        assert_eq!((cache.get(1, || 10), cache.get(1, || 11), cache.get(2, || 12)), (10, 10, 12));
        for key in 0..2 * MAX_RESULTS {
            cache.get(key, || 0);
        }
        assert!(cache.0.lock().unwrap().len() <= MAX_RESULTS);
    }
}
