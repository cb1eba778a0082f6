//! Fewer triangles where they are smaller than the picture's pixels.
//!
//! A software driver shades four by four pixels for each triangle it touches: triangles below a pixel cost many times
//! what they show. Removing them by quadric error (Garland and Heckbert 1997, with attributes: Hoppe 1999) within a
//! fraction of a pixel changes nothing that can be seen.

use glam::{Vec2, Vec3};
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_attributes_and_locks};
use plinth_model::{Model, Primitive, Topology};
use plinth_scene::{PosedPrimitive, SURFACE_ERROR_PIXELS, Scene, smallest_pixel};
use rayon::prelude::*;

use super::at_vertex::least_roughness;
use super::geometry::primitive_of;
use crate::gpu::Gpu;

/// Change of a unit normal over the area of one pixel that weighs as much as the largest displacement.
const NORMAL_STEP: f32 = 0.25;
/// The same on matt surfaces, whose light changes little with the normal; reflections in polished ones change at once.
const MATT_NORMAL_STEP: f32 = 4.0;
/// Perceptual roughness from which on a surface is matt.
const MATT: f32 = 0.4;
/// Change of texture coordinates that does, in units of what they change by over a pixel.
const UV_STEP: f32 = 2.0;
/// Smaller primitives are left as they are.
const MIN_TRIANGLES: usize = 1024;
/// Shots of fewer frames are drawn as they are: simplifying would take longer than it saves.
const MIN_FRAMES: usize = 4;

/// Size of a pixel at the model's nearest point over all frames, in world units, where leaving out what is smaller saves
/// time: in films of a software driver. A dataset shows everything.
pub(crate) fn smallest_shown(gpu: &Gpu, scene: &Scene, height: u32) -> Option<f32> {
    let worthwhile = gpu.is_software() && !scene.is_dataset && scene.shots.len() >= MIN_FRAMES;
    worthwhile.then(|| smallest_pixel(scene.bounds, &scene.shots, height))
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
                Some(pixel) => simplified(&scene.model, one, primitive, pixel),
                None => primitive.indices.clone(),
            }
        })
        .collect()
}

/// The indices without the triangles that make no difference where a pixel is so large, in world units.
fn simplified(model: &Model, posed: &PosedPrimitive, primitive: &Primitive, pixel: f32) -> Vec<u32> {
    let positions: &[u8] = bytemuck::cast_slice(&posed.positions);
    let Ok(vertices) = VertexDataAdapter::new(positions, size_of::<Vec3>(), 0) else {
        return primitive.indices.clone();
    };
    let uvs = primitive.uvs.first();
    let attributes: Vec<[f32; 5]> = (0..posed.positions.len())
        .map(|v| {
            let n = posed.normals.get(v).copied().unwrap_or(Vec3::Y);
            let [s, t] = uvs.and_then(|set| set.get(v)).copied().unwrap_or([0.0; 2]);
            [n.x, n.y, n.z, s, t]
        })
        .collect();
    // The change of an attribute, times its weight, is an error of so many square roots of the area that it is seen on.
    let uv_per_pixel = uvs.map_or(0.0, |uvs| uv_density(posed, &primitive.indices, uvs)) * pixel;
    let uv_weight = if uv_per_pixel > 0.0 { SURFACE_ERROR_PIXELS / (UV_STEP * uv_per_pixel) } else { 0.0 };
    let simplify = |indices: &[u32], normal_step: f32, locks: &[bool]| {
        let normal_weight = SURFACE_ERROR_PIXELS / normal_step;
        simplify_with_attributes_and_locks(
            indices,
            &vertices,
            attributes.as_flattened(),
            &[normal_weight, normal_weight, normal_weight, uv_weight, uv_weight],
            size_of::<[f32; 5]>(),
            locks,
            0,
            SURFACE_ERROR_PIXELS * pixel,
            SimplifyOptions::ErrorAbsolute,
            None,
        )
    };
    let material = &model.materials[primitive.material];
    let polished: Vec<bool> =
        (0..posed.positions.len()).map(|v| least_roughness(model, material, primitive, v) < MATT).collect();
    let matt = if polished.iter().all(|p| *p) {
        primitive.indices.clone()
    } else {
        simplify(&primitive.indices, MATT_NORMAL_STEP, &polished)
    };
    if polished.contains(&true) { simplify(&matt, NORMAL_STEP, &vec![false; polished.len()]) } else { matt }
}

/// Change of texture coordinates over one world unit: the root of the ratio of areas, over all triangles.
fn uv_density(posed: &PosedPrimitive, indices: &[u32], uvs: &[[f32; 2]]) -> f32 {
    let (mut of_texture, mut of_surface) = (0.0, 0.0);
    for triangle in indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(|i| posed.positions[i as usize]);
        let [p, q, r] = triangle.map(|i| Vec2::from(uvs[i as usize]));
        of_surface += (b - a).cross(c - a).length();
        of_texture += (q - p).perp_dot(r - p).abs();
    }
    f32::sqrt(of_texture / of_surface.max(f32::MIN_POSITIVE))
}
