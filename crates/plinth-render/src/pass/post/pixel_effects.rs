//! The last pass, which applies all effects that are computed for each pixel separately.

use plinth_frame::Region;
use plinth_scene::PostLook;
use plinth_spec::settings::Filter;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::composite::around;
use crate::pass::{cleared, kept};
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetDescriptor, Targets};
use crate::upload::geometry::filled;

use super::{Surfaces, around_model};

/// Width of an outline as a fraction of the picture's height.
const INK: f32 = 1.0 / 500.0;

/// Inputs of the pass.
pub(crate) struct Sources<'a> {
    pub(crate) picture: &'a wgpu::TextureView,
    pub(crate) glow: Option<&'a wgpu::TextureView>,
    /// The blurred picture, and the fraction of each pixel that circles of confusion cover.
    pub(crate) blurred: Option<[&'a wgpu::TextureView; 2]>,
    pub(crate) surfaces: Option<&'a Surfaces>,
    /// Maximum distance from the model that the blur reaches, in pixels.
    pub(crate) reach: u32,
}

/// Applies the effects and writes the finished picture.
pub(crate) struct PixelEffects {
    /// The draw near the model, and its region.
    near: Option<(Step, Region)>,
    /// The draw for the rest of the picture. `None` if no effect changes the picture there.
    far: Option<Step>,
    whole: Region,
}

/// A pipeline and its bind group.
struct Step {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl PixelEffects {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        post: &PostLook,
        look: &TargetDescriptor,
        sources: &Sources<'_>,
    ) -> Result<Self, RenderError> {
        let ink = (INK * look.region.height as f32).max(1.0);
        let numbers = [post.vignette, ink, 0.0, 0.0];
        let uniform = filled(gpu, "pixel effects", bytemuck::bytes_of(&numbers), wgpu::BufferUsages::UNIFORM)?;
        let step = |is_near: bool| {
            let mut defines = defines(post, is_near);
            let mut inputs = vec![
                (bindings::uniform(0), uniform.as_entire_binding()),
                (bindings::texture(1, bindings::UNFILTERED), bindings::view(sources.picture)),
            ];
            if let Some(glow) = sources.glow {
                defines.push("GLOW");
                inputs.push((bindings::texture(2, bindings::FILTERED), bindings::view(glow)));
            }
            if let Some(surfaces) = sources.surfaces.filter(|_| is_near) {
                defines.push("GEOMETRY");
                inputs.push((bindings::uniform(3), surfaces.lens.as_entire_binding()));
                inputs.push((bindings::texture(4, bindings::UNFILTERED), bindings::view(&surfaces.targets.view)));
            }
            if let Some([color, cover]) = sources.blurred.filter(|_| is_near) {
                defines.push("FOCUS");
                inputs.push((bindings::texture(5, bindings::FILTERED), bindings::view(color)));
                inputs.push((bindings::texture(6, bindings::FILTERED), bindings::view(cover)));
            }
            let entries: Vec<_> = inputs.iter().map(|(entry, _)| *entry).collect();
            let layout = bindings::layout(&gpu.device, "pixel effects", &entries);
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "pixel effects",
                    path: "pass/pixel_effects.wgsl",
                    defines: &defines,
                    constants: &[],
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors: &[look.finished_format], ..Default::default() },
                },
            )?;
            let entries: Vec<_> = inputs
                .into_iter()
                .map(|(entry, resource)| wgpu::BindGroupEntry { binding: entry.binding, resource })
                .collect();
            let descriptor =
                wgpu::BindGroupDescriptor { label: Some("pixel effects"), layout: &layout, entries: &entries };
            Ok::<_, RenderError>(Step { pipeline, group: gpu.device.create_bind_group(&descriptor) })
        };
        let near = match sources.surfaces {
            Some(_) => Some((step(true)?, around_model(look, sources.reach.max(ink as u32) + 2, 1))),
            None => None,
        };
        let far = if post.reaches_everywhere() { Some(step(false)?) } else { None };
        Ok(Self { near, far, whole: Region::whole(look.region.width, look.region.height) })
    }

    /// Draws the finished picture.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        picture: &wgpu::Texture,
        targets: &Targets,
    ) {
        let finished = &targets.finished_view;
        if self.far.is_none() {
            recorder.encoder.copy_texture_to_texture(
                picture.as_image_copy(),
                targets.finished.as_image_copy(),
                picture.size(),
            );
        }
        let color = if self.far.is_none() { kept(finished) } else { cleared(finished) };
        let mut pass = recorder.pass("pixel effects", frame, &[color], None);
        let mut draw = |step: &Step, part: Region| {
            if part.width > 0 && part.height > 0 {
                pass.set_pipeline(&step.pipeline);
                pass.set_bind_group(1, &step.group, &[]);
                pass.set_scissor_rect(part.x, part.y, part.width, part.height);
                pass.draw(0..3, 0..1);
            }
        };
        if let Some((step, part)) = &self.near {
            draw(step, *part);
        }
        if let Some(step) = &self.far {
            match &self.near {
                Some((_, part)) => around(self.whole, *part).into_iter().for_each(|part| draw(step, part)),
                None => draw(step, self.whole),
            }
        }
    }
}

/// Returns the preprocessor defines that select the shader variant.
fn defines(post: &PostLook, is_near: bool) -> Vec<&'static str> {
    let mut out = Vec::new();
    match post.filter {
        Filter::None => {}
        Filter::Grain => out.push("GRAIN"),
        // Outlines are only drawn near the model.
        Filter::Toon if !is_near => {}
        Filter::Toon => out.extend(["TOON", "TONED"]),
        Filter::Sepia => out.extend(["SEPIA", "FILTERED", "TONED"]),
        Filter::Bw => out.extend(["BW", "FILTERED", "TONED"]),
        Filter::Vivid => out.extend(["VIVID", "FILTERED", "TONED"]),
        Filter::Warm => out.extend(["WARM", "FILTERED", "TONED"]),
        Filter::Cool => out.extend(["COOL", "FILTERED", "TONED"]),
        Filter::Faded => out.extend(["FADED", "FILTERED", "TONED"]),
        Filter::Noir => out.extend(["NOIR", "FILTERED", "TONED"]),
    }
    if post.vignette > 0.0 {
        out.extend(["VIGNETTE", "TONED"]);
    }
    out
}
