//! Copies the shaded surfaces of each pixel to samples, so that transmissive and blended surfaces can be drawn over
//! them.

use plinth_frame::Region;

use super::edge_tiles::EdgeTiles;
use super::visibility::SURFACES;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, FullScreen, FullScreenTarget, full_screen};
use crate::targets::TargetDescriptor;

/// Writes the colour of each surface to the samples that the surface covers.
pub(crate) struct ExpandSamples {
    /// Writes the first surfaces.
    first: (wgpu::RenderPipeline, wgpu::BindGroup),
    /// Writes the second surfaces, in the tiles with edges. `None` if pixels have only one sample.
    second: Option<(wgpu::RenderPipeline, wgpu::BindGroup)>,
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
        tiles: &EdgeTiles,
        content: SurfaceColors,
        look: &TargetDescriptor,
    ) -> Result<Self, RenderError> {
        let samples = look.samples;
        let whole = (content == SurfaceColors::Whole).then_some("WHOLE");
        let create = |k: usize| {
            let mut defines: Vec<&str> = whole.into_iter().collect();
            let mut entries =
                vec![bindings::texture(0, wgpu::TextureSampleType::Uint), bindings::texture(1, bindings::UNFILTERED)];
            let mut resources = vec![bindings::view(&surfaces[k]), bindings::view(&colors[k])];
            if samples > 1 {
                defines.push("MULTISAMPLED");
            }
            if k == 1 {
                defines.push("SECOND");
                entries.extend([bindings::texture(2, wgpu::TextureSampleType::Uint), bindings::vertex_storage(3)]);
                resources.extend([bindings::view(&surfaces[0]), tiles.buffer.as_entire_binding()]);
            }
            let layout = bindings::layout(&gpu.device, "expand samples", &entries);
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
            Ok::<_, RenderError>((pipeline, bindings::group(&gpu.device, "expand samples", &layout, &resources)))
        };
        Ok(Self { first: create(0)?, second: (samples > 1).then(|| create(1)).transpose()? })
    }

    /// Draws in a render pass whose target is the multisampled texture, and whose scissor rectangle is `part`. `tiles`
    /// are the tiles with edges.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>, tiles: &EdgeTiles, part: Region) {
        let draws = std::iter::once((&self.first, 0..3)).chain(self.second.iter().map(|s| (s, tiles.vertices(part))));
        for ((pipeline, group), vertices) in draws {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, group, &[]);
            pass.draw(vertices, 0..1);
        }
    }
}
