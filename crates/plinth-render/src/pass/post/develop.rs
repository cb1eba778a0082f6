//! The last pass: everything that is worked out pixel by pixel.

use plinth_scene::PostLook;
use plinth_spec::settings::Filter;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::cleared;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::TargetLook;
use crate::upload::geometry::filled;

use super::Surfaces;

/// Width of an outline as a share of the picture's height.
const INK: f32 = 1.0 / 500.0;

/// What the pass reads.
pub(crate) struct Sources<'a> {
    pub(crate) picture: &'a wgpu::TextureView,
    /// The glow and the factor on it.
    pub(crate) glow: Option<(&'a wgpu::TextureView, f32)>,
    pub(crate) blurred: Option<&'a wgpu::TextureView>,
    pub(crate) surfaces: Option<&'a Surfaces>,
}

/// Develops the picture.
pub(crate) struct Develop {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Develop {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        post: &PostLook,
        look: &TargetLook,
        sources: &Sources<'_>,
    ) -> Result<Self, RenderError> {
        let glow = sources.glow.map_or(0.0, |(_, factor)| post.bloom * factor);
        let numbers = [post.vignette, glow, (INK * look.region.height as f32).max(1.0), 0.0];
        let uniform = filled(gpu, "develop", bytemuck::bytes_of(&numbers), wgpu::BufferUsages::UNIFORM)?;
        let mut defines = filter_defines(post.filter).to_vec();
        let mut entries = vec![bindings::uniform(0), bindings::texture(1, bindings::UNFILTERED)];
        let mut resources = vec![(0, uniform.as_entire_binding()), (1, bindings::view(sources.picture))];
        if post.vignette > 0.0 {
            defines.push("VIGNETTE");
        }
        for (binding, define, source) in
            [(2, "GLOW", sources.glow.map(|(view, _)| view)), (3, "FOCUS", sources.blurred)]
        {
            if let Some(source) = source {
                defines.push(define);
                entries.push(bindings::texture(binding, bindings::FILTERED));
                resources.push((binding, bindings::view(source)));
            }
        }
        if let Some(surfaces) = sources.surfaces {
            defines.push("GEOMETRY");
            entries.extend([bindings::uniform(4), bindings::texture(5, bindings::UNFILTERED)]);
            resources.extend([(4, surfaces.lens.as_entire_binding()), (5, bindings::view(&surfaces.targets.view))]);
        }
        let layout = bindings::layout(&gpu.device, "develop", &entries);
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "develop",
                path: "pass/develop.wgsl",
                defines: &defines,
                constants: &[],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget { colors: &[look.finished_format], ..Default::default() },
            },
        )?;
        let entries: Vec<_> =
            resources.into_iter().map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let descriptor = wgpu::BindGroupDescriptor { label: Some("develop"), layout: &layout, entries: &entries };
        Ok(Self { pipeline, group: gpu.device.create_bind_group(&descriptor) })
    }

    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, finished: &wgpu::TextureView) {
        let mut pass = recorder.pass("develop", frame, &[cleared(finished)], None);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// The shader's switches of a filter.
const fn filter_defines(filter: Filter) -> &'static [&'static str] {
    match filter {
        Filter::None => &[],
        Filter::Sepia => &["FILTERED", "SEPIA"],
        Filter::Bw => &["FILTERED", "BW"],
        Filter::Vivid => &["FILTERED", "VIVID"],
        Filter::Warm => &["FILTERED", "WARM"],
        Filter::Cool => &["FILTERED", "COOL"],
        Filter::Faded => &["FILTERED", "FADED"],
        Filter::Noir => &["FILTERED", "NOIR"],
        Filter::Grain => &["GRAIN"],
        Filter::Toon => &["TOON"],
    }
}
