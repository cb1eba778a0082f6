//! Merges vertices of very dense meshes, before anything is computed for them.
//!
//! Meshes of scanners and sculpting programs have several triangles per pixel. All later steps would read each of their
//! vertices, and collapsing edges by quadric error (`prepare/simplify.rs`) takes about a microsecond per triangle. This
//! module merges each vertex of a smooth part with a neighbour that is at most two pixels away, in a few passes over
//! the triangles. The remaining triangles are simplified like those of any other mesh.

mod chunk;
mod surface;

use std::sync::Arc;

use plinth_model::{Material, Model, Primitive, Topology};
use plinth_scene::{Scene, rounded_length, smallest_pixel};
use rayon::prelude::*;

use chunk::Chunk;
use surface::Surface;

/// Minimum number of triangles of a primitive whose vertices are merged.
const MIN_TRIANGLES: usize = 200_000;
/// Number of triangles that are processed together. Vertices that triangles of two chunks share are not moved. The size
/// is fixed, so that the result does not depend on the number of cores.
const TRIANGLES_PER_CHUNK: usize = 1 << 18;
/// Maximum number of rounds. Each round removes about two thirds of the triangles, as long as their edges are short.
const MAX_ROUNDS: usize = 2;
/// A round that keeps more than this fraction of the triangles is the last round.
const MOST_KEPT_IN_ROUND: f32 = 0.7;
/// If more than this fraction of a primitive's triangles would remain, the primitive is not changed.
const MOST_KEPT: f32 = 0.5;

/// Merges vertices whose distance makes no visible difference, if the scene has meshes with very many triangles. `height`
/// is the height of the frames in pixels.
///
/// Datasets, and meshes that move or have morph targets, are not changed.
pub fn merge_dense_vertices(scene: &mut Scene, height: u32) {
    if scene.is_dataset {
        return;
    }
    let pixel = rounded_length(smallest_pixel(scene.bounds, &scene.shots, height));
    let scales = scene.still_mesh_scales();
    let model = &scene.model;
    let mut merged: Vec<(usize, usize, Primitive)> = Vec::new();
    for (m, (mesh, scale)) in model.meshes.iter().zip(scales).enumerate() {
        let Some(scale) = scale.filter(|scale| *scale > 0.0 && scale.is_finite()) else { continue };
        for (p, primitive) in mesh.primitives.iter().enumerate() {
            let material = &model.materials[primitive.material];
            if is_mergeable(primitive, material) {
                let surface = Surface { model, material, primitive, pixel: pixel / scale };
                let kept = merged_triangles(&surface);
                if kept.len() as f32 <= MOST_KEPT * primitive.indices.len() as f32 {
                    merged.push((m, p, primitive.part(&kept)));
                }
            }
        }
    }
    if merged.is_empty() {
        return;
    }
    scene.is_merged = true;
    let model: &mut Model = Arc::make_mut(&mut scene.model);
    for (m, p, primitive) in merged {
        model.meshes[m].primitives[p] = primitive;
    }
}

fn is_mergeable(primitive: &Primitive, material: &Material) -> bool {
    primitive.topology == Topology::Triangles
        && primitive.indices.len() >= MIN_TRIANGLES * 3
        && primitive.morph_targets.is_empty()
        && primitive.joints.is_empty()
        // Flat shading gives each triangle its own vertices.
        && !primitive.is_flat
        // The criteria for merging limit only the change of the first texture coordinates.
        && primitive.uvs.iter().skip(1).all(Vec::is_empty)
        // Merged overlays could be below the surface on which they lie.
        && !material.overlay
}

/// Returns the triangles that remain, as indices of the surface's vertices.
fn merged_triangles(surface: &Surface<'_>) -> Vec<u32> {
    let mut indices: Option<Vec<u32>> = None;
    for _ in 0..MAX_ROUNDS {
        let before = indices.as_ref().unwrap_or(&surface.primitive.indices);
        let merged = |places: &mut Vec<u32>, part: &[u32]| Chunk::new(surface, places, part).merged();
        let no_places = || vec![chunk::NONE; surface.primitive.positions.len()];
        let parts: Vec<Vec<u32>> = before.par_chunks(3 * TRIANGLES_PER_CHUNK).map_init(no_places, merged).collect();
        let after = parts.concat();
        let is_last = after.len() as f32 > MOST_KEPT_IN_ROUND * before.len() as f32;
        indices = Some(after);
        if is_last {
            break;
        }
    }
    indices.unwrap_or_default()
}

#[cfg(test)]
mod tests;
