//! Pipelines of passes that cover their whole render target.

use super::shader;
use crate::RenderError;
use crate::gpu::Gpu;
use crate::shader::compose;

/// Blend state that adds the drawn colour to the existing colour.
pub(crate) const ADDED: wgpu::BlendState = wgpu::BlendState { color: SUM, alpha: SUM };
const SUM: wgpu::BlendComponent = wgpu::BlendComponent {
    src_factor: wgpu::BlendFactor::One,
    dst_factor: wgpu::BlendFactor::One,
    operation: wgpu::BlendOperation::Add,
};

/// A pass that covers its whole render target with one triangle and has no vertex buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullScreen<'a> {
    pub(crate) label: &'a str,
    pub(crate) path: &'a str,
    pub(crate) defines: &'a [&'a str],
    pub(crate) constants: &'a [(&'a str, f64)],
    pub(crate) groups: &'a [&'a wgpu::BindGroupLayout],
    pub(crate) target: FullScreenTarget<'a>,
}

/// The render targets of a full-screen pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullScreenTarget<'a> {
    pub(crate) colors: &'a [wgpu::TextureFormat],
    pub(crate) blend: Option<wgpu::BlendState>,
    /// Format of the depth target if the pass writes depth, and the comparison that selects the pixels to draw.
    pub(crate) depth: Option<(wgpu::TextureFormat, wgpu::CompareFunction)>,
    /// Format of the depth target if the pass only reads depth, and the comparison that selects the pixels to draw.
    pub(crate) over: Option<(wgpu::TextureFormat, wgpu::CompareFunction)>,
    /// Number of samples per pixel. The value 0 means 1.
    pub(crate) samples: u32,
}

/// Creates the pipeline of a full-screen pass.
pub(crate) fn full_screen(gpu: &Gpu, pass: &FullScreen<'_>) -> Result<wgpu::RenderPipeline, RenderError> {
    let defines = pass.defines.iter().map(|d| (*d).to_owned()).collect();
    let module = shader(gpu, pass.label, &compose(pass.path, &defines, &[])?)?;
    let groups: Vec<_> = pass.groups.iter().map(|g| Some(*g)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(pass.label),
        bind_group_layouts: &groups,
        immediate_size: 0,
    });
    let target = pass.target;
    let depth = target.depth.or(target.over);
    let colors: Vec<_> = target
        .colors
        .iter()
        .map(|format| {
            Some(wgpu::ColorTargetState { format: *format, blend: target.blend, write_mask: wgpu::ColorWrites::ALL })
        })
        .collect();
    Ok(gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(pass.label),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: depth.map(|(format, compare)| wgpu::DepthStencilState {
            format,
            depth_write_enabled: Some(target.depth.is_some()),
            depth_compare: Some(compare),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState { count: target.samples.max(1), ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: pass.constants, ..Default::default() },
            targets: &colors,
        }),
        multiview_mask: None,
        cache: None,
    }))
}
