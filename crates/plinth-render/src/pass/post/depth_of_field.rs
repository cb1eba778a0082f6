//! The depth-of-field effect.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::cleared;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetDescriptor, texture};

use super::{PICTURE_FORMAT, Surfaces, around_model};

/// Format of a pixel's distance and the radius of its circle of confusion.
const SURFACE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg32Float;
/// Format of the radius of the largest circle of confusion in a square of pixels.
const MAX_RADIUS_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;
/// Format of the fraction of a pixel that circles of confusion cover.
const COVER_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

/// Minimum side length of the squares in which the largest circle is determined, in pixels of the half-size picture.
const MIN_SQUARE: u32 = 8;

/// Blurs everything that is out of focus, at half the size of the picture.
pub(crate) struct DepthOfField {
    steps: Vec<Step>,
    result: [wgpu::TextureView; 2],
}

/// A draw with its pipeline, render targets and region.
struct Step {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
    targets: Vec<wgpu::TextureView>,
    part: Region,
}

impl DepthOfField {
    /// Creates the passes. `reach` is the largest blur radius in pixels of the picture.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetDescriptor,
        reach: u32,
        picture: &wgpu::TextureView,
        surfaces: &Surfaces,
    ) -> Result<Self, RenderError> {
        let half = Region::whole(look.region.width.div_ceil(2), look.region.height.div_ceil(2));
        let side = reach.div_ceil(2).max(MIN_SQUARE);
        let squares = Region::whole(half.width.div_ceil(side), half.height.div_ceil(side));
        let constants = [("SQUARE", f64::from(side))];
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let step = |defines: &[&str],
                    (size, part): (Region, Region),
                    formats: &[wgpu::TextureFormat],
                    sources: &[&wgpu::TextureView]| {
            let target =
                |format| texture(gpu, size, 1, format, usage, 1).create_view(&wgpu::TextureViewDescriptor::default());
            let mut entries = vec![bindings::uniform(0)];
            entries.extend((1..).zip(sources).map(|(k, _)| bindings::texture(k, bindings::UNFILTERED)));
            let layout = bindings::layout(&gpu.device, "depth of field", &entries);
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "depth of field",
                    path: "pass/depth_of_field.wgsl",
                    defines,
                    constants: &constants,
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors: formats, ..Default::default() },
                },
            )?;
            let mut resources = vec![surfaces.lens.as_entire_binding()];
            resources.extend(sources.iter().map(|view| bindings::view(view)));
            let group = bindings::group(&gpu.device, "depth of field", &layout, &resources);
            let targets = formats.iter().copied().map(target).collect();
            Ok::<_, RenderError>(Step { pipeline, group, targets, part })
        };
        let [reached, read] = [1, 2].map(|times| around_model(look, times * (reach + 4), 2));
        let (read, reached) = ((half, read), (half, reached));
        let first = [reached.1.x / side, reached.1.y / side];
        let squares = (
            squares,
            Region {
                x: first[0],
                y: first[1],
                width: (reached.1.x + reached.1.width).div_ceil(side) - first[0],
                height: (reached.1.y + reached.1.height).div_ceil(side) - first[1],
            },
        );
        let shrink = step(&["SHRINK"], read, &[PICTURE_FORMAT, SURFACE_FORMAT], &[picture, &surfaces.targets.view])?;
        let [color, discs] = [0, 1].map(|k| &shrink.targets[k]);
        let inside = step(&["WIDEST"], squares, &[MAX_RADIUS_FORMAT], &[discs])?;
        let around = step(&["WIDEST", "AROUND"], squares, &[MAX_RADIUS_FORMAT], &[&inside.targets[0]])?;
        let sources = [color, discs, &around.targets[0]];
        let gather = step(&["GATHER"], reached, &[PICTURE_FORMAT, COVER_FORMAT], &sources)?;
        let sources = [&gather.targets[0], discs, &gather.targets[1]];
        let smooth = step(&["SMOOTH"], reached, &[look.finished_format, COVER_FORMAT], &sources)?;
        let result = [0, 1].map(|k| smooth.targets[k].clone());
        Ok(Self { steps: vec![shrink, inside, around, gather, smooth], result })
    }

    /// Returns the blurred picture at half size, and the fraction of each pixel that circles of confusion of nearer
    /// objects cover.
    pub(crate) fn result(&self) -> [&wgpu::TextureView; 2] {
        self.result.each_ref()
    }

    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        for Step { pipeline, group, targets, part } in &self.steps {
            let targets: Vec<_> = targets.iter().map(cleared).collect();
            let mut pass = recorder.pass("depth of field", frame, &targets, None);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, group, &[]);
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.draw(0..3, 0..1);
        }
    }
}
