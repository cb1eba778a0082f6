//! Draws the normal and the distance of the nearest surface of each pixel.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, GEOMETRY_FORMAT, PerBatch, PipelineBase, Precision, geometry_pipelines};
use crate::targets::texture;
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::{Model, Pool};

/// Render targets for the nearest surface of each pixel in the model's region.
pub(crate) struct GeometryTargets {
    /// Texture with the normal and the distance.
    pub(crate) surface: wgpu::Texture,
    pub(crate) view: wgpu::TextureView,
    pub(crate) depth: wgpu::TextureView,
    pub(crate) pipelines: PerBatch,
    /// For each pool, the bind group with which shaders read its triangles. `None` if exact values are not needed.
    pub(crate) triangles: Option<Vec<wgpu::BindGroup>>,
}

/// Creates the layout of bind group 1 for reading triangles: their corners and their pose.
pub(crate) fn triangles_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "triangles", &[bindings::storage(0), bindings::storage(1)])
}

impl GeometryTargets {
    /// Creates the render targets.
    /// Errors: if the driver rejects a shader or a pipeline.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        part: Region,
        (model, materials): (Model<'_>, &[MaterialOnGpu]),
        precision: Precision,
    ) -> Result<Self, RenderError> {
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let read = attachment | wgpu::TextureUsages::COPY_SRC | wgpu::TextureUsages::TEXTURE_BINDING;
        let surface = texture(base.gpu, part, 1, GEOMETRY_FORMAT, read, 1);
        let depth = texture(base.gpu, part, 1, DEPTH_FORMAT, attachment, 1);
        let triangles = |pool: &Pool| {
            let resources = [pool.packed_corners.as_entire_binding(), pool.pose.as_entire_binding()];
            bindings::group(&base.gpu.device, "triangles", base.triangles_layout, &resources)
        };
        let triangles = (precision == Precision::Exact).then(|| model.pools.iter().map(triangles).collect());
        Ok(Self {
            view: surface.create_view(&wgpu::TextureViewDescriptor::default()),
            surface,
            depth: depth.create_view(&wgpu::TextureViewDescriptor::default()),
            pipelines: geometry_pipelines(base, model.batches, materials, precision)?,
            triangles,
        })
    }
}
