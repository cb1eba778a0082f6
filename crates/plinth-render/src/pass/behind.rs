//! The opaque part of the picture as a texture with mip levels, for refraction.

use super::cleared;
use super::composite::{surface_entries, surface_resources};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{Behind as BehindTarget, Targets};

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
        samples: u32,
        targets: &Targets,
        target: &BehindTarget,
    ) -> Result<Self, RenderError> {
        let entries: Vec<_> = surface_entries().collect();
        let capture_layout = bindings::layout(&gpu.device, "behind", &entries);
        let halve_layout = Self::scene_layout(gpu);
        let constants = [("SAMPLES", f64::from(samples))];
        let pass = |label, defines, constants, group| FullScreen {
            label,
            path: "pass/behind.wgsl",
            defines,
            constants,
            groups: group,
            target: FullScreenTarget { colors: &[wgpu::TextureFormat::Rgba16Float], ..Default::default() },
        };
        let capture_groups = [frame_layout, &capture_layout];
        let capture = full_screen(gpu, &pass("behind", &["CAPTURE"][..], &constants[..], &capture_groups))?;
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
        let entries: Vec<_> = (1..)
            .zip(surface_resources(targets))
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        let capture_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("behind"),
            layout: &capture_layout,
            entries: &entries,
        });
        let bind = |layout: &wgpu::BindGroupLayout, view: &wgpu::TextureView| {
            bindings::group(&gpu.device, "behind", layout, &[bindings::view(view)])
        };
        Ok(Self {
            capture,
            capture_group,
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
