//! Normal and distance of the first surface of each pixel.

use plinth_frame::Region;

use super::sprites::draw_sprites;
use super::{cleared, depth_target};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, GEOMETRY_FORMAT, Precision, SpritePass};
use crate::recorder::Recorder;
use crate::renderer::{Renderer, pipeline_base};
use crate::targets::texture;
use crate::upload::geometry::Batch;

/// Targets of the first surface of each pixel of the model's part.
pub(crate) struct GeometryTargets {
    /// Normal and distance.
    pub(crate) surface: wgpu::Texture,
    pub(crate) view: wgpu::TextureView,
    depth: wgpu::TextureView,
    /// For each batch its triangles, where surfaces are to lie exactly on them.
    triangles: Option<Vec<wgpu::BindGroup>>,
}

/// Group 1 where triangles are fetched: corners and pose.
pub(crate) fn triangles_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "triangles", &[bindings::storage(0), bindings::storage(1)])
}

impl GeometryTargets {
    pub(crate) fn new(gpu: &Gpu, part: Region) -> Self {
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let read = attachment | wgpu::TextureUsages::COPY_SRC | wgpu::TextureUsages::TEXTURE_BINDING;
        let surface = texture(gpu, part, 1, GEOMETRY_FORMAT, read, 1);
        let depth = texture(gpu, part, 1, DEPTH_FORMAT, attachment, 1);
        Self {
            view: surface.create_view(&wgpu::TextureViewDescriptor::default()),
            surface,
            depth: depth.create_view(&wgpu::TextureViewDescriptor::default()),
            triangles: None,
        }
    }

    /// The same, with surfaces exactly on the triangles of these batches.
    pub(crate) fn exact(gpu: &Gpu, part: Region, layout: &wgpu::BindGroupLayout, batches: &[Batch]) -> Self {
        let triangles = |batch: &Batch| {
            let resources = [batch.indices.as_entire_binding(), batch.pose.as_entire_binding()];
            bindings::group(&gpu.device, "triangles", layout, &resources)
        };
        Self { triangles: Some(batches.iter().map(triangles).collect()), ..Self::new(gpu, part) }
    }
}

impl Renderer<'_> {
    /// Notes the first surface of each pixel, at its middle.
    pub(crate) fn encode_geometry(
        &mut self,
        recorder: &mut Recorder<'_>,
        targets: &GeometryTargets,
    ) -> Result<(), RenderError> {
        let depth = depth_target(&targets.depth, Some(1.0), false);
        let mut pass = recorder.pass("geometry", &self.view.frame_group, &[cleared(&targets.view)], Some(depth));
        let base = pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
        let precision = if targets.triangles.is_some() { Precision::Exact } else { Precision::Interpolated };
        for (i, batch) in self.batches.iter().enumerate() {
            let material = &self.materials[batch.material];
            if material.overlay {
                continue;
            }
            if draw_sprites(&mut pass, (&mut self.pipelines, &base), SpritePass::Geometry, batch, material)? {
                continue;
            }
            pass.set_pipeline(self.pipelines.geometry(&base, material, precision)?);
            if let Some(triangles) = &targets.triangles {
                pass.set_bind_group(1, &triangles[i], &[]);
            }
            crate::frame_plan::draw(&mut pass, batch, material, 0);
        }
        Ok(())
    }
}
