//! Compute pipelines, which only graphics cards run.

use crate::RenderError;
use crate::bindings::{self, for_compute};
use crate::gpu::Gpu;
use crate::pipelines::shader;
use crate::shader::compose;

/// A compute pipeline, and the layout of the bind group that it does not share with other pipelines.
pub(crate) struct Kernel {
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) pipeline: wgpu::ComputePipeline,
}

impl Kernel {
    /// Creates the pipeline of a compute shader. `first` is the layout of bind group 0 if the pipeline shares it with others.
    /// `entries` are those of the next bind group, which is left out if it would be empty.
    /// Errors: if the driver rejects the shader.
    pub(crate) fn new(
        gpu: &Gpu,
        path: &str,
        defines: &[&str],
        first: Option<&wgpu::BindGroupLayout>,
        entries: &[wgpu::BindGroupLayoutEntry],
    ) -> Result<Self, RenderError> {
        let defines = defines.iter().map(|define| (*define).to_owned()).collect();
        let module = shader(gpu, path, &compose(path, &defines, &[])?)?;
        let layout = layout(gpu, entries);
        let own = Some(&layout).filter(|_layout| !entries.is_empty());
        let groups: Vec<_> = first.into_iter().chain(own).map(Some).collect();
        let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(path),
            bind_group_layouts: &groups,
            immediate_size: 0,
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(path),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("cs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Ok(Self { layout, pipeline })
    }
}

/// Number of invocations of a workgroup (`workgroup_size` in the shaders).
pub(crate) const WORKGROUP: u32 = 256;
/// Maximum number of workgroups in a row that all adapters support.
const MAX_GROUPS: u32 = 65_535;

/// Starts `count` invocations. Some more invocations may start, because workgroups and rows are whole.
pub(crate) fn dispatch(pass: &mut wgpu::ComputePass<'_>, count: u32) {
    let groups = count.div_ceil(WORKGROUP);
    if groups > 0 {
        let rows = groups.div_ceil(MAX_GROUPS);
        pass.dispatch_workgroups(groups.div_ceil(rows), rows, 1);
    }
}

/// Creates a bind group layout for compute shaders.
pub(crate) fn layout(gpu: &Gpu, entries: &[wgpu::BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = entries.iter().copied().map(for_compute).collect();
    bindings::layout(&gpu.device, "compute", &entries)
}
