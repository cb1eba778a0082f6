//! Depth of field.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::cleared;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetLook, texture};

use super::{PICTURE_FORMAT, Surfaces, around_model};

/// Distance and disc of a pixel.
const SURFACE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg32Float;
/// A share.
const COVER_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

/// Blurs what is not in focus, in half size.
pub(crate) struct Focus {
    steps: [Step; 3],
}

/// One draw: what it writes, and where.
struct Step {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
    targets: [wgpu::TextureView; 2],
    part: Region,
}

impl Focus {
    /// `reach` is how far blur reaches, in pixels of the picture.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetLook,
        reach: u32,
        picture: &wgpu::TextureView,
        surfaces: &Surfaces,
    ) -> Result<Self, RenderError> {
        let size = Region::whole(look.region.width.div_ceil(2), look.region.height.div_ceil(2));
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let target =
            |format| texture(gpu, size, 1, format, usage, 1).create_view(&wgpu::TextureViewDescriptor::default());
        let step = |define: &str, formats: [wgpu::TextureFormat; 2], sources: &[&wgpu::TextureView], part: Region| {
            let mut entries = vec![bindings::uniform(0)];
            entries.extend((1..).zip(sources).map(|(k, _)| bindings::texture(k, bindings::UNFILTERED)));
            let layout = bindings::layout(&gpu.device, "depth of field", &entries);
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "depth of field",
                    path: "pass/dof.wgsl",
                    defines: &[define],
                    constants: &[],
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors: &formats, ..Default::default() },
                },
            )?;
            let mut resources = vec![surfaces.lens.as_entire_binding()];
            resources.extend(sources.iter().map(|view| bindings::view(view)));
            let group = bindings::group(&gpu.device, "depth of field", &layout, &resources);
            Ok::<_, RenderError>(Step { pipeline, group, targets: formats.map(target), part })
        };
        let [reached, read] = [1, 2].map(|times| around_model(look, times * (reach + 4), 2));
        let shrink = step("SHRINK", [PICTURE_FORMAT, SURFACE_FORMAT], &[picture, &surfaces.targets.view], read)?;
        let [color, half] = &shrink.targets;
        let gather = step("GATHER", [PICTURE_FORMAT, COVER_FORMAT], &[color, half], reached)?;
        let [blurred, cover] = &gather.targets;
        let smooth = step("SMOOTH", [look.finished_format, COVER_FORMAT], &[blurred, half, cover], reached)?;
        Ok(Self { steps: [shrink, gather, smooth] })
    }

    /// The blurred picture, in half size, and how much of a pixel discs of what is in front of it cover.
    pub(crate) fn result(&self) -> [&wgpu::TextureView; 2] {
        self.steps[2].targets.each_ref()
    }

    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        for Step { pipeline, group, targets, part } in &self.steps {
            let mut pass = recorder.pass("depth of field", frame, &targets.each_ref().map(cleared), None);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, group, &[]);
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.draw(0..3, 0..1);
        }
    }
}
