//! Light that is worked out before the first frame.

use std::f32::consts::PI;

use glam::Vec3;
use plinth_bake::{BakeLight, BakeMesh, BakeOptions, BakedMesh, Sun, bake};
use plinth_scene::{EnvironmentMap, PointLikeLight, Scene};
use rayon::prelude::*;

use super::distance_field::{DistanceField, is_worthwhile};
use super::inputs::{bake_mesh, floor_grid};
use super::simplify::drawn_indices;
use super::{EnvironmentLight, ModelLight, Setting};
use crate::ibl::{irradiance_map, prefilter};
use crate::pass::floor::AMBIENT_SIDE;

/// Side of the filtered environment at roughness 0, in texels.
const MAP_SIDE: u32 = 512;
/// Roughness steps of the filtered environment.
const MAP_MIPS: u32 = 6;

/// Positions of the camera that are asked what they see.
const MAX_EYES: usize = 24;

impl EnvironmentLight {
    /// Filters a panorama whose sun was taken out.
    pub(super) fn new(map: &EnvironmentMap, sun: Option<Sun>) -> Self {
        Self { sun, specular: prefilter(map, MAP_SIDE, MAP_MIPS), irradiance: irradiance_map(map) }
    }
}

impl ModelLight {
    /// Chooses the triangles that are drawn, and gathers the light of a panorama and of its sun on them.
    pub(super) fn new(setting: &Setting<'_>, environment: &EnvironmentMap, sun: Option<&Sun>) -> Self {
        let scene = setting.scene;
        let indices = drawn_indices(scene, setting.posed, setting.smallest);
        let meshes = setting.posed.par_iter().zip(&indices).map(|(one, indices)| bake_mesh(scene, one, indices));
        let mut meshes: Vec<BakeMesh> = meshes.collect();
        meshes.extend(setting.floor.map(floor_grid));
        let mut baked = bake(&meshes, environment, &bake_lights(scene, sun), &eyes(scene), &bake_options(setting));
        let floor_ambient = if setting.floor.is_some() {
            let floor = baked.meshes.pop().unwrap_or_default();
            let grid: Vec<f32> = floor.front.iter().map(|v| v.direct.dot(Vec3::splat(1.0 / 3.0))).collect();
            softened(&grid, AMBIENT_SIDE as usize)
        } else {
            Vec::new()
        };
        for light in baked.meshes.iter_mut().flat_map(BakedMesh::all_mut) {
            *light = light.occluded(scene.occlusion);
        }
        let field = DistanceField::new(setting.moving, &baked.surfaces);
        Self { indices, baked: baked.meshes, field, floor_ambient }
    }
}

/// How much work the bake may be.
pub(super) fn bake_options(setting: &Setting<'_>) -> BakeOptions {
    let options = BakeOptions::default();
    let options = if setting.scene.fine_light { options.finer() } else { options };
    BakeOptions { surfaces: is_worthwhile(setting.scene, setting.posed), ..options }
}

/// A square grid with each value mixed with its neighbours' by binomial weights.
fn softened(grid: &[f32], side: usize) -> Vec<f32> {
    let along = |grid: &[f32], step: usize, place: fn(usize, usize) -> usize| -> Vec<f32> {
        (0..grid.len())
            .map(|i| {
                let at = place(i, side);
                let before = if at == 0 { i } else { i - step };
                let after = if at + 1 == side { i } else { i + step };
                0.25 * grid[before] + 0.5 * grid[i] + 0.25 * grid[after]
            })
            .collect()
    };
    along(&along(grid, 1, |i, side| i % side), side, |i, side| i / side)
}

/// Angular radius of lights that are drawn into the environment, in radians.
const SOFT_LIGHT_RADIUS: f32 = 0.3;

/// Parallel lights cast no shadow of their own: as soft discs of the environment they cost nothing per pixel, are
/// dimmed where the model is in their way, and leave soft highlights.
pub(super) fn with_soft_lights(mut environment: EnvironmentMap, lights: &[PointLikeLight]) -> EnvironmentMap {
    for light in lights {
        let PointLikeLight::Directional { to_light, irradiance } = *light else { continue };
        let edge = SOFT_LIGHT_RADIUS.cos();
        // A cosine-shaped disc: its irradiance is that of even radiance over the solid angle, times one half.
        let radiance = irradiance / (0.5 * PI * SOFT_LIGHT_RADIUS.sin().powi(2));
        for i in 0..environment.width * environment.height {
            let facing = environment.direction(i % environment.width, i / environment.width).dot(to_light);
            if facing > edge {
                let shape = (facing - edge) / (1.0 - edge);
                let pixel = &mut environment.pixels[i as usize];
                *pixel = (Vec3::from(*pixel) + radiance * shape).to_array();
            }
        }
    }
    environment
}

/// Positions of the camera that stand for all of them.
pub(super) fn eyes(scene: &Scene) -> Vec<Vec3> {
    let step = scene.shots.len().div_ceil(MAX_EYES).max(1);
    scene.shots.iter().step_by(step).map(|shot| shot.camera.position).collect()
}

/// Lights whose bounces are gathered: the sun and the key.
fn bake_lights(scene: &Scene, sun: Option<&Sun>) -> Vec<BakeLight> {
    let sun = sun.map(|s| BakeLight::Directional { to_light: s.to_light, irradiance: s.irradiance });
    let key = scene.key_light.map(|key| BakeLight::Point {
        position: key.position,
        intensity: key.irradiance * key.position.distance_squared(key.target),
    });
    sun.into_iter().chain(key).collect()
}
