//! Copies the shaded surfaces of each pixel to samples, so that transmissive and blended surfaces can be drawn over
//! them.

use super::visibility::SURFACES;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, FullScreen, FullScreenTarget, full_screen};
use crate::targets::Targets;

/// Writes the colour of each surface to the samples that the surface covers.
pub(crate) struct Spread {
    pipeline: wgpu::RenderPipeline,
    groups: [wgpu::BindGroup; SURFACES],
}

impl Spread {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        (targets, colors): (&Targets, &[wgpu::TextureView; SURFACES]),
        samples: u32,
        format: wgpu::TextureFormat,
    ) -> Result<Self, RenderError> {
        let layout = bindings::layout(
            &gpu.device,
            "spread",
            &[bindings::texture(0, wgpu::TextureSampleType::Uint), bindings::texture(1, bindings::UNFILTERED)],
        );
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "spread",
                path: "pass/spread.wgsl",
                defines: if samples > 1 { &["MULTISAMPLED"] } else { &[] },
                constants: &[("SAMPLES", f64::from(samples))],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget {
                    colors: &[format],
                    over: Some((DEPTH_FORMAT, wgpu::CompareFunction::Always)),
                    samples,
                    ..Default::default()
                },
            },
        )?;
        let groups = [0, 1].map(|k| {
            let resources = [bindings::view(&targets.surfaces[k]), bindings::view(&colors[k])];
            bindings::group(&gpu.device, "spread", &layout, &resources)
        });
        Ok(Self { pipeline, groups })
    }

    /// Draws in a render pass whose target is the multisampled texture.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        pass.set_pipeline(&self.pipeline);
        for group in &self.groups {
            pass.set_bind_group(1, group, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}
