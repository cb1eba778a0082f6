//! Converts triangle samples to shaded surfaces: the samples of each pixel become up to two surfaces, and each surface
//! is shaded once (Burns and Hunt 2013, "The Visibility Buffer: A Cache-Friendly Approach to Deferred Shading").

use plinth_frame::Region;

use super::{cleared, depth_target, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{BATCH_FORMAT, FullScreen, FullScreenTarget, SURFACE_FORMAT, full_screen};
use crate::recorder::Recorder;
use crate::targets::Targets;
use crate::upload::geometry::{Batch, filled};

/// Number of surfaces per pixel.
pub(crate) const SURFACES: usize = 2;

/// Groups samples to surfaces.
pub(crate) struct Classify {
    /// Pixels with one surface, and the batch of all first surfaces.
    inner: Sorting,
    /// Finds edges, then their two surfaces; `None` if a pixel has only one sample.
    edges: Option<[Sorting; 2]>,
    /// Batches of second surfaces.
    second: Sorting,
    /// Inputs of shading for each batch and surface.
    shade_groups: Vec<[wgpu::BindGroup; SURFACES]>,
}

/// A classifying draw over a region of the canvas.
struct Sorting {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Sorting {
    fn draw(&self, pass: &mut wgpu::RenderPass<'_>, part: Region) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        pass.draw(0..3, 0..1);
    }
}

/// Group 1 of shading: corners, pose, surfaces, batch, attributes, and the pixels' other surfaces.
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
            bindings::texture(5, wgpu::TextureSampleType::Uint),
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
        let constants = [("SAMPLES", f64::from(samples))];
        let sampled: &[&str] = if samples > 1 { &["MULTISAMPLED"] } else { &[] };
        let sorting = |label, defines, constants, layout: &wgpu::BindGroupLayout, target, resources: &[_]| {
            let groups = [frame_layout, layout];
            let pass = FullScreen { label, path: "pass/classify.wgsl", defines, constants, groups: &groups, target };
            Ok::<_, RenderError>(Sorting {
                pipeline: full_screen(gpu, &pass)?,
                group: bindings::group(device, label, layout, resources),
            })
        };
        let layout = bindings::layout(
            device,
            "classify",
            &[
                bindings::multisampled(0, wgpu::TextureSampleType::Uint, samples),
                bindings::storage(1),
                bindings::multisampled(2, wgpu::TextureSampleType::Depth, samples),
            ],
        );
        let resources =
            [bindings::view(&targets.triangles), triangles.as_entire_binding(), bindings::view(&targets.depth)];
        let batch = FullScreenTarget { depth: Some(BATCH_FORMAT), ..Default::default() };
        let target = FullScreenTarget { colors: &[SURFACE_FORMAT], ..batch };
        let inner = sorting("classify", sampled, &constants[..], &layout, target, &resources)?;
        let over = Some((BATCH_FORMAT, wgpu::CompareFunction::Less));
        let target = FullScreenTarget { colors: &[SURFACE_FORMAT; SURFACES], over, ..Default::default() };
        let one = bindings::layout(
            device,
            "classify one surface",
            &[bindings::texture(0, wgpu::TextureSampleType::Uint), bindings::storage(1)],
        );
        let surface = |k: usize| [bindings::view(&targets.surfaces[k]), triangles.as_entire_binding()];
        let edges = if samples > 1 {
            let mark = sorting("mark edges", &["ONE_SURFACE", "MARK"], &[], &one, batch, &surface(0))?;
            let edges = &["MULTISAMPLED", "EDGE_PIXELS"];
            Some([mark, sorting("classify edges", edges, &constants, &layout, target, &resources)?])
        } else {
            None
        };
        let second = sorting("classify second", &["ONE_SURFACE"], &[], &one, batch, &surface(1))?;
        let shade_groups = shade_groups(gpu, batch_layout, targets, batches)?;
        Ok(Self { inner, edges, second, shade_groups })
    }

    /// Fills the surfaces and batches of the pixels in a region of the canvas; there are none elsewhere.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        targets: &Targets,
        part: Option<Region>,
    ) {
        let [first, second] = &targets.surfaces;
        let [first_batch, second_batch] = &targets.batches;
        let mut sort = |label, sorting: &Sorting, colors: &[_], depth| {
            let mut pass = recorder.pass(label, frame, colors, Some(depth));
            if let Some(part) = part {
                sorting.draw(&mut pass, part);
            }
        };
        sort("classify", &self.inner, &[cleared(first)], depth_target(first_batch, Some(0.0), true));
        if let Some([mark, edges]) = &self.edges {
            sort("mark edges", mark, &[], depth_target(second_batch, Some(0.0), true));
            let surfaces = [kept(first), cleared(second)];
            sort("classify edges", edges, &surfaces, depth_target(second_batch, None, true));
        }
        sort("classify second", &self.second, &[], depth_target(second_batch, Some(0.0), true));
    }

    /// Returns the inputs of shading for a batch and the k-th surface.
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
            let group = |k: usize| {
                let twin = batch.twin(number, k as u32);
                let uniform = filled(gpu, "batch", bytemuck::bytes_of(&twin), wgpu::BufferUsages::UNIFORM)?;
                Ok(bindings::group(
                    &gpu.device,
                    "batch",
                    layout,
                    &[
                        batch.indices.as_entire_binding(),
                        batch.pose.as_entire_binding(),
                        bindings::view(&targets.surfaces[k]),
                        uniform.as_entire_binding(),
                        batch.surface.as_entire_binding(),
                        bindings::view(&targets.surfaces[1 - k]),
                    ],
                ))
            };
            Ok([group(0)?, group(1)?])
        })
        .collect()
}

/// Returns the smallest region that contains both.
pub(crate) fn joined(a: Region, b: Region) -> Region {
    let (x, y) = (a.x.min(b.x), a.y.min(b.y));
    let (right, bottom) = ((a.x + a.width).max(b.x + b.width), (a.y + a.height).max(b.y + b.height));
    Region { x, y, width: right - x, height: bottom - y }
}

/// Whether the regions overlap.
pub(crate) const fn overlap(a: Region, b: Region) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

/// Returns the region of the target in which a box can be visible, in whole pixels; empty if it is outside.
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
