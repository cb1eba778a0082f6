//! The draw calls that shade visible surfaces. One call shades all batches that share a pool and a bind group of
//! materials. Each batch is an instance, whose vertices cover the region in which the batch can be visible. A batch
//! whose triangles are scattered over a large region is split: the batch has an instance for each horizontal run of
//! tiles that its bounding boxes touch. If the processor has determined which tiles show each batch, all batches are
//! split, into instances for the first and for the second surfaces.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::Mat4;
use plinth_frame::Region;

use super::edge_tiles::TILE_SIDE;
use super::seen_tiles::SeenTiles;
use super::visibility::{Classify, SCISSOR_MARGIN, SURFACES, intersection, overlap};
use crate::gpu_scene::GpuScene;
use crate::gpu_types::ShadedBatch;
use crate::region::widened_within;
use crate::targets::TargetDescriptor;
use crate::upload::batch::Batch;
use crate::upload::material::MaterialOnGpu;
use crate::view::View;

/// The vertices of an instance (`pass/shade.wgsl`): a triangle that covers the whole picture; two triangles that cover
/// the region of the batch, to shade first surfaces; two triangles that cover the same region, to shade second
/// surfaces; and, from `FIRST_TILE_VERTEX` on, the tiles with edges.
const WHOLE_PICTURE: Range<u32> = 0..3;
const FIRST_SURFACE: Range<u32> = 3..9;
const SECOND_SURFACE: Range<u32> = 9..15;
const FIRST_TILE_VERTEX: u32 = 15;

/// If a region consists of more tiles than this, its second surfaces are shaded only in the tiles with edges. Shading
/// by tiles takes a draw call for each batch.
const MOST_TILES: u32 = 16;

/// Maximum number of regions in a frame into which batches are split. Batches that would exceed this number are not split.
const MAX_RUNS: usize = 1 << 14;

/// The order in which batches are shaded.
pub(crate) struct ShadingOrder {
    /// The indices of the batches. Batches that are shaded with one call are next to each other.
    batches: Vec<usize>,
    /// For each batch, its position in `batches`.
    places: Vec<u32>,
    /// For each call for opaque surfaces, the positions of its batches in `batches`.
    solid: Vec<Range<u32>>,
}

impl ShadingOrder {
    pub(crate) fn new(batches: &[Batch], materials: &[MaterialOnGpu]) -> Self {
        let mut calls: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (i, batch) in batches.iter().enumerate() {
            let material = &materials[batch.material];
            calls.entry((&material.key, batch.pool, material.set)).or_default().push(i);
        }
        let mut order = Self { batches: Vec::new(), places: vec![0; batches.len()], solid: Vec::new() };
        for ((key, ..), members) in calls {
            let first = order.batches.len() as u32;
            for (place, batch) in (first..).zip(&members) {
                order.places[*batch] = place;
            }
            order.batches.extend(members);
            if !key.class.is_transparent() {
                order.solid.push(first..order.batches.len() as u32);
            }
        }
        order
    }

    /// Returns how the batches are shaded in a frame. For each batch, `parts` contains the region of the canvas in
    /// which the batch can be visible. `seen` are the tiles in which batches are visible, if they are known.
    pub(crate) fn shaded(
        &self,
        look: &TargetDescriptor,
        clip_from_world: &Mat4,
        (parts, seen): (&[Option<Region>], Option<&SeenTiles>),
        gpu_scene: &GpuScene,
    ) -> Shaded {
        let runs = seen
            .and_then(|seen| self.seen_runs(parts, seen))
            .unwrap_or_else(|| self.box_runs(look, clip_from_world, parts, gpu_scene));
        let canvas = look.canvas();
        let instance = |batch: usize, part: Region| {
            let x = |pixel: u32| 2.0 * pixel as f32 / canvas.width as f32 - 1.0;
            let y = |pixel: u32| 1.0 - 2.0 * pixel as f32 / canvas.height as f32;
            ShadedBatch {
                edges: [x(part.x), y(part.y), x(part.x + part.width), y(part.y + part.height)],
                number: batch as u32,
                material: gpu_scene.material(batch).place,
                tiled: 0,
                unused: 0,
            }
        };
        let whole = self.batches.iter().map(|batch| {
            let part = parts[*batch].filter(|_| !runs.is_split[*batch]).unwrap_or(Region::EMPTY);
            ShadedBatch { tiled: u32::from(is_tiled(part)), ..instance(*batch, part) }
        });
        let of_runs = runs.regions.iter().map(|(batch, region)| instance(*batch, *region));
        Shaded { instances: whole.chain(of_runs).collect(), runs }
    }

    /// Splits the opaque batches whose bounding boxes are scattered.
    fn box_runs(
        &self,
        look: &TargetDescriptor,
        clip_from_world: &Mat4,
        parts: &[Option<Region>],
        gpu_scene: &GpuScene,
    ) -> Runs {
        let mut runs = Runs { is_split: vec![false; parts.len()], ..Runs::default() };
        for call in &self.solid {
            let first = runs.regions.len();
            for batch in self.members(call).iter().copied() {
                let Some(part) = parts[batch].filter(|part| is_tiled(*part)) else { continue };
                let boxes = gpu_scene.box_regions(look, clip_from_world, batch);
                let split = runs_of(part, boxes).filter(|split| runs.regions.len() + split.len() <= MAX_RUNS);
                runs.is_split[batch] = split.is_some();
                runs.regions.extend(split.into_iter().flatten().map(|run| (batch, run)));
            }
            let of_call = first..runs.regions.len();
            runs.of_calls.push([of_call.clone(), of_call]);
        }
        runs
    }

    /// Splits all opaque batches into the regions in which they are visible. Returns `None` if there would be too many
    /// regions.
    fn seen_runs(&self, parts: &[Option<Region>], seen: &SeenTiles) -> Option<Runs> {
        let mut runs = Runs { is_split: vec![false; parts.len()], ..Runs::default() };
        for call in &self.solid {
            let of_call = std::array::from_fn(|k| {
                let first = runs.regions.len();
                for batch in self.members(call).iter().copied() {
                    let regions = parts[batch].map(|part| seen.regions(k, batch, part)).unwrap_or_default();
                    runs.is_split[batch] = true;
                    runs.regions.extend(regions.into_iter().map(|region| (batch, region)));
                }
                first..runs.regions.len()
            });
            runs.of_calls.push(of_call);
        }
        (runs.regions.len() <= MAX_RUNS).then_some(runs)
    }

    fn members(&self, call: &Range<u32>) -> &[usize] {
        &self.batches[call.start as usize..call.end as usize]
    }

    /// Returns the maximum size of the instances in bytes. `on_host` tells whether the processor determines which
    /// surfaces are visible.
    pub(crate) fn max_bytes(batches: &[Batch], on_host: bool) -> u64 {
        let runs = if on_host || batches.iter().any(|batch| !batch.boxes.is_empty()) { MAX_RUNS } else { 0 };
        ((batches.len() + runs).max(1) * size_of::<ShadedBatch>()) as u64
    }
}

/// How batches are shaded in a frame.
#[derive(Default)]
pub(crate) struct Shaded {
    /// The instances of all batches in the order of [`ShadingOrder`], then those of all runs.
    pub(crate) instances: Vec<ShadedBatch>,
    runs: Runs,
}

/// The regions into which batches are split.
#[derive(Debug, Default, PartialEq)]
struct Runs {
    /// The batch and the region of each run.
    regions: Vec<(usize, Region)>,
    /// For each call for opaque surfaces, the runs of its first and of its second surfaces.
    of_calls: Vec<[Range<usize>; SURFACES]>,
    /// For each batch, whether it is shaded by runs.
    is_split: Vec<bool>,
}

/// Returns the horizontal runs of tiles that `regions` touch, as regions within `part`. The region `part` contains all
/// of `regions`. Returns `None` if `regions` is empty, or if more than three quarters of the tiles of `part` are
/// touched.
fn runs_of(part: Region, regions: impl Iterator<Item = Region>) -> Option<Vec<Region>> {
    let tiles = |first: u32, size: u32| first / TILE_SIDE..(first + size).div_ceil(TILE_SIDE);
    let (columns, rows) = (tiles(part.x, part.width), tiles(part.y, part.height));
    let mut touched = vec![vec![false; columns.len()]; rows.len()];
    for region in regions {
        let (own_columns, own_rows) = (tiles(region.x, region.width), tiles(region.y, region.height));
        let within = |own: Range<u32>, all: &Range<u32>| {
            let place = |tile: u32| (tile.clamp(all.start, all.end) - all.start) as usize;
            place(own.start)..place(own.end)
        };
        for row in &mut touched[within(own_rows, &rows)] {
            row[within(own_columns.clone(), &columns)].fill(true);
        }
    }
    let count = touched.iter().flatten().filter(|touched| **touched).count();
    if count == 0 || 4 * count > 3 * columns.len() * rows.len() {
        return None;
    }
    let mut runs = Vec::new();
    for (row, touched) in rows.zip(&touched) {
        let mut column = columns.start;
        for run in touched.chunk_by(|a, b| a == b) {
            let end = column + run.len() as u32;
            if run[0] {
                let (x, y) = ((column * TILE_SIDE).max(part.x), (row * TILE_SIDE).max(part.y));
                let right = (end * TILE_SIDE).min(part.x + part.width);
                let bottom = ((row + 1) * TILE_SIDE).min(part.y + part.height);
                runs.push(Region { x, y, width: right - x, height: bottom - y });
            }
            column = end;
        }
    }
    Some(runs)
}

/// Returns whether the second surfaces in a region are shaded only in the tiles with edges.
fn is_tiled(part: Region) -> bool {
    let tiles = |first: u32, size: u32| (first + size).div_ceil(TILE_SIDE) - first / TILE_SIDE;
    tiles(part.x, part.width) * tiles(part.y, part.height) > MOST_TILES
}

/// What a call shades: the instances of whole batches, and the runs of the first and of the second surfaces of split
/// batches.
pub(crate) struct ShadeCall {
    batches: Range<u32>,
    runs: [Range<usize>; SURFACES],
}

impl ShadingOrder {
    /// Returns the calls for opaque surfaces.
    pub(crate) fn solid_calls(&self, shaded: &Shaded) -> Vec<ShadeCall> {
        let calls = self.solid.iter().zip(&shaded.runs.of_calls);
        calls.map(|(batches, runs)| ShadeCall { batches: batches.clone(), runs: runs.clone() }).collect()
    }

    /// Returns calls that shade one batch each. The batches are not split.
    pub(crate) fn calls_of(&self, batches: &[usize]) -> Vec<ShadeCall> {
        let places = batches.iter().map(|batch| self.places[*batch]);
        places.map(|place| ShadeCall { batches: place..place + 1, runs: [0..0, 0..0] }).collect()
    }
}

/// Shades surfaces of the batches of some calls, in the region `within` of the canvas: first surfaces if `k` is 0, second
/// surfaces if `k` is 1.
pub(crate) fn shade(
    pass: &mut wgpu::RenderPass<'_>,
    gpu_scene: &GpuScene,
    view: &View,
    (classify, k): (&Classify, usize),
    (calls, within): (&[ShadeCall], Region),
) {
    let mut bound = None;
    pass.set_vertex_buffer(0, view.shaded_batches.slice(..));
    set_scissor(pass, within);
    let part_of = |batch: usize| view.parts[batch].filter(|part| overlap(*part, within));
    for call in calls {
        let members = gpu_scene.shading.members(&call.batches);
        let Some(batch) = members.iter().copied().find(|batch| part_of(*batch).is_some()) else { continue };
        let pool = gpu_scene.batches[batch].pool;
        let (Some(pipeline), Some(group)) = (&gpu_scene.pipelines.shade[batch], classify.shade_group(pool, k)) else {
            continue;
        };
        let whole = (call.batches.start..).zip(members).filter(|(_, batch)| !view.shaded.runs.is_split[**batch]);
        let whole: Vec<(u32, Region)> = whole.filter_map(|(place, batch)| Some((place, part_of(*batch)?))).collect();
        if whole.is_empty() && call.runs[k].is_empty() {
            continue;
        }
        // Drivers set up all their state again even if the same pipeline or bind group is set twice.
        if bound.map(|(bound, _)| bound) != Some(pipeline) {
            pass.set_pipeline(pipeline);
        }
        if bound.map(|(_, bound)| bound) != Some(pool) {
            pass.set_bind_group(1, group, &[]);
            pass.set_bind_group(3, &gpu_scene.pools[pool].light.group, &[]);
        }
        bound = Some((pipeline, pool));
        pass.set_bind_group(2, &gpu_scene.material(batch).group, &[]);
        draw_call(pass, &view.shaded, (classify, k), (call, &whole), within);
    }
}

/// Draws the instances of a call. `whole` are the instances of batches that are not split, with their regions.
fn draw_call(
    pass: &mut wgpu::RenderPass<'_>,
    shaded: &Shaded,
    (classify, k): (&Classify, usize),
    (call, whole): (&ShadeCall, &[(u32, Region)]),
    within: Region,
) {
    let first_run = shaded.instances.len() - shaded.runs.regions.len();
    let runs = (first_run + call.runs[k].start) as u32..(first_run + call.runs[k].end) as u32;
    // A single region is drawn with one triangle. Two triangles would both shade the blocks of pixels along the
    // region's diagonal. The outermost pixels of the scissor rectangle must not show the batch.
    let single = match (whole, &shaded.runs.regions[call.runs[k].clone()]) {
        ([single], []) => Some(*single),
        ([], [(_, region)]) if overlap(*region, within) => {
            Some((runs.start, widened_within(*region, SCISSOR_MARGIN, within)))
        }
        _ => None,
    };
    if let (Some((instance, part)), 0) = (single, k) {
        draw_within(pass, (part, within), WHOLE_PICTURE, instance);
        return;
    }
    let is_tiled = |part: Region| k > 0 && is_tiled(part);
    let vertices = if k == 0 { FIRST_SURFACE } else { SECOND_SURFACE };
    if whole.iter().any(|(_, part)| !is_tiled(*part)) {
        pass.draw(vertices.clone(), call.batches.clone());
    }
    if !runs.is_empty() {
        pass.draw(vertices, runs);
    }
    for (instance, part) in whole.iter().copied().filter(|(_, part)| is_tiled(*part)) {
        let tiles = classify.tile_vertices(intersection(part, within));
        let vertices = FIRST_TILE_VERTEX + tiles.start..FIRST_TILE_VERTEX + tiles.end;
        draw_within(pass, (part, within), vertices, instance);
    }
}

/// Draws an instance in the part of a region that is `within` another one, which overlaps it. Then sets this other region
/// as the scissor rectangle.
fn draw_within(pass: &mut wgpu::RenderPass<'_>, (part, within): (Region, Region), vertices: Range<u32>, instance: u32) {
    set_scissor(pass, intersection(part, within));
    pass.draw(vertices, instance..instance + 1);
    set_scissor(pass, within);
}

fn set_scissor(pass: &mut wgpu::RenderPass<'_>, part: Region) {
    pass.set_scissor_rect(part.x, part.y, part.width, part.height);
}

#[cfg(test)]
mod tests {
    use plinth_raster::TileBatches;

    use super::*;

    #[test]
    fn only_large_regions_are_shaded_by_tiles() {
        let region = |x, y, width, height| Region { x, y, width, height };
        assert!(!is_tiled(Region::EMPTY));
        assert!(!is_tiled(region(0, 0, 128, 128)));
        assert!(is_tiled(region(1, 0, 128, 128)), "five columns of tiles");
        assert!(!is_tiled(region(31, 31, 97, 97)));
        assert!(is_tiled(region(0, 0, 960, 32)));
    }

    #[test]
    fn scattered_regions_become_runs_of_tiles() {
        let region = |x, y, width, height| Region { x, y, width, height };
        let part = region(10, 40, 310, 100);
        let split = |regions: &[Region]| runs_of(part, regions.iter().copied());
        let (left, right) = (region(10, 40, 30, 10), region(300, 130, 20, 10));
        let expected = vec![region(10, 40, 54, 24), region(288, 128, 32, 12)];
        assert_eq!(split(&[left, right]), Some(expected));
        assert_eq!(split(&[left, region(60, 45, 30, 10)]), Some(vec![region(10, 40, 86, 24)]), "one run");
        assert_eq!(split(&[region(10, 40, 310, 90)]), None, "most tiles");
        assert_eq!(split(&[]), None);
    }

    #[test]
    fn batches_are_shaded_where_they_are_visible() {
        let region = |x, width| Region { x, y: 0, width, height: 32 };
        // A row of six tiles. Batches 0 and 1 are shaded with one call, batch 2 with another one.
        let order = ShadingOrder { batches: vec![1, 0, 2], places: vec![1, 0, 2], solid: vec![0..2, 2..3] };
        let row = |shown: [u16; 6]| -> Vec<TileBatches> {
            shown.map(|batch| std::array::from_fn(|k| if k == 0 { batch } else { 0 })).to_vec()
        };
        let tiles = [row([1, 2, 2, 3, 0, 0]), row([2, 0, 0, 0, 0, 2])];
        let seen = SeenTiles::new(&tiles, 6, 3).unwrap();
        let parts = [Some(region(4, 20)), Some(region(0, 190)), None];
        let expected = Runs {
            regions: vec![(1, region(32, 64)), (0, region(4, 20)), (1, region(0, 32)), (1, region(160, 30))],
            of_calls: vec![[0..2, 2..4], [4..4, 4..4]],
            is_split: vec![true; 3],
        };
        assert_eq!(order.seen_runs(&parts, &seen), Some(expected));
    }

    #[test]
    fn the_shader_has_the_same_vertices() {
        let text = include_str!("../../shaders/pass/shade.wgsl");
        assert!(text.contains(&format!("const FIRST_TILE_VERTEX: u32 = {FIRST_TILE_VERTEX}u;")));
        let ends = [WHOLE_PICTURE.end, FIRST_SURFACE.end, SECOND_SURFACE.end];
        assert_eq!(ends, [FIRST_SURFACE.start, SECOND_SURFACE.start, FIRST_TILE_VERTEX]);
    }
}
