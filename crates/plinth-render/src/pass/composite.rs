//! Model, floor and backdrop become one picture.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::floor::Floor;
use crate::pipelines::{FullScreen, FullScreenTarget, SurfaceOutput, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetLook, Targets};
use crate::upload::geometry::filled;

/// The pass that puts model, floor and backdrop together.
pub(crate) struct Composite {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
    /// The model's part, relative to the drawn region.
    part: Region,
    backdrop: wgpu::Color,
}

impl Composite {
    /// `backdrop` is sRGB-encoded with alpha 1, or all zero for a transparent picture.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetLook,
        targets: &Targets,
        backdrop: wgpu::Color,
    ) -> Result<Self, RenderError> {
        let part = Region {
            x: look.model_region.x.saturating_sub(look.region.x),
            y: look.model_region.y.saturating_sub(look.region.y),
            ..look.model_region
        };
        let origin = [part.x as f32, part.y as f32, 0.0, 0.0];
        let place = filled(gpu, "place", bytemuck::bytes_of(&origin), wgpu::BufferUsages::UNIFORM)?;
        let mut defines = Vec::new();
        let mut entries = vec![bindings::uniform(0)];
        let mut resources = vec![place.as_entire_binding()];
        if let Some(layered) = &targets.layered {
            let samples = if layered.resolved.is_some() { 1 } else { look.samples };
            if samples > 1 {
                defines.push("MULTISAMPLED");
            }
            entries.push(bindings::multisampled(1, bindings::UNFILTERED, samples));
            resources.push(bindings::view(layered.resolved.as_ref().unwrap_or(&layered.color)));
        } else {
            defines.push("SURFACES");
            entries.extend([1, 2].map(|k| bindings::texture(k, wgpu::TextureSampleType::Uint)));
            entries.extend([3, 4].map(|k| bindings::texture(k, bindings::UNFILTERED)));
            resources.extend(targets.surfaces.iter().chain(&targets.colors).map(bindings::view));
        }
        if look.output == SurfaceOutput::Radiance {
            defines.push("RADIANCE");
        }
        let constants = [("SAMPLES", f64::from(look.samples))];
        let counts = defines.contains(&"MULTISAMPLED") || defines.contains(&"SURFACES");
        let layout = bindings::layout(&gpu.device, "composite", &entries);
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "composite",
                path: "pass/composite.wgsl",
                defines: &defines,
                constants: if counts { &constants } else { &[] },
                groups: &[frame_layout, &layout],
                target: FullScreenTarget {
                    colors: &[look.finished_format],
                    blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                    ..Default::default()
                },
            },
        )?;
        let group = bindings::group(&gpu.device, "composite", &layout, &resources);
        Ok(Self { pipeline, group, part, backdrop })
    }

    /// Writes every pixel of the finished picture. The floor is behind the model wherever it is seen at all.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        floor: Option<&Floor>,
        target: &wgpu::TextureView,
    ) {
        let color = wgpu::RenderPassColorAttachment {
            view: target,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load: wgpu::LoadOp::Clear(self.backdrop), store: wgpu::StoreOp::Store },
        };
        let mut pass = recorder.pass("composite", frame, &[Some(color)], None);
        if let Some(floor) = floor {
            floor.draw(&mut pass);
        }
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.set_scissor_rect(self.part.x, self.part.y, self.part.width, self.part.height);
        pass.draw(0..3, 0..1);
    }
}
