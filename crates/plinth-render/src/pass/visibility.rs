//! Converts triangle samples to shaded surfaces: the samples of each pixel become up to two surfaces, and each surface
//! is shaded once (Burns and Hunt 2013, "The Visibility Buffer: A Cache-Friendly Approach to Deferred Shading").

use std::ops::Range;

use plinth_frame::Region;

use super::edge_tiles::EdgeTiles;
use super::{cleared, depth_target, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{BATCH_FORMAT, FullScreen, FullScreenTarget, SURFACE_FORMAT, full_screen};
use crate::recorder::Recorder;
use crate::targets::{TargetLook, Targets};
use crate::upload::geometry::{Batch, filled};

/// Number of surfaces per pixel.
pub(crate) const SURFACES: usize = 2;
/// Vertices of the triangle that covers a picture.
const FULL_SCREEN_VERTICES: u32 = 3;

/// Groups samples to surfaces.
pub(crate) struct Classify {
    /// Pixels with one surface, and the batch of all first surfaces.
    inner: Sorting,
    /// Passes for pixels that show several triangles; `None` if a pixel has only one sample.
    edges: Option<Edges>,
    /// Inputs of shading for each batch and surface.
    shade_groups: Vec<[wgpu::BindGroup; SURFACES]>,
    tiles: EdgeTiles,
}

/// Passes that classify the samples of pixels that show several triangles.
struct Edges {
    /// Marks these pixels.
    mark: Sorting,
    /// Determines both surfaces of a pixel.
    sort: Sorting,
    /// Writes the batches of second surfaces.
    second: Sorting,
}

/// A draw that classifies samples.
struct Sorting {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Sorting {
    /// Draws vertices over a part of the canvas.
    fn draw(&self, pass: &mut wgpu::RenderPass<'_>, part: Region, vertices: Range<u32>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        pass.draw(vertices, 0..1);
    }
}

/// Group 1 of shading: corners, pose, surfaces, batch, attributes, the pixels' other surfaces, and the tiles with edges.
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
            bindings::vertex_storage(6),
        ],
    )
}

impl Classify {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        batch_layout: &wgpu::BindGroupLayout,
        targets: &Targets,
        look: TargetLook,
        (batches, triangles): (&[Batch], &wgpu::Buffer),
    ) -> Result<Self, RenderError> {
        let device = &gpu.device;
        let canvas = look.canvas();
        let tiles = EdgeTiles::new(gpu, canvas.width, canvas.height)?;
        let samples = look.samples;
        let is_multisampled = samples > 1;
        let pipeline = |label, defines: &[&str], constants: &[_], layout: &wgpu::BindGroupLayout, target| {
            let groups = [frame_layout, layout];
            let pass = FullScreen { label, path: "pass/classify.wgsl", defines, constants, groups: &groups, target };
            full_screen(gpu, &pass)
        };
        let of_samples = |tiles: wgpu::BindGroupLayoutEntry| {
            let mut entries = vec![
                bindings::multisampled(0, wgpu::TextureSampleType::Uint, samples),
                bindings::storage(1),
                bindings::multisampled(2, wgpu::TextureSampleType::Depth, samples),
            ];
            entries.push(tiles);
            bindings::layout(device, "classify", &entries)
        };
        let resources = [
            bindings::view(&targets.triangles),
            triangles.as_entire_binding(),
            bindings::view(&targets.depth),
            tiles.buffer.as_entire_binding(),
        ];
        let batch = FullScreenTarget { depth: Some(BATCH_FORMAT), ..Default::default() };
        let sample_count = ("SAMPLES", f64::from(samples));
        let inner = {
            let defines: &[&str] = if is_multisampled { &["MULTISAMPLED"] } else { &[] };
            let constants = [sample_count, ("ROW_TILES", f64::from(tiles.row_tiles))];
            let constants = if is_multisampled { &constants[..] } else { &constants[..1] };
            let target = FullScreenTarget { colors: &[SURFACE_FORMAT], ..batch };
            let layout = of_samples(bindings::written_storage(3));
            Sorting {
                pipeline: pipeline("classify", defines, constants, &layout, target)?,
                group: bindings::group(device, "classify", &layout, &resources),
            }
        };
        let edges = || {
            let entries = [
                bindings::texture(0, wgpu::TextureSampleType::Uint),
                bindings::storage(1),
                bindings::vertex_storage(3),
            ];
            let one = bindings::layout(device, "classify one surface", &entries);
            let surface = |label, defines: &[&str], k: usize| {
                let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
                let entries = [
                    entry(0, bindings::view(&targets.surfaces[k])),
                    entry(1, triangles.as_entire_binding()),
                    entry(3, tiles.buffer.as_entire_binding()),
                ];
                let descriptor = wgpu::BindGroupDescriptor { label: Some(label), layout: &one, entries: &entries };
                Ok::<_, RenderError>(Sorting {
                    pipeline: pipeline(label, defines, &[], &one, batch)?,
                    group: device.create_bind_group(&descriptor),
                })
            };
            let over = Some((BATCH_FORMAT, wgpu::CompareFunction::Less));
            let target = FullScreenTarget { colors: &[SURFACE_FORMAT; SURFACES], over, ..Default::default() };
            let defines = &["MULTISAMPLED", "AT_EDGES", "EDGE_PIXELS"];
            let layout = of_samples(bindings::vertex_storage(3));
            Ok::<_, RenderError>(Edges {
                mark: surface("mark edges", &["AT_EDGES", "ONE_SURFACE", "MARK"], 0)?,
                sort: Sorting {
                    pipeline: pipeline("classify edges", defines, &[sample_count], &layout, target)?,
                    group: bindings::group(device, "classify edges", &layout, &resources),
                },
                second: surface("classify second", &["AT_EDGES", "ONE_SURFACE"], 1)?,
            })
        };
        let edges = is_multisampled.then(edges).transpose()?;
        let shade_groups = shade_groups(gpu, batch_layout, targets, &tiles, batches)?;
        Ok(Self { inner, edges, shade_groups, tiles })
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
        self.tiles.clear(recorder);
        let mut sort = |label, sorting: &Sorting, vertices: Option<Range<u32>>, colors: &[_], depth| {
            let mut pass = recorder.pass(label, frame, colors, Some(depth));
            if let (Some(part), Some(vertices)) = (part, vertices) {
                sorting.draw(&mut pass, part, vertices);
            }
        };
        let everywhere = Some(0..3);
        sort("classify", &self.inner, everywhere, &[cleared(first)], depth_target(first_batch, Some(0.0), true));
        let Some(edges) = &self.edges else { return };
        let at_edges = || part.map(|part| self.tiles.vertices(part));
        sort("mark edges", &edges.mark, at_edges(), &[], depth_target(second_batch, Some(0.0), true));
        let surfaces = [kept(first), cleared(second)];
        sort("classify edges", &edges.sort, at_edges(), &surfaces, depth_target(second_batch, None, true));
        sort("classify second", &edges.second, at_edges(), &[], depth_target(second_batch, None, true));
    }

    /// Returns the vertices for shading the k-th surfaces in a region of the canvas.
    pub(crate) fn shade_vertices(&self, part: Region, k: usize) -> Range<u32> {
        if k == 0 {
            return 0..FULL_SCREEN_VERTICES;
        }
        let tiles = self.tiles.vertices(part);
        FULL_SCREEN_VERTICES + tiles.start..FULL_SCREEN_VERTICES + tiles.end
    }

    /// Returns how many surfaces a pixel can have.
    pub(crate) fn surfaces(&self) -> usize {
        if self.edges.is_some() { SURFACES } else { 1 }
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
    tiles: &EdgeTiles,
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
                        tiles.buffer.as_entire_binding(),
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
