//! The scene colour pyramid, which glass samples. The pyramid contains the picture drawn so far and the distances of
//! its surfaces, both with mip levels, and the back faces of the glass body that is drawn next.

use super::composite::{surface_entries, surface_resources};
use super::pyramid::Pyramid;
use super::visibility::SURFACES;
use plinth_frame::Region;

use super::{cleared, depth_target, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::{self, Targets};

/// Copies the picture drawn so far, and computes its mip levels.
pub(crate) struct SceneColorPyramid {
    opaque: Capture,
    drawn: Capture,
    /// The mip levels of colour and distance.
    pyramid: Pyramid,
    /// Colour and distance with all mip levels, and the back faces of the body.
    pub(crate) views: [wgpu::TextureView; 3],
    /// Bind group 1 of transmissive surfaces whose triangles are sorted.
    pub(crate) group: wgpu::BindGroup,
}

struct Capture {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

/// The first binding of the scene colour pyramid in bind group 1.
pub(crate) const FIRST_BINDING: u32 = 7;

/// Returns the entries of the scene colour pyramid in the layout of group 1 of transmissive surfaces.
pub(crate) fn scene_entries() -> [wgpu::BindGroupLayoutEntry; 3] {
    [0, 1, 2].map(|k| bindings::texture(FIRST_BINDING + k, bindings::FILTERED))
}

/// Creates the layout of bind group 1 of transmissive surfaces whose triangles are sorted.
pub(crate) fn scene_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "scene color", &scene_entries())
}

/// The inputs of the pyramid: all render targets, the targets of the pyramid, the colours of opaque surfaces, and the
/// samples to which transmissive surfaces are drawn.
type Sources<'a> =
    (&'a Targets, &'a targets::SceneColorTargets, &'a [wgpu::TextureView; SURFACES], &'a wgpu::TextureView);

impl SceneColorPyramid {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        scene_layout: &wgpu::BindGroupLayout,
        samples: u32,
        (targets, target, colors, transparent): Sources<'_>,
    ) -> Result<Self, RenderError> {
        let device = &gpu.device;
        let pyramid = Pyramid::new(gpu, frame_layout, [&target.color, &target.distance])?;
        let constants = [("SAMPLES", f64::from(samples))];
        let make = |label, defines: &[&str], layout, colors| {
            full_screen(
                gpu,
                &FullScreen {
                    label,
                    path: "pass/scene_color.wgsl",
                    defines,
                    constants: &constants,
                    groups: &[frame_layout, layout],
                    target: FullScreenTarget { colors, ..Default::default() },
                },
            )
        };
        let with_samples = |what| if samples > 1 { vec![what, "MULTISAMPLED"] } else { vec![what] };
        let formats = [targets::SCENE_COLOR_FORMAT, targets::DISTANCE_FORMAT];

        let mut entries: Vec<_> = surface_entries().collect();
        entries.push(bindings::multisampled(5, wgpu::TextureSampleType::Depth, samples));
        let layout = bindings::layout(device, "scene color of opaque surfaces", &entries);
        let pipeline = make("scene color of opaque surfaces", &with_samples("SURFACES"), &layout, &formats)?;
        let resources: Vec<_> = surface_resources(targets, colors).chain([bindings::view(&targets.depth)]).collect();
        let opaque = Capture {
            pipeline,
            group: bindings::group_from(device, "scene color of opaque surfaces", &layout, 1, &resources),
        };

        let layout = bindings::layout(
            device,
            "scene color of samples",
            &[bindings::multisampled(1, bindings::UNFILTERED, samples)],
        );
        let drawn = Capture {
            pipeline: make("scene color of samples", &with_samples("SAMPLES_DRAWN"), &layout, &formats[..1])?,
            group: bindings::group_from(device, "scene color of samples", &layout, 1, &[bindings::view(transparent)]),
        };

        let [color, distance] = pyramid.all.clone();
        let views = [color, distance, target.back_faces.clone()];
        let resources = views.each_ref().map(bindings::view);
        let group = bindings::group_from(device, "scene color", scene_layout, FIRST_BINDING, &resources);
        Ok(Self { opaque, drawn, pyramid, views, group })
    }

    /// Copies the opaque surfaces in a region of the canvas to the pyramid.
    pub(crate) fn capture_opaque(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, part: Option<Region>) {
        // The pyramid is cleared outside the region.
        let part = part.unwrap_or(Region::EMPTY);
        let colors = self.pyramid.levels[0].each_ref().map(cleared);
        draw(&mut recorder.pass("scene color", frame, &colors, None), &self.opaque, part);
        self.pyramid.fill(recorder, frame, "scene color", part);
    }

    /// Copies a region of the picture drawn so far, including glass, to the pyramid. The distances remain those of the
    /// opaque surfaces.
    pub(crate) fn capture_drawn(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, part: Region) {
        let color = kept(&self.pyramid.levels[0][0]);
        draw(&mut recorder.pass("scene color", frame, &[color], None), &self.drawn, part);
        self.pyramid.fill_first(recorder, frame, "scene color", part);
    }
}

fn draw(pass: &mut wgpu::RenderPass<'_>, capture: &Capture, part: Region) {
    pass.set_pipeline(&capture.pipeline);
    pass.set_bind_group(1, &capture.group, &[]);
    pass.set_scissor_rect(part.x, part.y, part.width, part.height);
    pass.draw(0..3, 0..1);
}

/// Starts the pass that draws the back faces of a glass body.
pub(crate) fn back_face_pass<'r>(
    recorder: &'r mut Recorder<'_>,
    frame: &wgpu::BindGroup,
    target: &targets::SceneColorTargets,
) -> wgpu::RenderPass<'r> {
    let depth = depth_target(&target.back_face_depth, Some(1.0), true);
    recorder.pass("back faces", frame, &[cleared(&target.back_faces)], Some(depth))
}
