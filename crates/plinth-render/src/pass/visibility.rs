//! From triangles to shaded surfaces: the samples' triangles become up to two surfaces a pixel, and each surface is
//! shaded once (Burns and Hunt 2013, "The Visibility Buffer: A Cache-Friendly Approach to Deferred Shading").

use plinth_frame::Region;

use super::{cleared, depth_target};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{BATCH_FORMAT, FullScreen, FullScreenTarget, SURFACE_FORMAT, full_screen};
use crate::recorder::Recorder;
use crate::targets::Targets;
use crate::upload::geometry::{Batch, filled};

/// Surfaces that are kept of a pixel.
pub(crate) const SURFACES: usize = 2;

/// Sorts samples into surfaces.
pub(crate) struct Classify {
    first: wgpu::RenderPipeline,
    first_group: wgpu::BindGroup,
    second: wgpu::RenderPipeline,
    second_group: wgpu::BindGroup,
    /// For each batch and surface: what shading reads.
    shade_groups: Vec<[wgpu::BindGroup; SURFACES]>,
}

/// Group 1 of shading: corners, pose, surfaces, batch and attributes.
pub(crate) fn batch_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(
        &gpu.device,
        "batch",
        &[
            bindings::storage(0),
            bindings::storage(1),
            bindings::texture(2, wgpu::TextureSampleType::Uint),
            bindings::uniform(3),
            bindings::storage(4),
        ],
    )
}

impl Classify {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        batch_layout: &wgpu::BindGroupLayout,
        targets: &Targets,
        samples: u32,
        (batches, triangles): (&[Batch], &wgpu::Buffer),
    ) -> Result<Self, RenderError> {
        let device = &gpu.device;
        let first_layout = bindings::layout(
            device,
            "classify",
            &[
                bindings::multisampled(0, wgpu::TextureSampleType::Uint, samples),
                bindings::storage(1),
                bindings::multisampled(2, wgpu::TextureSampleType::Depth, samples),
            ],
        );
        let second_layout = bindings::layout(
            device,
            "classify second",
            &[bindings::texture(0, wgpu::TextureSampleType::Uint), bindings::storage(1)],
        );
        let constants = [("SAMPLES", f64::from(samples))];
        let pass = |label, defines, constants, groups, colors| FullScreen {
            label,
            path: "pass/classify.wgsl",
            defines,
            constants,
            groups,
            target: FullScreenTarget { colors, depth: Some(BATCH_FORMAT), ..Default::default() },
        };
        let defines: &[&str] = if samples > 1 { &["MULTISAMPLED"] } else { &[] };
        let groups = [frame_layout, &first_layout];
        let first = full_screen(gpu, &pass("classify", defines, &constants, &groups, &[SURFACE_FORMAT; SURFACES]))?;
        let groups = [frame_layout, &second_layout];
        let second = full_screen(gpu, &pass("classify second", &["SECOND"], &[], &groups, &[]))?;
        let first_group = bindings::group(
            device,
            "classify",
            &first_layout,
            &[bindings::view(&targets.triangles), triangles.as_entire_binding(), bindings::view(&targets.depth)],
        );
        let second_group = bindings::group(
            device,
            "classify second",
            &second_layout,
            &[bindings::view(&targets.surfaces[1]), triangles.as_entire_binding()],
        );
        let shade_groups = shade_groups(gpu, batch_layout, targets, batches)?;
        Ok(Self { first, first_group, second, second_group, shade_groups })
    }

    /// Fills the surfaces of every pixel and their batches.
    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, targets: &Targets) {
        let [first, second] = &targets.surfaces;
        let colors = [cleared(first), cleared(second)];
        let draws = [
            ("classify", &colors[..], &self.first, &self.first_group),
            ("classify second", &[], &self.second, &self.second_group),
        ];
        for ((label, colors, pipeline, group), batch) in draws.into_iter().zip(&targets.batches) {
            let mut pass = recorder.pass(label, frame, colors, Some(depth_target(batch, Some(0.0), true)));
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, group, &[]);
            pass.draw(0..3, 0..1);
        }
    }

    /// What shading reads of a batch for the k-th surface.
    pub(crate) fn shade_group(&self, batch: usize, k: usize) -> &wgpu::BindGroup {
        &self.shade_groups[batch][k]
    }
}

fn shade_groups(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    targets: &Targets,
    batches: &[Batch],
) -> Result<Vec<[wgpu::BindGroup; SURFACES]>, RenderError> {
    (0_u32..)
        .zip(batches)
        .map(|(number, batch)| {
            let uniform = filled(gpu, "batch", bytemuck::bytes_of(&batch.twin(number)), wgpu::BufferUsages::UNIFORM)?;
            Ok([0, 1].map(|k| {
                bindings::group(
                    &gpu.device,
                    "batch",
                    layout,
                    &[
                        batch.indices.as_entire_binding(),
                        batch.pose.as_entire_binding(),
                        bindings::view(&targets.surfaces[k]),
                        uniform.as_entire_binding(),
                        batch.surface.as_entire_binding(),
                    ],
                )
            }))
        })
        .collect()
}

/// The smallest part that holds both.
pub(crate) fn joined(a: Region, b: Region) -> Region {
    let (x, y) = (a.x.min(b.x), a.y.min(b.y));
    let (right, bottom) = ((a.x + a.width).max(b.x + b.width), (a.y + a.height).max(b.y + b.height));
    Region { x, y, width: right - x, height: bottom - y }
}

/// The part of the target in which a box can be seen, in whole pixels; nothing when it is outside.
pub(crate) fn scissor(
    clip_from_world: &glam::Mat4,
    (min, max): (glam::Vec3, glam::Vec3),
    width: u32,
    height: u32,
) -> Option<Region> {
    let (mut low, mut high) = (glam::Vec2::splat(f32::MAX), glam::Vec2::splat(f32::MIN));
    for corner in 0..8_u8 {
        let pick = |bit: u8, a: f32, b: f32| if corner & bit == 0 { a } else { b };
        let p = glam::Vec3::new(pick(1, min.x, max.x), pick(2, min.y, max.y), pick(4, min.z, max.z));
        let clip = *clip_from_world * p.extend(1.0);
        if clip.w <= 1e-4 {
            return Some(Region::whole(width, height));
        }
        let ndc = glam::Vec2::new(clip.x, -clip.y) / clip.w;
        low = low.min(ndc);
        high = high.max(ndc);
    }
    let size = glam::Vec2::new(width as f32, height as f32);
    let low = ((low * 0.5 + 0.5) * size - 1.0).floor().clamp(glam::Vec2::ZERO, size);
    let high = ((high * 0.5 + 0.5) * size + 1.0).ceil().clamp(glam::Vec2::ZERO, size);
    let part = Region {
        x: low.x as u32,
        y: low.y as u32,
        width: (high.x - low.x).max(0.0) as u32,
        height: (high.y - low.y).max(0.0) as u32,
    };
    (part.width > 0 && part.height > 0).then_some(part)
}
