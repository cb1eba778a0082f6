//! The opaque part of the picture as a texture with mip levels, for refraction.

use super::cleared;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::Behind as BehindTarget;

/// Captures the picture and blurs it.
pub(crate) struct Behind {
    capture: wgpu::RenderPipeline,
    capture_group: wgpu::BindGroup,
    halve: wgpu::RenderPipeline,
    halve_groups: Vec<wgpu::BindGroup>,
    levels: Vec<wgpu::TextureView>,
    /// Group 1 of transmissive surfaces.
    pub(crate) group: wgpu::BindGroup,
}

impl Behind {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        scene_layout: &wgpu::BindGroupLayout,
        radiance: &wgpu::TextureView,
        samples: u32,
        target: &BehindTarget,
    ) -> Result<Self, RenderError> {
        let capture_layout =
            bindings::layout(&gpu.device, "behind", &[bindings::multisampled(0, bindings::UNFILTERED, samples)]);
        let halve_layout = Self::scene_layout(gpu);
        let constants = [("SAMPLES", f64::from(samples))];
        let defines: &[&str] = if samples > 1 { &["CAPTURE", "MULTISAMPLED"] } else { &["CAPTURE"] };
        let pass = |label, defines, constants, group| FullScreen {
            label,
            path: "pass/behind.wgsl",
            defines,
            constants,
            groups: group,
            target: FullScreenTarget { colors: &[wgpu::TextureFormat::Rgba16Float], ..Default::default() },
        };
        let capture_constants: &[(&str, f64)] = if samples > 1 { &constants } else { &[] };
        let capture_groups = [frame_layout, &capture_layout];
        let capture = full_screen(gpu, &pass("behind", defines, capture_constants, &capture_groups))?;
        let halve_layouts = [frame_layout, &halve_layout];
        let halve = full_screen(gpu, &pass("behind halved", &[], &[], &halve_layouts))?;
        let level = |mip: u32, count: u32| {
            target.color.create_view(&wgpu::TextureViewDescriptor {
                base_mip_level: mip,
                mip_level_count: Some(count),
                ..Default::default()
            })
        };
        let levels: Vec<_> = (0..target.mips).map(|mip| level(mip, 1)).collect();
        let bind = |layout: &wgpu::BindGroupLayout, view: &wgpu::TextureView| {
            bindings::group(&gpu.device, "behind", layout, &[bindings::view(view)])
        };
        Ok(Self {
            capture,
            capture_group: bind(&capture_layout, radiance),
            halve,
            halve_groups: levels.iter().map(|view| bind(&halve_layout, view)).collect(),
            group: bind(scene_layout, &level(0, target.mips)),
            levels,
        })
    }

    /// Group 1 of surfaces that look through: one filterable texture.
    pub(crate) fn scene_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
        bindings::layout(&gpu.device, "behind", &[bindings::texture(0, bindings::FILTERED)])
    }

    /// Copies what is drawn so far, then halves it level by level.
    pub(crate) fn capture(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        run(recorder, frame, &self.capture, &self.capture_group, &self.levels[0]);
        for (source, target) in self.halve_groups.iter().zip(&self.levels[1..]) {
            run(recorder, frame, &self.halve, source, target);
        }
    }
}

fn run(
    recorder: &mut Recorder<'_>,
    frame: &wgpu::BindGroup,
    pipeline: &wgpu::RenderPipeline,
    source: &wgpu::BindGroup,
    target: &wgpu::TextureView,
) {
    let mut pass = recorder.pass("behind", frame, &[cleared(target)], None);
    pass.set_pipeline(pipeline);
    pass.set_bind_group(1, source, &[]);
    pass.draw(0..3, 0..1);
}
