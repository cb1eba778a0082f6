//! Normal and distance of the first surface of each pixel.

use plinth_frame::Region;

use super::{cleared, depth_target};
use crate::RenderError;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, GEOMETRY_FORMAT};
use crate::recorder::Recorder;
use crate::renderer::{Renderer, pipeline_base};
use crate::targets::texture;

/// Targets of the first surface of each pixel of the model's part.
pub(crate) struct GeometryTargets {
    /// Normal and distance.
    pub(crate) surface: wgpu::Texture,
    pub(crate) view: wgpu::TextureView,
    depth: wgpu::TextureView,
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
        }
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
        for batch in self.batches.iter().filter(|batch| !self.materials[batch.material].overlay) {
            let material = &self.materials[batch.material];
            pass.set_pipeline(self.pipelines.geometry(&base, material)?);
            crate::frame_plan::draw(&mut pass, batch, material, 0);
        }
        Ok(())
    }
}
