//! The calls that shade visible surfaces. One call shades all batches that share a pool and a bind group of materials.
//! Each batch is an instance, whose vertices cover the region in which the batch can be visible.

use std::collections::BTreeMap;
use std::ops::Range;

use plinth_frame::Region;

use super::edge_tiles::TILE_SIDE;
use super::visibility::Classify;
use crate::gpu_scene::GpuScene;
use crate::gpu_types::ShadedBatch;
use crate::targets::TargetDescriptor;
use crate::upload::batch::Batch;
use crate::upload::material::MaterialOnGpu;
use crate::view::View;

/// The vertices of an instance: two triangles that cover its region, the same if second surfaces are shaded, and the
/// tiles with edges (`pass/shade.wgsl`).
const FIRST_SURFACE: Range<u32> = 0..6;
const SECOND_SURFACE: Range<u32> = 6..12;
const FIRST_TILE_VERTEX: u32 = 12;

/// If a region consists of more tiles than this, its second surfaces are shaded only in the tiles with edges. This takes
/// a call for each batch.
const MOST_TILES: u32 = 16;

/// The order in which batches are shaded.
pub(crate) struct ShadingOrder {
    /// Batches that are shaded with one call are next to each other.
    batches: Vec<usize>,
    /// For each batch, its position in this order.
    places: Vec<u32>,
    /// The batches of each call for opaque surfaces, as positions in this order.
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

    /// Returns the batches of each call for opaque surfaces.
    pub(crate) fn solid(&self) -> &[Range<u32>] {
        &self.solid
    }

    /// Returns calls that shade one batch each.
    pub(crate) fn calls_of(&self, batches: &[usize]) -> Vec<Range<u32>> {
        batches.iter().map(|batch| self.places[*batch]..self.places[*batch] + 1).collect()
    }

    /// Returns the instances of all batches in this order. `parts` are the regions of the canvas in which they can be
    /// visible, by batch.
    pub(crate) fn instances(
        &self,
        look: &TargetDescriptor,
        parts: &[Option<Region>],
        gpu_scene: &GpuScene,
    ) -> Vec<ShadedBatch> {
        let canvas = look.canvas();
        let instance = |batch: &usize| {
            let part = parts[*batch].unwrap_or(Region::EMPTY);
            let x = |pixel: u32| 2.0 * pixel as f32 / canvas.width as f32 - 1.0;
            let y = |pixel: u32| 1.0 - 2.0 * pixel as f32 / canvas.height as f32;
            ShadedBatch {
                edges: [x(part.x), y(part.y), x(part.x + part.width), y(part.y + part.height)],
                number: *batch as u32,
                material: gpu_scene.material(*batch).place,
                tiled: u32::from(is_tiled(part)),
                unused: 0,
            }
        };
        self.batches.iter().map(instance).collect()
    }
}

/// Returns whether the second surfaces in a region are shaded only in the tiles with edges.
fn is_tiled(part: Region) -> bool {
    let tiles = |first: u32, size: u32| (first + size).div_ceil(TILE_SIDE) - first / TILE_SIDE;
    tiles(part.x, part.width) * tiles(part.y, part.height) > MOST_TILES
}

/// Shades the surfaces number `k` of the batches of some calls.
pub(crate) fn shade(
    pass: &mut wgpu::RenderPass<'_>,
    gpu_scene: &GpuScene,
    view: &View,
    (classify, k): (&Classify, usize),
    calls: &[Range<u32>],
) {
    let mut bound = None;
    pass.set_vertex_buffer(0, view.shaded_batches.slice(..));
    for call in calls {
        let members = &gpu_scene.shading.batches[call.start as usize..call.end as usize];
        let Some(batch) = members.iter().copied().find(|batch| view.parts[*batch].is_some()) else { continue };
        let pool = gpu_scene.batches[batch].pool;
        let (Some(pipeline), Some(group)) = (&gpu_scene.pipelines.shade[batch], classify.shade_group(pool, k)) else {
            continue;
        };
        // Drivers set up all their state again even if a pipeline or a group is set that is set already.
        if bound.map(|(bound, _)| bound) != Some(pipeline) {
            pass.set_pipeline(pipeline);
        }
        if bound.map(|(_, bound)| bound) != Some(pool) {
            pass.set_bind_group(1, group, &[]);
            pass.set_bind_group(3, &gpu_scene.pools[pool].light.group, &[]);
        }
        bound = Some((pipeline, pool));
        pass.set_bind_group(2, &gpu_scene.material(batch).group, &[]);
        if k == 0 {
            pass.draw(FIRST_SURFACE, call.clone());
            continue;
        }
        let parts = || (call.start..).zip(members).filter_map(|(place, batch)| Some((place, view.parts[*batch]?)));
        if parts().any(|(_, part)| !is_tiled(part)) {
            pass.draw(SECOND_SURFACE, call.clone());
        }
        for (place, part) in parts().filter(|(_, part)| is_tiled(*part)) {
            let tiles = classify.tile_vertices(part);
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.draw(FIRST_TILE_VERTEX + tiles.start..FIRST_TILE_VERTEX + tiles.end, place..place + 1);
            let canvas = view.look.canvas();
            pass.set_scissor_rect(0, 0, canvas.width, canvas.height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_regions_are_shaded_by_tiles() {
        let region = |x, y, width, height| Region { x, y, width, height };
        assert!(!is_tiled(Region::EMPTY));
        assert!(!is_tiled(region(0, 0, 128, 128)));
        assert!(is_tiled(region(1, 0, 128, 128)), "five columns of tiles");
        assert!(!is_tiled(region(31, 31, 98, 98)));
        assert!(is_tiled(region(0, 0, 960, 32)));
    }

    #[test]
    fn the_shader_has_the_same_vertices() {
        let text = include_str!("../../shaders/pass/shade.wgsl");
        assert!(text.contains(&format!("const FIRST_TILE_VERTEX: u32 = {FIRST_TILE_VERTEX}u;")));
        assert_eq!((FIRST_SURFACE.end, SECOND_SURFACE.end), (SECOND_SURFACE.start, FIRST_TILE_VERTEX));
    }
}
