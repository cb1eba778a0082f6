//! Depth of field.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::cleared;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetLook, texture};

use super::{PICTURE_FORMAT, Surfaces, widest_blur};

const DISTANCE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;

/// Blurs what is not in focus, in half size.
pub(crate) struct Focus {
    shrink: (wgpu::RenderPipeline, wgpu::BindGroup),
    blur: (wgpu::RenderPipeline, wgpu::BindGroup),
    half: [wgpu::TextureView; 2],
    blurred: wgpu::TextureView,
    /// The part of the half picture that the model's blur can reach, and the part that it reaches from.
    reached: Region,
    read: Region,
}

impl Focus {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetLook,
        picture: &wgpu::TextureView,
        surfaces: &Surfaces,
    ) -> Result<Self, RenderError> {
        let size = Region::whole(look.region.width.div_ceil(2), look.region.height.div_ceil(2));
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let target =
            |format| texture(gpu, size, 1, format, usage, 1).create_view(&wgpu::TextureViewDescriptor::default());
        let half = [target(PICTURE_FORMAT), target(DISTANCE_FORMAT)];
        let blurred = target(PICTURE_FORMAT);
        let layout = bindings::layout(
            &gpu.device,
            "depth of field",
            &[
                bindings::uniform(0),
                bindings::texture(1, bindings::UNFILTERED),
                bindings::texture(2, bindings::UNFILTERED),
            ],
        );
        let step = |defines: &[&str], colors: &[wgpu::TextureFormat], sources: [&wgpu::TextureView; 2]| {
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "depth of field",
                    path: "pass/dof.wgsl",
                    defines,
                    constants: &[],
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors, ..Default::default() },
                },
            )?;
            let resources = [surfaces.lens.as_entire_binding(), bindings::view(sources[0]), bindings::view(sources[1])];
            Ok::<_, RenderError>((pipeline, bindings::group(&gpu.device, "depth of field", &layout, &resources)))
        };
        Ok(Self {
            shrink: step(&["SHRINK"], &[PICTURE_FORMAT, DISTANCE_FORMAT], [picture, &surfaces.targets.view])?,
            blur: step(&[], &[PICTURE_FORMAT], [&half[0], &half[1]])?,
            half,
            blurred,
            reached: around_model(look, size, 1),
            read: around_model(look, size, 2),
        })
    }

    /// The blurred picture, in half size and linear light.
    pub(crate) fn result(&self) -> &wgpu::TextureView {
        &self.blurred
    }

    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        let shrunk = self.half.each_ref().map(cleared);
        for ((pipeline, group), colors, part) in
            [(&self.shrink, &shrunk[..], self.read), (&self.blur, &[cleared(&self.blurred)][..], self.reached)]
        {
            let mut pass = recorder.pass("depth of field", frame, colors, None);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, group, &[]);
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.draw(0..3, 0..1);
        }
    }
}

/// The model's part with room for the widest blur on all sides, so many times, in half size.
fn around_model(look: &TargetLook, half: Region, times: u32) -> Region {
    let room = times * (widest_blur(look.region.height) as u32 + 4);
    let (part, drawn) = (look.model_region, look.region);
    let along = |first: u32, length: u32, limit: u32| {
        let start = first.saturating_sub(room) / 2;
        (start, ((first + length + room).div_ceil(2)).min(limit) - start)
    };
    let (x, width) = along(part.x - drawn.x, part.width, half.width);
    let (y, height) = along(part.y - drawn.y, part.height, half.height);
    Region { x, y, width, height }
}
