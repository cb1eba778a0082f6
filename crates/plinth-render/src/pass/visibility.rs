//! Converts triangle numbers to shaded surfaces. A surface is the part of a pixel that shows one triangle or several
//! connected triangles. The samples of each pixel are grouped to one or two surfaces, and each surface is shaded once
//! (Burns and Hunt 2013, "The Visibility Buffer: A Cache-Friendly Approach to Deferred Shading").

use std::cell::Cell;
use std::ops::Range;

use plinth_frame::Region;

use super::edge_tiles::EdgeTiles;
use super::scene_color::scene_entries;
use super::{cleared, depth_target, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{BATCH_FORMAT, FullScreen, FullScreenTarget, SURFACE_FORMAT, full_screen};
use crate::recorder::Recorder;
use crate::region::widened_within;
use crate::targets::TargetDescriptor;
use crate::upload::batch::Batch;
use crate::upload::geometry::filled;
use crate::upload::pool::Model;

/// Maximum number of surfaces per pixel.
pub(crate) const SURFACES: usize = 2;

/// Passes that group the samples of each pixel to surfaces.
pub(crate) struct Classify {
    /// The draws that determine the surfaces. `None` if the processor determines them.
    draws: Option<Draws>,
    samples: u32,
    /// For each pool and each surface of a pixel, the bind group with the inputs of shading. `None` for a pool whose
    /// surfaces are not shaded in this way.
    shade_groups: Vec<Option<[wgpu::BindGroup; SURFACES]>>,
    pub(crate) tiles: EdgeTiles,
    /// The region in which surfaces were determined for the last frame.
    last: Cell<Option<Region>>,
    /// The region of the canvas that the samples cover.
    model_region: Region,
}

/// The draws that determine the surfaces of each pixel.
struct Draws {
    /// For all pixels, writes the number of the batch of the first surface. For pixels that show one triangle, also
    /// writes the surface.
    inner: ClassifyDraw,
    /// Passes for pixels that show several triangles. `None` if pixels have only one sample.
    edges: Option<Edges>,
}

/// Passes for pixels that show several triangles.
struct Edges {
    /// Marks the pixels that show several triangles.
    mark: ClassifyDraw,
    /// Determines both surfaces of each marked pixel.
    sort: ClassifyDraw,
    /// Replaces the mark of each pixel by the number of the batch of its second surface.
    second: ClassifyDraw,
}

/// A full-screen or tiled draw: its pipeline and its bind group.
struct ClassifyDraw {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl ClassifyDraw {
    /// Draws vertices in a region of the canvas.
    fn draw(&self, pass: &mut wgpu::RenderPass<'_>, part: Region, vertices: Range<u32>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        pass.draw(vertices, 0..1);
    }
}

/// Returns the layout of bind group 1 for shading a pool. The bindings are the triangle corners, the pose, the surfaces
/// to be shaded, the pool's uniform, the other vertex attributes, the other surface of each pixel, and the tiles with
/// edges.
fn pool_entries() -> Vec<wgpu::BindGroupLayoutEntry> {
    vec![
        bindings::storage(0),
        bindings::storage(1),
        bindings::texture(2, wgpu::TextureSampleType::Uint),
        bindings::uniform(3),
        bindings::storage(4),
        bindings::texture(5, wgpu::TextureSampleType::Uint),
        bindings::vertex_storage(6),
    ]
}

/// Creates the layout of bind group 1 for shading a pool.
pub(crate) fn pool_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "pool", &pool_entries())
}

/// Creates the layout of bind group 1 for shading glass, which also reads the scene colour pyramid.
pub(crate) fn glass_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = pool_entries().into_iter().chain(scene_entries()).collect();
    bindings::layout(&gpu.device, "glass", &entries)
}

/// The textures that contain the surfaces of each pixel, and the samples from which the surfaces are determined.
#[derive(Clone, Copy)]
pub(crate) struct SurfaceMaps<'a> {
    /// Number of the visible triangle in each sample.
    pub(crate) triangles: &'a wgpu::TextureView,
    /// Depth of the same samples.
    pub(crate) depth: &'a wgpu::TextureView,
    pub(crate) surfaces: &'a [wgpu::TextureView; SURFACES],
    /// The numbers of the surfaces' batches, stored as depth.
    pub(crate) batches: &'a [wgpu::TextureView; SURFACES],
}

/// Creates the attachment of a colour target.
type ColorOf = fn(&wgpu::TextureView) -> wgpu::RenderPassColorAttachment<'_>;

/// The contents of the surface maps outside the region in which surfaces are determined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutsideRegion {
    /// The maps are cleared and contain no surfaces. Clearing takes time for the whole canvas.
    Emptied,
    /// The maps contain no first surfaces and no numbers of batches, because those of the previous frame are replaced. A
    /// pixel's second surface is undefined if its first surface covers none or all of the pixel. Other passes may only
    /// remove numbers of batches.
    Replaced,
    /// The maps keep their previous contents. The second surfaces inside the region must already be empty.
    Kept,
}

/// Width in pixels of a margin around the region in which surfaces are determined, if the maps are not cleared. Lavapipe
/// of Mesa 22 leaves the outermost pixels of a scissor rectangle unchanged in some full-screen draws. Without the margin,
/// these pixels would show surfaces of an earlier draw.
pub(crate) const SCISSOR_MARGIN: u32 = 2;

/// The batches whose surfaces are determined, and the inputs for shading them.
pub(crate) struct Shading<'a> {
    /// Layout of group 1.
    pub(crate) layout: &'a wgpu::BindGroupLayout,
    pub(crate) model: Model<'a>,
    /// The triangle words of all batches.
    pub(crate) triangles: &'a wgpu::Buffer,
    /// The scene colour pyramid, for glass.
    pub(crate) scene_color: Option<&'a [wgpu::TextureView; 3]>,
}

impl Shading<'_> {
    fn shades(&self, batch: &Batch) -> bool {
        if self.scene_color.is_some() { batch.is_visibility_buffered_glass() } else { batch.transparency.is_none() }
    }
}

impl Classify {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        maps: SurfaceMaps<'_>,
        look: TargetDescriptor,
        shading: &Shading<'_>,
    ) -> Result<Self, RenderError> {
        let canvas = look.canvas();
        let tiles = EdgeTiles::new(gpu, canvas.width, canvas.height)?;
        let triangles = shading.triangles;
        let inputs = Inputs { gpu, frame_layout, maps, triangles, tiles: &tiles, samples: look.samples };
        let draws = (!look.on_host).then(|| inputs.draws()).transpose()?;
        let shade_groups = shade_groups(gpu, maps, &tiles, shading)?;
        let [x, y] = look.origin();
        let model_region = Region { x, y, ..look.model_region };
        Ok(Self { draws, samples: look.samples, shade_groups, tiles, last: Cell::new(None), model_region })
    }

    /// Determines the surfaces in a region of the canvas, and the batches to which they belong.
    pub(crate) fn run(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        maps: SurfaceMaps<'_>,
        (part, outside): (Option<Region>, OutsideRegion),
    ) {
        let Some(draws) = &self.draws else { return };
        let [first, second] = maps.surfaces;
        let [first_batch, second_batch] = maps.batches;
        let (color, depth): (ColorOf, _) = match outside {
            OutsideRegion::Emptied => (cleared, Some(0.0)),
            OutsideRegion::Replaced | OutsideRegion::Kept => (kept, None),
        };
        let part = if outside == OutsideRegion::Replaced {
            self.tiles.keep_previous(recorder);
            let part = part.map(|part| widened_within(part, SCISSOR_MARGIN, self.model_region));
            part.into_iter().chain(self.last.replace(part)).reduce(joined)
        } else {
            part
        };
        self.tiles.clear(recorder);
        let mut sort = |label, sorting: &ClassifyDraw, vertices: Option<Range<u32>>, colors: &[_], depth| {
            let mut pass = recorder.pass(label, frame, colors, Some(depth));
            if let (Some(part), Some(vertices)) = (part, vertices) {
                sorting.draw(&mut pass, part, vertices);
            }
        };
        let everywhere = Some(0..3);
        sort("classify", &draws.inner, everywhere, &[color(first)], depth_target(first_batch, depth, true));
        let Some(edges) = &draws.edges else { return };
        let at_edges = || part.map(|part| self.tiles.vertices(part));
        sort("mark edges", &edges.mark, at_edges(), &[], depth_target(second_batch, depth, true));
        let surfaces = [kept(first), color(second)];
        sort("classify edges", &edges.sort, at_edges(), &surfaces, depth_target(second_batch, None, true));
        sort("classify second", &edges.second, at_edges(), &[], depth_target(second_batch, None, true));
    }

    /// Returns the vertices with which the tiles of a region are drawn.
    pub(crate) fn tile_vertices(&self, part: Region) -> Range<u32> {
        self.tiles.vertices(part)
    }

    /// Returns the maximum number of surfaces of a pixel.
    pub(crate) fn surfaces(&self) -> usize {
        if self.samples > 1 { SURFACES } else { 1 }
    }

    /// Returns the bind group for shading surfaces of a pool: first surfaces if `k` is 0, second surfaces if `k` is 1.
    /// Returns `None` if the pool's surfaces are not shaded in this way.
    pub(crate) fn shade_group(&self, pool: usize, k: usize) -> Option<&wgpu::BindGroup> {
        self.shade_groups[pool].as_ref().map(|groups| &groups[k])
    }
}

/// The resources from which the draws are created.
struct Inputs<'a> {
    gpu: &'a Gpu,
    frame_layout: &'a wgpu::BindGroupLayout,
    maps: SurfaceMaps<'a>,
    triangles: &'a wgpu::Buffer,
    tiles: &'a EdgeTiles,
    samples: u32,
}

/// The render target of a pass that writes the number of a batch as the depth of each pixel.
const BATCH_TARGET: FullScreenTarget<'_> = FullScreenTarget {
    colors: &[],
    blend: None,
    depth: Some((BATCH_FORMAT, wgpu::CompareFunction::Always)),
    over: None,
    samples: 1,
};

impl Inputs<'_> {
    fn sample_count(&self) -> (&'static str, f64) {
        ("SAMPLES", f64::from(self.samples))
    }

    fn pipeline(
        &self,
        label: &str,
        defines: &[&str],
        constants: &[(&str, f64)],
        layout: &wgpu::BindGroupLayout,
        target: FullScreenTarget<'_>,
    ) -> Result<wgpu::RenderPipeline, RenderError> {
        let groups = [self.frame_layout, layout];
        let pass = FullScreen { label, path: "pass/classify.wgsl", defines, constants, groups: &groups, target };
        full_screen(self.gpu, &pass)
    }

    /// Creates bind group 1 for draws that read samples, and its layout. `tiles` is the layout entry of the buffer with
    /// the tiles.
    fn of_samples(&self, label: &str, tiles: wgpu::BindGroupLayoutEntry) -> (wgpu::BindGroupLayout, wgpu::BindGroup) {
        let device = &self.gpu.device;
        let layout = bindings::layout(
            device,
            label,
            &[
                bindings::multisampled(0, wgpu::TextureSampleType::Uint, self.samples),
                bindings::storage(1),
                bindings::multisampled(2, wgpu::TextureSampleType::Depth, self.samples),
                tiles,
            ],
        );
        let resources = [
            bindings::view(self.maps.triangles),
            self.triangles.as_entire_binding(),
            bindings::view(self.maps.depth),
            self.tiles.buffer.as_entire_binding(),
        ];
        let group = bindings::group(device, label, &layout, &resources);
        (layout, group)
    }

    fn draws(&self) -> Result<Draws, RenderError> {
        let edges = (self.samples > 1).then(|| self.edges()).transpose()?;
        Ok(Draws { inner: self.inner()?, edges })
    }

    fn inner(&self) -> Result<ClassifyDraw, RenderError> {
        let target = FullScreenTarget { colors: &[SURFACE_FORMAT], ..BATCH_TARGET };
        let constants = [self.sample_count(), ("ROW_TILES", f64::from(self.tiles.row_tiles))];
        let (defines, constants): (&[&str], _) =
            if self.samples > 1 { (&["MULTISAMPLED"], &constants[..]) } else { (&[], &constants[..1]) };
        let (layout, group) = self.of_samples("classify", bindings::written_storage(3));
        Ok(ClassifyDraw { pipeline: self.pipeline("classify", defines, constants, &layout, target)?, group })
    }

    fn edges(&self) -> Result<Edges, RenderError> {
        let over = Some((BATCH_FORMAT, wgpu::CompareFunction::Less));
        let target = FullScreenTarget { colors: &[SURFACE_FORMAT; SURFACES], over, ..Default::default() };
        let defines = &["MULTISAMPLED", "AT_EDGES", "EDGE_PIXELS"];
        let (layout, group) = self.of_samples("classify edges", bindings::vertex_storage(3));
        Ok(Edges {
            mark: self.of_surface("mark edges", &["AT_EDGES", "ONE_SURFACE", "MARK"], 0, BATCH_TARGET)?,
            sort: ClassifyDraw {
                pipeline: self.pipeline("classify edges", defines, &[self.sample_count()], &layout, target)?,
                group,
            },
            second: {
                let depth = Some((BATCH_FORMAT, wgpu::CompareFunction::Less));
                let target = FullScreenTarget { depth, ..BATCH_TARGET };
                self.of_surface("classify second", &["AT_EDGES", "ONE_SURFACE"], 1, target)?
            },
        })
    }

    /// Creates a draw that reads the first surfaces if `k` is 0, or the second surfaces if `k` is 1.
    fn of_surface(
        &self,
        label: &str,
        defines: &[&str],
        k: usize,
        target: FullScreenTarget<'_>,
    ) -> Result<ClassifyDraw, RenderError> {
        let device = &self.gpu.device;
        let entries = [
            bindings::texture(0, wgpu::TextureSampleType::Uint),
            bindings::storage(1),
            bindings::vertex_storage(3),
            bindings::vertex_storage(4),
        ];
        let layout = bindings::layout(device, label, &entries);
        let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        let entries = [
            entry(0, bindings::view(&self.maps.surfaces[k])),
            entry(1, self.triangles.as_entire_binding()),
            entry(3, self.tiles.buffer.as_entire_binding()),
            entry(4, self.tiles.previous.as_entire_binding()),
        ];
        let descriptor = wgpu::BindGroupDescriptor { label: Some(label), layout: &layout, entries: &entries };
        let group = device.create_bind_group(&descriptor);
        Ok(ClassifyDraw { pipeline: self.pipeline(label, defines, &[], &layout, target)?, group })
    }
}

fn shade_groups(
    gpu: &Gpu,
    maps: SurfaceMaps<'_>,
    tiles: &EdgeTiles,
    shading: &Shading<'_>,
) -> Result<Vec<Option<[wgpu::BindGroup; SURFACES]>>, RenderError> {
    let Model { pools, batches } = shading.model;
    let mut groups = vec![None; pools.len()];
    for batch in batches.iter().filter(|batch| shading.shades(batch)) {
        if groups[batch.pool].is_some() {
            continue;
        }
        let pool = &pools[batch.pool];
        let sprites = batch.sprites.as_ref().map(|sprites| sprites.look).unwrap_or_default();
        let group = |k: usize| {
            let twin = pool.twin(k as u32, sprites);
            let uniform = filled(gpu, "pool", bytemuck::bytes_of(&twin), wgpu::BufferUsages::UNIFORM)?;
            let mut resources = vec![
                pool.packed_corners.as_entire_binding(),
                pool.pose.as_entire_binding(),
                bindings::view(&maps.surfaces[k]),
                uniform.as_entire_binding(),
                pool.surface.as_entire_binding(),
                bindings::view(&maps.surfaces[1 - k]),
                tiles.buffer.as_entire_binding(),
            ];
            resources.extend(shading.scene_color.into_iter().flatten().map(bindings::view));
            Ok::<_, RenderError>(bindings::group(&gpu.device, "pool", shading.layout, &resources))
        };
        groups[batch.pool] = Some([group(0)?, group(1)?]);
    }
    Ok(groups)
}

/// Returns the smallest region that contains both regions.
pub(crate) fn joined(a: Region, b: Region) -> Region {
    let (x, y) = (a.x.min(b.x), a.y.min(b.y));
    let (right, bottom) = ((a.x + a.width).max(b.x + b.width), (a.y + a.height).max(b.y + b.height));
    Region { x, y, width: right - x, height: bottom - y }
}

pub(crate) const fn overlap(a: Region, b: Region) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

/// Returns the region that two overlapping regions have in common.
pub(crate) fn intersection(a: Region, b: Region) -> Region {
    let (x, y) = (a.x.max(b.x), a.y.max(b.y));
    let (right, bottom) = ((a.x + a.width).min(b.x + b.width), (a.y + a.height).min(b.y + b.height));
    Region { x, y, width: right - x, height: bottom - y }
}

/// Returns the region of the target in which a box can be visible, in whole pixels. Returns `None` if the box is
/// outside the target.
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
