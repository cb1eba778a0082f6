//! Fewer triangles where they are smaller than the picture's pixels.
//!
//! A software driver shades four by four pixels for each triangle it touches: triangles below a pixel cost many times
//! what they show. Removing them by quadric error (Garland and Heckbert 1997, with attributes: Hoppe 1999) within a
//! fraction of a pixel changes nothing that can be seen.

use glam::Vec3;
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_attributes_and_locks};
use plinth_model::{Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use super::geometry::primitive_of;
use crate::gpu::Gpu;

/// Largest displacement, in pixels.
const PIXEL_ERROR: f32 = 0.6;
/// Change of a unit normal that weighs as much as the largest displacement.
const NORMAL_STEP: f32 = 0.15;
/// Change of texture coordinates that does.
const UV_STEP: f32 = 1.0 / 1500.0;
/// Smaller primitives are left as they are.
const MIN_TRIANGLES: usize = 1024;
/// Shots of fewer frames are drawn as they are: simplifying would take longer than it saves.
const MIN_FRAMES: usize = 4;

/// Size of a pixel at the model's nearest point over all frames, in world units, where leaving out what is smaller saves
/// time: in films of a software driver. A dataset shows everything.
pub(crate) fn smallest_shown(gpu: &Gpu, scene: &Scene, height: u32) -> Option<f32> {
    let worthwhile = gpu.is_software() && !scene.is_dataset && scene.shots.len() >= MIN_FRAMES;
    worthwhile.then(|| pixel_size(scene, height))
}

/// The indices with which each posed primitive is drawn.
pub(crate) fn drawn_indices(gpu: &Gpu, scene: &Scene, posed: &[PosedPrimitive], height: u32) -> Vec<Vec<u32>> {
    let pixel = smallest_shown(gpu, scene, height);
    posed
        .par_iter()
        .map(|one| {
            let Some(primitive) = primitive_of(scene, one) else { return Vec::new() };
            let worthwhile = primitive.topology == Topology::Triangles
                && primitive.indices.len() >= MIN_TRIANGLES * 3
                && primitive.morph_targets.is_empty()
                // What lies on another surface would sink into it.
                && !scene.model.materials[primitive.material].overlay;
            match pixel.filter(|_| worthwhile) {
                Some(pixel) => simplified(one, primitive, pixel * PIXEL_ERROR),
                None => primitive.indices.clone(),
            }
        })
        .collect()
}

/// Size of a pixel at the model's nearest point over all frames, in world units.
fn pixel_size(scene: &Scene, height: u32) -> f32 {
    let center = (scene.bounds.0 + scene.bounds.1) * 0.5;
    let radius = (scene.bounds.1 - center).length();
    scene
        .shots
        .iter()
        .map(|shot| {
            let nearest = (shot.camera.position.distance(center) - radius).max(0.02);
            2.0 * (0.5 * shot.camera.fov_y).tan() * nearest / height as f32
        })
        .fold(f32::MAX, f32::min)
}

fn simplified(posed: &PosedPrimitive, primitive: &Primitive, error: f32) -> Vec<u32> {
    let positions: &[u8] = bytemuck::cast_slice(&posed.positions);
    let Ok(vertices) = VertexDataAdapter::new(positions, size_of::<Vec3>(), 0) else {
        return primitive.indices.clone();
    };
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for p in &posed.positions {
        min = min.min(*p);
        max = max.max(*p);
    }
    // Attributes are weighed against positions scaled to a unit box.
    let relative = error / (max - min).max_element().max(1e-6);
    let attributes: Vec<[f32; 5]> = (0..posed.positions.len())
        .map(|v| {
            let n = posed.normals.get(v).copied().unwrap_or(Vec3::Y);
            let [s, t] = primitive.uvs.first().and_then(|set| set.get(v)).copied().unwrap_or([0.0; 2]);
            [n.x, n.y, n.z, s, t]
        })
        .collect();
    let weights = [[relative / NORMAL_STEP; 3].as_slice(), [relative / UV_STEP; 2].as_slice()].concat();
    let locks = vec![false; posed.positions.len()];
    simplify_with_attributes_and_locks(
        &primitive.indices,
        &vertices,
        attributes.as_flattened(),
        &weights,
        size_of::<[f32; 5]>(),
        &locks,
        0,
        error,
        SimplifyOptions::ErrorAbsolute,
        None,
    )
}
