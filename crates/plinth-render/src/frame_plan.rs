//! The list of passes that draw a frame, in order.
//!
//! Before the first frame, and after each change of the pose, the shadow maps and the shadow on the floor are drawn.
//! Each frame consists of these passes: visibility → surfaces of each pixel → backdrop and floor → shading → (depth of
//! field) → filter, vignette, grain. If there is a reflecting floor, the reflection is drawn first, with the same
//! passes and one more for the depth of blended surfaces.
//!
//! With transparency, bloom or a reflecting floor, the passes are: visibility → surfaces of each pixel → shading →
//! (scene colour pyramid, if there is glass) → transmissive and blended surfaces from back to front → resolve →
//! backdrop, floor, model → (depth of field, bloom) → filter, vignette, grain.
//! With a software driver and blended surfaces only in a part of the picture, other surfaces are shaded after the floor.
//!
//! With most models, software drivers do not run the first two passes (see `host_visibility.rs`).

use plinth_frame::Region;
use plinth_scene::Shot;

use crate::gpu::Gpu;
use crate::gpu_scene::GpuScene;
use crate::pass::around_blended::{AroundBlended, ShadedPixels};
use crate::pass::background::BackgroundPass;
use crate::pass::composite::{Composite, ModelParts, model_part};
use crate::pass::depth_draws::{Corners, DepthDraws};
use crate::pass::floor::Floor;
use crate::pass::geometry::GeometryTargets;
use crate::pass::post::Post;
use crate::pass::reflection::Reflection;
use crate::pass::scene_color::back_face_pass;
use crate::pass::shading::{ShadeCall, shade};
use crate::pass::visibility::{Classify, OutsideRegion, SURFACES, joined};
use crate::pass::{cleared, depth_target, kept};
use crate::recorder::Recorder;
use crate::view::View;

/// The camera's view of the model, and all other parts of a frame.
#[derive(Clone, Copy)]
pub(crate) struct FrameParts<'a> {
    pub(crate) view: &'a View,
    pub(crate) composite: &'a Composite,
    pub(crate) background: &'a BackgroundPass,
    /// `None` if the camera is below the floor, because the floor would hide the model.
    pub(crate) floor: Option<&'a Floor>,
    pub(crate) reflection: Option<&'a Reflection>,
    pub(crate) post: Option<&'a Post>,
}

/// Records the passes that draw a frame.
pub(crate) struct FramePlan<'a, 'r> {
    pub(crate) gpu_scene: &'a GpuScene,
    pub(crate) recorder: &'a mut Recorder<'r>,
}

impl FramePlan<'_, '_> {
    /// Draws the shadow maps, unless they have been drawn already, and the shadow on the floor.
    pub(crate) fn shadows(&mut self, gpu: &Gpu, shot: &Shot, view: &View, (floor, has_maps): (Option<&Floor>, bool)) {
        let gpu_scene = self.gpu_scene;
        let draws = gpu_scene.shadow_draws(gpu, shot);
        if !has_maps {
            let maps = [&gpu_scene.key_map, &gpu_scene.sun_map];
            draws.maps(self.recorder, &view.frame_group_without_maps, maps);
        }
        let Some(floor) = floor else { return };
        if let Some(accumulated) = &floor.accumulated {
            draws.accumulate(self.recorder, accumulated);
        }
        floor.gather(self.recorder, &view.frame_group);
    }

    /// Records all passes of a frame, up to the finished picture.
    pub(crate) fn frame(&mut self, parts: &FrameParts<'_>) {
        let FrameParts { view, floor, reflection, post, .. } = *parts;
        if let Some(reflection) = reflection {
            let model = self.surfaces(&reflection.view);
            if let Some(part) = model.transparent {
                self.blended_depth(reflection, part);
            }
            reflection.finish(self.recorder, model);
        }
        let direct = view.look.direct;
        let model = if direct { ModelParts::default() } else { self.surfaces(view) };
        let around = view.around_blended(model);
        let composited = ModelParts { solid: model.solid.filter(|_part| around.is_none()), ..model };
        let picture = post.map_or(&view.targets.finished_view, |post| &post.picture);
        let behind_model = (Some(parts.background), floor, reflection);
        parts.composite.run(self.recorder, &view.frame_group, behind_model, composited, picture);
        if direct {
            self.visibility(view);
            self.shade(view, [kept(picture), kept(picture)], ShadedPixels::All);
        }
        if let Some(around) = around {
            self.shade_around(view, around, model, picture);
        }
        let Some(post) = post else { return };
        if let Some(surfaces) = &post.surfaces {
            self.geometry(view, &surfaces.targets);
        }
        post.run(self.recorder, &view.frame_group, &view.targets);
    }

    /// Draws the opaque surfaces of the model, then its transmissive and blended surfaces. Opaque surfaces that can be
    /// shaded directly into the picture are left out. Returns the regions that all surfaces cover.
    fn surfaces(&mut self, view: &View) -> ModelParts {
        let solid = self.visibility(view);
        let model = ModelParts { solid, transparent: self.gpu_scene.transparent_part(view) };
        if let Some(colors) = &view.targets.colors {
            match (view.around_blended(model), model.transparent) {
                (None, _) => self.shade(view, colors.each_ref().map(cleared), ShadedPixels::All),
                (Some(around), Some(part)) => {
                    self.shade(view, colors.each_ref().map(kept), ShadedPixels::Inside(around, part));
                }
                (Some(_), None) => {}
            }
        }
        if let Some(part) = model.transparent {
            self.transparent(view, solid, part);
        }
        model
    }

    /// Shades the opaque surfaces outside the region of blended surfaces into the picture. `model` are the regions of
    /// all surfaces.
    fn shade_around(
        &mut self,
        view: &View,
        around: &AroundBlended,
        ModelParts { solid, transparent }: ModelParts,
        picture: &wgpu::TextureView,
    ) {
        let (Some(solid), Some([first, _])) = (solid, &view.targets.colors) else { return };
        let pixels = transparent.map_or(ShadedPixels::All, |part| ShadedPixels::Outside(around, part));
        if view.look.region == view.look.model_region {
            self.shade(view, [kept(picture), kept(picture)], pixels);
            return;
        }
        // All targets of a pass have the same size, so the surfaces are shaded into a copy of the picture. The colours in
        // this texture are no longer needed.
        let place = model_part(&view.look);
        let in_picture = texels(picture, place.x + solid.x, place.y + solid.y);
        let in_copy = texels(first, solid.x, solid.y);
        let size = wgpu::Extent3d { width: solid.width, height: solid.height, depth_or_array_layers: 1 };
        self.recorder.encoder.copy_texture_to_texture(in_picture, in_copy, size);
        self.shade(view, [kept(first), kept(first)], pixels);
        self.recorder.encoder.copy_texture_to_texture(in_copy, in_picture, size);
    }

    /// Determines which opaque surfaces are visible. Returns the region of the canvas that contains these surfaces.
    fn visibility(&mut self, view: &View) -> Option<Region> {
        let gpu_scene = self.gpu_scene;
        let targets = &view.targets;
        let part = gpu_scene.solid().filter_map(|i| view.parts[i]).reduce(joined);
        if let Some(host_visibility) = &view.host_visibility {
            host_visibility.draw_depth(self.recorder, view, gpu_scene);
            return part;
        }
        let depth = depth_target(&targets.depth, Some(1.0), true);
        let mut pass = self.recorder.pass("visibility", &view.frame_group, &[cleared(&targets.triangles)], Some(depth));
        DepthDraws::new(&mut pass, gpu_scene.drawn(), &gpu_scene.pipelines.visibility, Corners::Numbered)
            .draw(gpu_scene.solid());
        drop(pass);
        let outside = if view.look.replaces_maps() { OutsideRegion::Replaced } else { OutsideRegion::Emptied };
        view.classify.run(self.recorder, &view.frame_group, targets.solid_maps(), (part, outside));
        part
    }

    /// Shades the first and the second surface of each pixel. `colors` contains a render target for each of the two
    /// surfaces.
    fn shade(
        &mut self,
        view: &View,
        colors: [wgpu::RenderPassColorAttachment<'_>; SURFACES],
        pixels: ShadedPixels<'_>,
    ) {
        let calls = self.gpu_scene.shading.solid_calls(&view.shaded);
        self.shade_calls(view, ("shade", &view.classify), (&calls, pixels), colors);
    }

    fn shade_calls(
        &mut self,
        view: &View,
        (label, classify): (&'static str, &Classify),
        (calls, pixels): (&[ShadeCall], ShadedPixels<'_>),
        colors: [wgpu::RenderPassColorAttachment<'_>; SURFACES],
    ) {
        let canvas = view.look.canvas();
        for (k, color) in colors.into_iter().enumerate().take(classify.surfaces()) {
            let depth = depth_target(&view.targets.batches[k], None, view.look.replaces_maps());
            let mut pass = self.recorder.pass(label, &view.frame_group, &[color], Some(depth));
            let within = pixels.prepare(&mut pass, Region::whole(canvas.width, canvas.height));
            shade(&mut pass, self.gpu_scene, view, (classify, k), (calls, within));
        }
    }

    /// Draws transmissive and blended geometry in the region `part`. The region `solid` contains the opaque surfaces.
    fn transparent(&mut self, view: &View, solid: Option<Region>, part: Region) {
        let gpu_scene = self.gpu_scene;
        // The region in which the previous group was drawn.
        let mut drawn = None;
        for (k, group) in gpu_scene.transparent_groups(view).into_iter().enumerate() {
            if let (Some(scene_color), Some(target)) = (&view.scene_color, &view.targets.scene_color) {
                if k == 0 {
                    scene_color.capture_opaque(self.recorder, &view.frame_group, solid);
                } else if let Some(drawn) = drawn {
                    scene_color.capture_drawn(self.recorder, &view.frame_group, drawn);
                }
                let mut pass = back_face_pass(self.recorder, &view.frame_group, target);
                if let Some(pipeline) = &gpu_scene.pipelines.back_faces {
                    pass.set_pipeline(pipeline);
                    for i in group.iter().filter(|i| gpu_scene.material(**i).refracts) {
                        let pool = gpu_scene.pool(*i);
                        pass.set_vertex_buffer(0, pool.pose.slice(..));
                        pass.set_index_buffer(pool.indices.slice(..), wgpu::IndexFormat::Uint32);
                        pass.draw_indexed(gpu_scene.batches[*i].indices.clone(), 0, 0..1);
                    }
                }
            }
            let is_visible = |i: &usize| gpu_scene.batches[*i].is_visibility_buffered_glass();
            for (j, run) in group.chunk_by(|a, b| is_visible(a) == is_visible(b)).enumerate() {
                let glass = run.first().filter(|i| is_visible(i)).and_then(|_| self.glass(view, run));
                self.layered_run(view, part, (run, glass), k == 0 && j == 0);
            }
            drawn = group.iter().filter_map(|i| view.parts[*i]).reduce(joined);
        }
    }

    /// Finds the visible surfaces of the glass in `batches` in front of the picture drawn so far, and shades these
    /// surfaces. Returns the region that contains them.
    fn glass(&mut self, view: &View, batches: &[usize]) -> Option<Region> {
        let (gpu_scene, targets) = (self.gpu_scene, &view.targets);
        let (glass, maps) = (view.glass.as_ref()?, targets.glass.as_ref()?);
        let part = batches.iter().filter_map(|i| view.parts[*i]).reduce(joined)?;
        glass.find(self.recorder, &view.frame_group, (targets, maps), part, |pass| {
            let batches = batches.iter().copied();
            DepthDraws::new(pass, gpu_scene.drawn(), &gpu_scene.pipelines.visibility, Corners::Numbered).draw(batches);
        });
        let calls = gpu_scene.shading.calls_of(batches);
        let colors = maps.colors.each_ref().map(kept);
        self.shade_calls(view, ("shade glass", &glass.classify), (&calls, ShadedPixels::All), colors);
        Some(part)
    }

    /// Draws transmissive and blended batches to the multisampled target. If `glass` is a region, the batches are glass
    /// that has already been shaded in this region; otherwise their triangles are shaded here. If `first` is true, the
    /// opaque surfaces are drawn before the batches.
    fn layered_run(&mut self, view: &View, part: Region, (batches, glass): (&[usize], Option<Region>), first: bool) {
        let (Some(samples), Some(expand_samples)) = (&view.targets.transparent, &view.expand_samples) else { return };
        let gpu_scene = self.gpu_scene;
        let color = if first { cleared(samples) } else { kept(samples) };
        let depth = depth_target(&view.targets.depth, None, true);
        let mut pass = self.recorder.pass("transparent", &view.frame_group, &[color], Some(depth));
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        if first {
            expand_samples.draw(&mut pass, &view.classify.tiles, part);
        }
        if let (Some(glass), Some(part)) = (&view.glass, glass) {
            glass.draw(&mut pass, part);
            return;
        }
        if let Some(scene_color) = &view.scene_color {
            pass.set_bind_group(1, &scene_color.group, &[]);
        }
        for i in batches {
            if let Some(pipeline) = &gpu_scene.pipelines.transparent[*i] {
                pass.set_pipeline(pipeline);
                draw_surface(&mut pass, gpu_scene, *i);
            }
        }
    }

    /// Adds the blended surfaces in the region `part` to the depth from which the reflection determines heights above
    /// the floor. While surfaces are shaded, blended ones write no depth, because they may be drawn in any order.
    fn blended_depth(&mut self, reflection: &Reflection, part: Region) {
        let (view, pipelines) = (&reflection.view, &reflection.blended_depth);
        if pipelines.iter().all(Option::is_none) {
            return;
        }
        let depth = depth_target(&view.targets.depth, None, true);
        let mut pass = self.recorder.pass("reflection depth", &view.frame_group, &[], Some(depth));
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        let batches = 0..self.gpu_scene.batches.len();
        DepthDraws::new(&mut pass, self.gpu_scene.drawn(), pipelines, Corners::Shared).draw(batches);
    }

    /// Draws the normal and the distance of the nearest surface at the centre of each pixel.
    pub(crate) fn geometry(&mut self, view: &View, targets: &GeometryTargets) {
        let depth = depth_target(&targets.depth, Some(1.0), false);
        let mut pass = self.recorder.pass("geometry", &view.frame_group, &[cleared(&targets.view)], Some(depth));
        let corners = targets.triangles.as_ref().map_or(Corners::Shared, |groups| Corners::Exact { groups });
        let batches = 0..self.gpu_scene.batches.len();
        DepthDraws::new(&mut pass, self.gpu_scene.drawn(), &targets.pipelines, corners).draw(batches);
    }
}

/// Returns the texels of a texture from a position on, as the source or destination of a copy.
fn texels(view: &wgpu::TextureView, x: u32, y: u32) -> wgpu::TexelCopyTextureInfo<'_> {
    wgpu::TexelCopyTextureInfo { origin: wgpu::Origin3d { x, y, z: 0 }, ..view.texture().as_image_copy() }
}

/// Draws a batch with all vertex attributes and bind groups that shading needs.
fn draw_surface(pass: &mut wgpu::RenderPass<'_>, gpu_scene: &GpuScene, batch: usize) {
    let pool = gpu_scene.pool(batch);
    pass.set_bind_group(2, &gpu_scene.material(batch).group, &[]);
    pass.set_bind_group(3, &pool.light.group, &[]);
    pass.set_vertex_buffer(0, pool.pose.slice(..));
    pass.set_vertex_buffer(1, pool.surface.slice(..));
    pass.set_index_buffer(pool.indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(gpu_scene.batches[batch].indices.clone(), 0, 0..1);
}
