//! The passes of one frame, in order, readable as a list.
//!
//! Once per pose: shadow maps, the floor's shadow.
//! Every frame: depth prepass → opaque surfaces → (what is behind glass) → transmissive and blended surfaces, farthest
//! first → resolve → backdrop, floor, model.

use crate::RenderError;
use crate::pass::shadow_map::ShadowMap;
use crate::pipelines::{DepthView, Side};
use crate::renderer::Renderer;
use crate::upload::geometry::Batch;
use crate::upload::material::{DrawClass, MaterialOnGpu};

impl Renderer<'_> {
    /// Shadow maps and the floor's shadow.
    pub(crate) fn encode_shadows(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), RenderError> {
        if self.switches.key_shadow {
            self.encode_shadow_map(encoder, DepthView::Key)?;
        }
        if self.switches.sun {
            self.encode_shadow_map(encoder, DepthView::Sun)?;
        }
        if let Some(floor) = &self.floor {
            floor.gather(encoder, &self.frame_group);
        }
        Ok(())
    }

    fn encode_shadow_map(&mut self, encoder: &mut wgpu::CommandEncoder, view: DepthView) -> Result<(), RenderError> {
        // The maps being written must not be bound, so this pass binds the frame without them.
        let map: &ShadowMap = if view == DepthView::Key { &self.key_map } else { &self.sun_map };
        let mut pass = encoder.begin_render_pass(&depth_only(&map.view));
        pass.set_bind_group(0, &self.frame_group_without_maps, &[]);
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for batch in &self.batches {
            let material = &self.materials[batch.material];
            if material.shadowless {
                continue;
            }
            let pipeline = self.pipelines.depth(&base, view, material.cut.as_ref(), true)?;
            pass.set_pipeline(pipeline);
            draw_depth(&mut pass, batch, material);
        }
        Ok(())
    }

    /// Everything of one frame up to the finished picture.
    pub(crate) fn encode_frame(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), RenderError> {
        self.encode_prepass(encoder)?;
        self.encode_opaque(encoder)?;
        if let Some(behind) = &self.behind {
            behind.capture(encoder, &self.frame_group);
        }
        if self.has_layered() {
            self.encode_layered(encoder)?;
        }
        // Seen from below, the floor would hide the model.
        let floor = self.floor.as_ref().filter(|_| self.floor_is_seen);
        self.composite.run(encoder, &self.frame_group, floor, &self.targets.finished_view);
        Ok(())
    }

    /// Batches of a class, in drawing order.
    fn of_class(&self, class: DrawClass) -> Vec<usize> {
        let is = |i: &usize| self.materials[self.batches[*i].material].key.class == class;
        self.order.iter().copied().filter(is).collect()
    }

    /// Whether anything is drawn after the opaque part.
    fn has_layered(&self) -> bool {
        self.order.iter().any(|i| is_layered(&self.materials[self.batches[*i].material]))
    }

    /// Depth of opaque surfaces, so that each pixel is shaded once.
    fn encode_prepass(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), RenderError> {
        let mut pass = encoder.begin_render_pass(&depth_only(&self.targets.depth));
        pass.set_bind_group(0, &self.frame_group, &[]);
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for i in self.of_class(DrawClass::Opaque) {
            let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
            pass.set_pipeline(self.pipelines.depth(&base, DepthView::Camera, None, material.key.double_sided)?);
            draw_depth(&mut pass, batch, material);
        }
        Ok(())
    }

    fn encode_opaque(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), RenderError> {
        let last = !self.has_layered();
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("opaque"),
            color_attachments: &[Some(self.color_attachment(true, last))],
            depth_stencil_attachment: Some(depth_attachment(&self.targets.depth, false, !last)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.frame_group, &[]);
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        let masked = self.of_class(DrawClass::Masked);
        for i in self.of_class(DrawClass::Opaque).into_iter().chain(masked) {
            let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
            pass.set_pipeline(self.pipelines.surface(&base, material, Side::Material)?);
            draw_surface(&mut pass, batch, material);
        }
        Ok(())
    }

    fn encode_layered(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), RenderError> {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("layered"),
            color_attachments: &[Some(self.color_attachment(false, true))],
            depth_stencil_attachment: Some(depth_attachment(&self.targets.depth, false, false)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.frame_group, &[]);
        if let Some(behind) = &self.behind {
            pass.set_bind_group(1, &behind.group, &[]);
        }
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for i in &self.order {
            let (batch, material) = (&self.batches[*i], &self.materials[self.batches[*i].material]);
            if !is_layered(material) {
                continue;
            }
            let side =
                if self.closed[*i] && material.key.class == DrawClass::Blended { Side::Both } else { Side::Material };
            pass.set_pipeline(self.pipelines.surface(&base, material, side)?);
            draw_surface(&mut pass, batch, material);
        }
        Ok(())
    }

    fn color_attachment(&self, clear: bool, resolve: bool) -> wgpu::RenderPassColorAttachment<'_> {
        let resolved = self.targets.resolved.as_ref().filter(|_| resolve);
        wgpu::RenderPassColorAttachment {
            view: &self.targets.color,
            depth_slice: None,
            resolve_target: resolved,
            ops: wgpu::Operations {
                load: if clear { wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT) } else { wgpu::LoadOp::Load },
                store: if resolved.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store },
            },
        }
    }
}

fn is_layered(material: &MaterialOnGpu) -> bool {
    matches!(material.key.class, DrawClass::Transmissive | DrawClass::Blended)
}

fn depth_only(view: &wgpu::TextureView) -> wgpu::RenderPassDescriptor<'_> {
    wgpu::RenderPassDescriptor {
        label: Some("depth"),
        depth_stencil_attachment: Some(depth_attachment(view, true, true)),
        ..Default::default()
    }
}

fn depth_attachment(view: &wgpu::TextureView, clear: bool, keep: bool) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations {
            load: if clear { wgpu::LoadOp::Clear(1.0) } else { wgpu::LoadOp::Load },
            store: if keep { wgpu::StoreOp::Store } else { wgpu::StoreOp::Discard },
        }),
        stencil_ops: None,
    }
}

fn draw_depth(pass: &mut wgpu::RenderPass<'_>, batch: &Batch, material: &MaterialOnGpu) {
    if let Some(cut) = &material.cut {
        pass.set_bind_group(2, &cut.group, &[]);
        pass.set_vertex_buffer(1, batch.surface.slice(..));
    }
    pass.set_vertex_buffer(0, batch.pose.slice(..));
    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..batch.index_count, 0, 0..1);
}

fn draw_surface(pass: &mut wgpu::RenderPass<'_>, batch: &Batch, material: &MaterialOnGpu) {
    pass.set_bind_group(2, &material.group, &[]);
    pass.set_vertex_buffer(0, batch.pose.slice(..));
    pass.set_vertex_buffer(1, batch.surface.slice(..));
    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..batch.index_count, 0, 0..1);
}
