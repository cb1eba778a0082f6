//! The passes of one frame, in order, readable as a list.
//!
//! Once per pose: shadow maps, the floor's shadow.
//! Every frame: which triangle each sample shows → surfaces of each pixel → their colours → (what is behind glass) →
//! transmissive and blended surfaces, farthest first → resolve → backdrop, floor, model.

use plinth_frame::Region;

use crate::RenderError;
use crate::pass::behind::far_side_pass;
use crate::pass::shadow_map::ShadowMap;
use crate::pass::visibility::{SURFACES, joined, scissor};
use crate::pass::{cleared, depth_target, kept};
use crate::pipelines::{DepthView, Side};
use crate::recorder::Recorder;
use crate::renderer::Renderer;
use crate::upload::geometry::Batch;
use crate::upload::material::{DrawClass, MaterialOnGpu};

/// How often glass may look at what is behind it in one frame.
const MAX_LOOKS_BEHIND: usize = 8;

impl Renderer<'_> {
    /// Shadow maps and the floor's shadow.
    pub(crate) fn encode_shadows(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        if self.switches.key_shadow {
            self.encode_shadow_map(recorder, DepthView::Key)?;
        }
        if self.switches.sun {
            self.encode_shadow_map(recorder, DepthView::Sun)?;
        }
        if let Some(floor) = &self.floor {
            floor.gather(recorder, &self.frame_group);
        }
        Ok(())
    }

    fn encode_shadow_map(&mut self, recorder: &mut Recorder<'_>, view: DepthView) -> Result<(), RenderError> {
        // The maps being written must not be bound, so this pass binds the frame without them.
        let map: &ShadowMap = if view == DepthView::Key { &self.key_map } else { &self.sun_map };
        let mut pass = recorder.pass(
            "shadow map",
            &self.frame_group_without_maps,
            &[],
            Some(depth_target(&map.view, Some(1.0), true)),
        );
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for batch in &self.batches {
            let material = &self.materials[batch.material];
            if material.shadowless {
                continue;
            }
            pass.set_pipeline(self.pipelines.depth(&base, view, material.cut.as_ref())?);
            draw(&mut pass, batch, material, 0);
        }
        Ok(())
    }

    /// Everything of one frame up to the finished picture.
    pub(crate) fn encode_frame(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        self.encode_visibility(recorder)?;
        self.classify.run(recorder, &self.frame_group, &self.targets);
        self.encode_shading(recorder)?;
        let layered = self.layered_part();
        if let Some(part) = layered {
            self.encode_layered(recorder, part)?;
        }
        // Seen from below, the floor would hide the model.
        let floor = self.floor.as_ref().filter(|_| self.floor_is_seen);
        let behind = (&self.scenery, floor);
        self.composite.run(recorder, &self.frame_group, behind, layered, &self.targets.finished_view);
        Ok(())
    }

    /// Batches that nothing is seen through, in drawing order.
    fn solid(&self) -> Vec<usize> {
        self.order
            .iter()
            .copied()
            .filter(|i| !self.materials[self.batches[*i].material].key.class.is_layered())
            .collect()
    }

    fn encode_visibility(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        let mut pass = recorder.pass(
            "visibility",
            &self.frame_group,
            &[cleared(&self.targets.triangles)],
            Some(depth_target(&self.targets.depth, Some(1.0), true)),
        );
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for i in self.solid() {
            let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
            pass.set_pipeline(self.pipelines.visibility(&base, material)?);
            draw(&mut pass, batch, material, batch.first_triangle);
        }
        Ok(())
    }

    fn encode_shading(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        let size = self.look.model_region;
        for k in 0..SURFACES {
            let mut pass = recorder.pass(
                "shade",
                &self.frame_group,
                &[cleared(&self.targets.colors[k])],
                Some(depth_target(&self.targets.batches[k], None, false)),
            );
            for i in self.solid() {
                let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
                let bounds = self.grown(batch.bounds);
                let Some(part) = scissor(&self.clip_from_world, bounds, size.width, size.height) else { continue };
                pass.set_pipeline(self.pipelines.shade(&base, material)?);
                pass.set_bind_group(1, self.classify.shade_group(i, k), &[]);
                pass.set_bind_group(2, &material.group, &[]);
                pass.set_scissor_rect(part.x, part.y, part.width, part.height);
                pass.draw(0..3, 0..1);
            }
        }
        Ok(())
    }

    /// The part of the model's picture in which something is seen through.
    fn layered_part(&self) -> Option<Region> {
        let size = self.look.model_region;
        let layered = |batch: &&Batch| self.materials[batch.material].key.class.is_layered();
        self.batches
            .iter()
            .filter(layered)
            .filter_map(|batch| scissor(&self.clip_from_world, self.grown(batch.bounds), size.width, size.height))
            .reduce(joined)
    }

    /// Layered batches in the groups that are drawn between two looks at what is behind: a glass body that refracts
    /// sees the glass behind it.
    fn layered_groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        let class = |i: usize| self.materials[self.batches[i].material].key.class;
        let layered: Vec<usize> = self.order.iter().copied().filter(|i| class(*i).is_layered()).collect();
        let glass = layered.iter().filter(|i| class(**i) == DrawClass::Transmissive).count();
        let mut seen = 0;
        for i in layered {
            if class(i) == DrawClass::Transmissive {
                seen += 1;
                // The farthest of very many share one look.
                if glass - seen < MAX_LOOKS_BEHIND && groups.last().is_some_and(|group| !group.is_empty()) {
                    groups.push(Vec::new());
                }
            }
            if let Some(group) = groups.last_mut() {
                group.push(i);
            }
        }
        groups
    }

    fn encode_layered(&mut self, recorder: &mut Recorder<'_>, part: Region) -> Result<(), RenderError> {
        for (k, group) in self.layered_groups().into_iter().enumerate() {
            if let (Some(behind), Some(target)) = (&self.behind, &self.targets.behind) {
                if k == 0 {
                    behind.capture_opaque(recorder, &self.frame_group);
                } else {
                    behind.capture_drawn(recorder, &self.frame_group);
                }
                let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
                let mut pass = far_side_pass(recorder, &self.frame_group, target);
                pass.set_pipeline(self.pipelines.far_side(&base)?);
                for i in group.iter().filter(|i| self.materials[self.batches[**i].material].refracts) {
                    let batch = &self.batches[*i];
                    pass.set_vertex_buffer(0, batch.pose.slice(..));
                    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
                    pass.draw_indexed(0..batch.index_count, 0, 0..1);
                }
            }
            self.encode_layered_group(recorder, part, &group, k == 0)?;
        }
        Ok(())
    }

    fn encode_layered_group(
        &mut self,
        recorder: &mut Recorder<'_>,
        part: Region,
        group: &[usize],
        first: bool,
    ) -> Result<(), RenderError> {
        let (Some(samples), Some(spread)) = (&self.targets.layered, &self.spread) else { return Ok(()) };
        let color = if first { cleared(samples) } else { kept(samples) };
        let depth = depth_target(&self.targets.depth, None, true);
        let mut pass = recorder.pass("layered", &self.frame_group, &[color], Some(depth));
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        if first {
            spread.draw(&mut pass);
        }
        if let Some(behind) = &self.behind {
            pass.set_bind_group(1, &behind.group, &[]);
        }
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.look, self.switches);
        for i in group {
            let (batch, material) = (&self.batches[*i], &self.materials[self.batches[*i].material]);
            let side =
                if self.closed[*i] && material.key.class == DrawClass::Blended { Side::Both } else { Side::Material };
            pass.set_pipeline(self.pipelines.layered(&base, material, side)?);
            draw_surface(&mut pass, batch, material);
        }
        Ok(())
    }
}

/// Draws positions, and what a cut reads.
pub(crate) fn draw(pass: &mut wgpu::RenderPass<'_>, batch: &Batch, material: &MaterialOnGpu, instance: u32) {
    if let Some(cut) = &material.cut {
        pass.set_bind_group(2, &cut.group, &[]);
        pass.set_vertex_buffer(1, batch.surface.slice(..));
    }
    pass.set_vertex_buffer(0, batch.pose.slice(..));
    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..batch.index_count, 0, instance..instance + 1);
}

/// Draws with everything a surface is shaded by.
fn draw_surface(pass: &mut wgpu::RenderPass<'_>, batch: &Batch, material: &MaterialOnGpu) {
    pass.set_bind_group(2, &material.group, &[]);
    pass.set_vertex_buffer(0, batch.pose.slice(..));
    pass.set_vertex_buffer(1, batch.surface.slice(..));
    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..batch.index_count, 0, 0..1);
}
