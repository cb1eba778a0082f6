//! Adapts composed shaders to a device.

use super::flat_uniforms::with_flat_uniforms;
use super::word_types;
use crate::gpu::Gpu;

/// The properties of a device on which the text of shaders depends.
#[derive(Clone, Copy)]
pub(crate) struct ShaderTarget {
    pub(crate) has_int64: bool,
    /// Maximum number of vertex outputs, if uniforms are passed to the fragment stage as vertex outputs. `None` for
    /// graphics cards, which read uniforms faster.
    pub(crate) flat_outputs: Option<usize>,
}

impl ShaderTarget {
    pub(crate) fn of(gpu: &Gpu) -> Self {
        let outputs = gpu.device.limits().max_inter_stage_shader_variables;
        Self {
            has_int64: gpu.device.features().contains(wgpu::Features::SHADER_INT64),
            flat_outputs: gpu.is_software().then_some(outputs as usize),
        }
    }

    /// Returns the text of a composed shader for this device.
    pub(crate) fn adapt(self, source: &str) -> String {
        let source = [source, word_types::declarations(self.has_int64)].concat();
        match self.flat_outputs {
            Some(limit) => with_flat_uniforms(&source, limit),
            None => source,
        }
    }
}
