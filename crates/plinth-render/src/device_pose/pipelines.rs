//! The compute pipelines that pose vertices.

use crate::RenderError;
use crate::bindings::{storage, uniform, written_storage};
use crate::compute::{Kernel, layout};
use crate::gpu::Gpu;

/// The pipelines of `pass/pose.wgsl`.
pub(super) struct PosePipelines {
    /// Layout of bind group 0.
    pub(super) common: wgpu::BindGroupLayout,
    pub(super) vertices: Kernel,
    pub(super) numbered: Kernel,
    pub(super) triangles: Kernel,
}

impl PosePipelines {
    /// Errors: if the driver rejects a shader.
    pub(super) fn new(gpu: &Gpu) -> Result<Self, RenderError> {
        let common = layout(gpu, &[uniform(0), storage(1), storage(2), written_storage(3)]);
        let kernel = |feature: &str, entries: &[wgpu::BindGroupLayoutEntry]| {
            Kernel::new(gpu, "pass/pose.wgsl", &[feature], Some(&common), entries)
        };
        let vertices = kernel("VERTICES", &[storage(0), storage(1), storage(2)])?;
        let numbered = kernel("NUMBERED", &[storage(0), written_storage(1)])?;
        let triangles = kernel("TRIANGLES", &[storage(0), written_storage(1)])?;
        Ok(Self { common, vertices, numbered, triangles })
    }
}
