//! Copies the shaded surfaces of each pixel to samples, so that transmissive and blended surfaces can be drawn over
//! them.

use super::visibility::SURFACES;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, FullScreen, FullScreenTarget, full_screen};
use crate::targets::TargetDescriptor;

/// Writes the colour of each surface to the samples that the surface covers.
pub(crate) struct ExpandSamples {
    pipeline: wgpu::RenderPipeline,
    groups: [wgpu::BindGroup; SURFACES],
}

/// How the colours of surfaces are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurfaceColors {
    /// Colours that are multiplied by the fraction of the pixel that the surface covers.
    Shares,
    /// Premultiplied colours that are not multiplied by this fraction.
    Whole,
}

impl ExpandSamples {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        (surfaces, colors): (&[wgpu::TextureView; SURFACES], &[wgpu::TextureView; SURFACES]),
        content: SurfaceColors,
        look: &TargetDescriptor,
    ) -> Result<Self, RenderError> {
        let samples = look.samples;
        let sampled = (samples > 1).then_some("MULTISAMPLED");
        let whole = (content == SurfaceColors::Whole).then_some("WHOLE");
        let defines: Vec<&str> = sampled.into_iter().chain(whole).collect();
        let layout = bindings::layout(
            &gpu.device,
            "expand samples",
            &[bindings::texture(0, wgpu::TextureSampleType::Uint), bindings::texture(1, bindings::UNFILTERED)],
        );
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "expand samples",
                path: "pass/expand_samples.wgsl",
                defines: &defines,
                constants: &[("SAMPLES", f64::from(samples))],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget {
                    colors: &[look.color_format],
                    over: Some((DEPTH_FORMAT, wgpu::CompareFunction::Always)),
                    samples,
                    ..Default::default()
                },
            },
        )?;
        let groups = [0, 1].map(|k| {
            let resources = [bindings::view(&surfaces[k]), bindings::view(&colors[k])];
            bindings::group(&gpu.device, "expand samples", &layout, &resources)
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
