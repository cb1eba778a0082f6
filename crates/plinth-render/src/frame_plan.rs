//! The passes of one frame, in order, readable as a list.
//!
//! Once per pose: shadow maps, the floor's shadow.
//! Every frame (and before it what a mirroring floor shows, in the same way): which triangle each sample shows → surfaces
//! of each pixel → backdrop, floor → their colours → (blur of the lens) → filter, vignette, grain. Where something is seen
//! through, glows, or is mirrored by the floor: … → surfaces of each pixel → their colours → (what is behind glass) →
//! transmissive and blended surfaces, farthest first → resolve → backdrop, floor, model → (blur, glow) → filter, ….

use plinth_frame::Region;

use crate::RenderError;
use crate::pass::behind::far_side_pass;
use crate::pass::composite::ModelParts;
use crate::pass::sprites::draw_sprites;
use crate::pass::visibility::{SURFACES, joined, overlap, scissor};
use crate::pass::{cleared, depth_target, kept};
use crate::pipelines::{DepthView, Side, SpritePass};
use crate::recorder::Recorder;
use crate::region::widened;
use crate::renderer::Renderer;
use crate::upload::geometry::Batch;
use crate::upload::material::{DrawClass, MaterialOnGpu};

/// How often glass may look at what is behind it in one frame.
const MAX_LOOKS_BEHIND: usize = 8;

impl Renderer<'_> {
    /// Shadow maps and the floor's shadow.
    pub(crate) fn encode_shadows(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        // The maps being written must not be bound, so these passes bind the frame without them.
        let frame = self.view.frame_group_without_maps.clone();
        if self.switches.key_shadow {
            let map = self.key_map.view.clone();
            self.encode_shadow_map(recorder, &frame, &map, DepthView::Key)?;
        }
        if self.switches.sun {
            let map = self.sun_map.view.clone();
            self.encode_shadow_map(recorder, &frame, &map, DepthView::Sun)?;
        }
        let Some(floor) = self.floor.take() else { return Ok(()) };
        if let Some(accumulated) = &floor.accumulated {
            for (i, view) in accumulated.views().enumerate() {
                self.encode_shadow_map(recorder, view, &accumulated.map, DepthView::Key)?;
                accumulated.add(recorder, view, i == 0);
            }
        }
        floor.gather(recorder, &self.view.frame_group);
        self.floor = Some(floor);
        Ok(())
    }

    fn encode_shadow_map(
        &mut self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        map: &wgpu::TextureView,
        view: DepthView,
    ) -> Result<(), RenderError> {
        let mut pass = recorder.pass("shadow map", frame, &[], Some(depth_target(map, Some(1.0), true)));
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
        for batch in &self.batches {
            let material = &self.materials[batch.material];
            if material.shadowless {
                continue;
            }
            if draw_sprites(&mut pass, (&mut self.pipelines, &base), SpritePass::Shadow(view), batch, material)? {
                continue;
            }
            pass.set_pipeline(self.pipelines.depth(&base, view, material.cut.as_ref())?);
            draw(&mut pass, batch, material, 0);
        }
        Ok(())
    }

    /// Everything of one frame up to the finished picture.
    pub(crate) fn encode_frame(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        // Seen from below, the floor would hide the model.
        if self.floor_is_seen {
            self.encode_reflection(recorder)?;
        }
        let direct = self.view.look.direct;
        let model = if direct { ModelParts::default() } else { self.encode_surfaces(recorder)? };
        let floor = self.floor.as_ref().filter(|_| self.floor_is_seen);
        let reflection = self.reflection.as_ref().filter(|_| self.floor_is_seen);
        let finished = &self.view.targets.finished_view;
        let picture = self.post.as_ref().map_or(finished, |post| &post.picture);
        let behind = (Some(&self.scenery), floor, reflection);
        self.composite.run(recorder, &self.view.frame_group, behind, model, picture);
        if direct {
            let picture = picture.clone();
            self.encode_visibility(recorder)?;
            self.encode_shading(recorder, [kept(&picture), kept(&picture)])?;
        }
        self.encode_post(recorder)
    }

    /// The model as the current view shows it: surfaces, and what is seen through. Returns where they are.
    fn encode_surfaces(&mut self, recorder: &mut Recorder<'_>) -> Result<ModelParts, RenderError> {
        let solid = self.encode_visibility(recorder)?;
        if let Some([first, second]) = self.view.targets.colors.clone() {
            self.encode_shading(recorder, [cleared(&first), cleared(&second)])?;
        }
        let layered = self.layered_part();
        if let Some(part) = layered {
            self.encode_layered(recorder, part)?;
        }
        Ok(ModelParts { solid, layered })
    }

    /// The model as the floor mirrors it.
    fn encode_reflection(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        let Some(mut reflection) = self.reflection.take() else { return Ok(()) };
        std::mem::swap(&mut self.view, &mut reflection.view);
        let model = self.encode_surfaces(recorder);
        std::mem::swap(&mut self.view, &mut reflection.view);
        reflection.finish(recorder, model?);
        self.reflection = Some(reflection);
        Ok(())
    }

    /// What happens to the picture after it is put together.
    fn encode_post(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        let Some(post) = self.post.take() else { return Ok(()) };
        if let Some(surfaces) = &post.surfaces {
            self.encode_geometry(recorder, &surfaces.targets)?;
        }
        post.run(recorder, &self.view.frame_group, &self.view.targets);
        self.post = Some(post);
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

    /// The part of the canvas in which a batch is seen.
    fn part_of(&self, batch: &Batch) -> Option<Region> {
        let look = &self.view.look;
        let (width, height) = (look.model_region.width, look.model_region.height);
        let mut part = scissor(&self.view.clip_from_world, self.grown(batch.bounds), width, height)?;
        if batch.sprites.is_some() {
            part = widened(part, self.sprite_reach, width, height);
        }
        let [x, y] = look.origin();
        Some(Region { x: part.x + x, y: part.y + y, ..part })
    }

    /// Which surfaces are seen. Returns the part of the canvas that they are in.
    fn encode_visibility(&mut self, recorder: &mut Recorder<'_>) -> Result<Option<Region>, RenderError> {
        self.encode_triangles(recorder)?;
        let part = self.solid().into_iter().filter_map(|i| self.part_of(&self.batches[i])).reduce(joined);
        self.view.classify.run(recorder, &self.view.frame_group, &self.view.targets, part);
        Ok(part)
    }

    fn encode_triangles(&mut self, recorder: &mut Recorder<'_>) -> Result<(), RenderError> {
        let mut pass = recorder.pass(
            "visibility",
            &self.view.frame_group,
            &[cleared(&self.view.targets.triangles)],
            Some(depth_target(&self.view.targets.depth, Some(1.0), true)),
        );
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
        for i in self.solid() {
            let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
            if draw_sprites(&mut pass, (&mut self.pipelines, &base), SpritePass::Visibility, batch, material)? {
                continue;
            }
            pass.set_pipeline(self.pipelines.visibility(&base, material)?);
            draw(&mut pass, batch, material, batch.first_triangle);
        }
        Ok(())
    }

    /// Shades both surfaces of each pixel, each into its target.
    fn encode_shading(
        &mut self,
        recorder: &mut Recorder<'_>,
        colors: [wgpu::RenderPassColorAttachment<'_>; SURFACES],
    ) -> Result<(), RenderError> {
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
        for (k, color) in colors.into_iter().enumerate() {
            let mut pass = recorder.pass(
                "shade",
                &self.view.frame_group,
                &[color],
                Some(depth_target(&self.view.targets.batches[k], None, false)),
            );
            for i in self.solid() {
                let (batch, material) = (&self.batches[i], &self.materials[self.batches[i].material]);
                let Some(part) = self.part_of(batch) else { continue };
                pass.set_pipeline(self.pipelines.shade(&base, material)?);
                pass.set_bind_group(1, self.view.classify.shade_group(i, k), &[]);
                pass.set_bind_group(2, &material.group, &[]);
                pass.set_bind_group(3, &batch.light, &[]);
                pass.set_scissor_rect(part.x, part.y, part.width, part.height);
                pass.draw(0..3, 0..1);
            }
        }
        Ok(())
    }

    /// The part of the model's picture in which something is seen through.
    fn layered_part(&self) -> Option<Region> {
        let size = self.view.look.model_region;
        let layered = |batch: &&Batch| self.materials[batch.material].key.class.is_layered();
        self.batches
            .iter()
            .filter(layered)
            .filter_map(|batch| scissor(&self.view.clip_from_world, self.grown(batch.bounds), size.width, size.height))
            .reduce(joined)
    }

    /// Layered batches in the groups that are drawn between two looks at what is behind: a glass body that refracts
    /// sees the glass behind it. Bodies that are apart in the picture share a look.
    fn layered_groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        let class = |i: usize| self.materials[self.batches[i].material].key.class;
        let layered: Vec<usize> = self.order.iter().copied().filter(|i| class(*i).is_layered()).collect();
        let glass = layered.iter().filter(|i| class(**i) == DrawClass::Transmissive).count();
        let mut seen = 0;
        for i in layered {
            if class(i) == DrawClass::Transmissive {
                seen += 1;
                let overlaps = |j: &usize| match (self.part_of(&self.batches[i]), self.part_of(&self.batches[*j])) {
                    (Some(own), Some(other)) => overlap(own, other),
                    _ => false,
                };
                // The farthest of very many share one look.
                if glass - seen < MAX_LOOKS_BEHIND && groups.last().is_some_and(|group| group.iter().any(overlaps)) {
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
        // Where the group before was drawn.
        let mut drawn = None;
        for (k, group) in self.layered_groups().into_iter().enumerate() {
            if let (Some(behind), Some(target)) = (&self.view.behind, &self.view.targets.behind) {
                if k == 0 {
                    behind.capture_opaque(recorder, &self.view.frame_group);
                } else if let Some(drawn) = drawn {
                    behind.capture_drawn(recorder, &self.view.frame_group, drawn);
                }
                let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
                let mut pass = far_side_pass(recorder, &self.view.frame_group, target);
                pass.set_pipeline(self.pipelines.far_side(&base)?);
                for i in group.iter().filter(|i| self.materials[self.batches[**i].material].refracts) {
                    let batch = &self.batches[*i];
                    pass.set_vertex_buffer(0, batch.pose.slice(..));
                    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
                    pass.draw_indexed(0..batch.index_count, 0, 0..1);
                }
            }
            self.encode_layered_group(recorder, part, &group, k == 0)?;
            drawn = group.iter().filter_map(|i| self.part_of(&self.batches[*i])).reduce(joined);
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
        let (Some(samples), Some(spread)) = (&self.view.targets.layered, &self.view.spread) else { return Ok(()) };
        let color = if first { cleared(samples) } else { kept(samples) };
        let depth = depth_target(&self.view.targets.depth, None, true);
        let mut pass = recorder.pass("layered", &self.view.frame_group, &[color], Some(depth));
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        if first {
            spread.draw(&mut pass);
        }
        if let Some(behind) = &self.view.behind {
            pass.set_bind_group(1, &behind.group, &[]);
        }
        let base = crate::renderer::pipeline_base(self.gpu, &self.layouts, self.view.look, self.switches);
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
    pass.set_bind_group(3, &batch.light, &[]);
    pass.set_vertex_buffer(0, batch.pose.slice(..));
    pass.set_vertex_buffer(1, batch.surface.slice(..));
    pass.set_index_buffer(batch.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..batch.index_count, 0, 0..1);
}
