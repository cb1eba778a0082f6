//! The device, with a memory of what it has compiled, for processes that draw one scene after another.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crate::upload::texture::KeptImages;
use crate::warm_light::WarmLight;

/// Number of results of a kind after which a memory starts anew.
const MOST: usize = 512;

/// A device of wgpu. What it has compiled is kept and returned again if it is [warm](Self::keep).
pub(crate) struct Device {
    inner: wgpu::Device,
    warm: Option<Warm>,
}

/// What a warm device keeps between scenes.
#[derive(Default)]
pub(crate) struct Warm {
    groups: Memory<String, wgpu::BindGroupLayout>,
    layouts: Memory<Vec<Option<wgpu::BindGroupLayout>>, wgpu::PipelineLayout>,
    modules: Memory<String, wgpu::ShaderModule>,
    pipelines: Memory<PipelineKey, wgpu::RenderPipeline>,
    pub(crate) images: Mutex<KeptImages>,
    pub(crate) light: Mutex<WarmLight>,
}

/// Everything that distinguishes pipelines: layout, shaders, and the state as its `Debug` form shows it.
type PipelineKey = (Option<wgpu::PipelineLayout>, wgpu::ShaderModule, Option<wgpu::ShaderModule>, String);

impl Device {
    pub(crate) fn new(inner: wgpu::Device) -> Self {
        Self { inner, warm: None }
    }

    /// Starts to keep what is compiled and uploaded.
    pub(crate) fn keep(&mut self) {
        self.warm.get_or_insert_default();
    }

    /// Returns what is kept; `None` if the device is not warm.
    pub(crate) fn warm(&self) -> Option<&Warm> {
        self.warm.as_ref()
    }

    pub(crate) fn create_bind_group_layout(
        &self,
        descriptor: &wgpu::BindGroupLayoutDescriptor<'_>,
    ) -> wgpu::BindGroupLayout {
        let make = || self.inner.create_bind_group_layout(descriptor);
        self.warm.as_ref().map_or_else(make, |warm| warm.groups.get(format!("{:?}", descriptor.entries), make))
    }

    pub(crate) fn create_pipeline_layout(
        &self,
        descriptor: &wgpu::PipelineLayoutDescriptor<'_>,
    ) -> wgpu::PipelineLayout {
        let make = || self.inner.create_pipeline_layout(descriptor);
        let key = || descriptor.bind_group_layouts.iter().map(|group| group.cloned()).collect();
        self.warm.as_ref().map_or_else(make, |warm| warm.layouts.get(key(), make))
    }

    pub(crate) fn create_shader_module(&self, descriptor: wgpu::ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
        match (&self.warm, &descriptor.source) {
            (Some(warm), wgpu::ShaderSource::Wgsl(source)) => {
                let key = source.clone().into_owned();
                warm.modules.get(key, || self.inner.create_shader_module(descriptor))
            }
            _ => self.inner.create_shader_module(descriptor),
        }
    }

    pub(crate) fn create_render_pipeline(
        &self,
        descriptor: &wgpu::RenderPipelineDescriptor<'_>,
    ) -> wgpu::RenderPipeline {
        let make = || self.inner.create_render_pipeline(descriptor);
        self.warm.as_ref().map_or_else(make, |warm| warm.pipelines.get(pipeline_key(descriptor), make))
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

/// Results by what they were made from.
struct Memory<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    /// Returns the result for a key, or makes it. Several threads may make different results at the same time.
    fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let made = make();
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() >= MOST {
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
        let memory: Memory<usize, usize> = Memory::default();
        assert_eq!((memory.get(1, || 10), memory.get(1, || 11), memory.get(2, || 12)), (10, 10, 12));
        for key in 0..2 * MOST {
            memory.get(key, || 0);
        }
        assert!(memory.0.lock().unwrap().len() <= MOST);
    }
}
