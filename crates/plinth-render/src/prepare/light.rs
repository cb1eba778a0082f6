//! Computes the light on the model and the maps of the environment, before the first frame.

use std::collections::BTreeSet;
use std::f32::consts::PI;
use std::sync::Arc;

use glam::Vec3;
use plinth_bake::{BakeLight, BakeOptions, BakedMesh, LitSurface, MeshGeometry, Sun, bake_light, extract_sun};
use plinth_model::{TextureEncoding, TextureSlot};
use plinth_scene::{EnvironmentMap, LightDetail, PointLikeLight, Scene};
use rayon::prelude::*;

use super::bake_input::{bake_meshes, floor_grid};
use super::distance_field::{DistanceField, is_worthwhile};
use super::eyes::eyes;
use super::{EnvironmentLight, KnownTriangles, ModelLight, PrepareInputs, SurfaceLight};
use crate::ibl::{FilterQuality, irradiance_map, prefilter};
use crate::pass::floor::AMBIENT_SIDE;
use crate::pose_light::PoseTimes;
use crate::upload::geometry::primitive_of;

/// Quality of the filtered environment. The level with roughness 0 has 544 texels per side.
const USUAL: FilterQuality = FilterQuality { mips: 6, samples: 1.0 };
/// Quality of the filtered environment for drafts. The level with roughness 0 has 272 texels per side.
const DRAFT: FilterQuality = FilterQuality { mips: 5, samples: 0.5 };

impl EnvironmentLight {
    /// Filters a panorama for all roughnesses.
    pub(super) fn new(sky: &Sky, detail: LightDetail) -> Self {
        let quality = if detail.is_draft() { &DRAFT } else { &USUAL };
        Self { sun: sky.sun, specular: prefilter(&sky.map, quality), irradiance: irradiance_map(&sky.map) }
    }
}

impl ModelLight {
    /// Bakes the light of a panorama and its sun on the triangles that are drawn.
    pub(super) fn new(inputs: &PrepareInputs<'_>, sky: &Sky, triangles: KnownTriangles) -> Self {
        decode_images(inputs);
        let KnownTriangles { indices, geometry } = triangles;
        let detail = inputs.scene.light_detail;
        let field = |surfaces: Vec<LitSurface>| DistanceField::new(inputs.moving, &surfaces, detail);
        let (light, field, geometry) = gathered(inputs, &indices, geometry, sky, bake_options(inputs), field);
        let is_interactive = detail == LightDetail::Interactive;
        Self { indices, geometry: is_interactive.then_some(geometry), light, field }
    }
}

impl SurfaceLight {
    /// Bakes light on the triangles `indices`, which were chosen for another pose.
    pub(super) fn new(inputs: &PrepareInputs<'_>, indices: &[Vec<u32>], sky: &Sky) -> Self {
        decode_images(inputs);
        let options = BakeOptions { surfaces: false, ..bake_options(inputs) };
        gathered(inputs, indices, None, sky, options, drop).0
    }
}

/// Decodes all images whose texels are read for the light. Otherwise, all threads would wait for one image after another.
fn decode_images(inputs: &PrepareInputs<'_>) {
    let model = &inputs.scene.model;
    let primitives = inputs.posed.iter().filter_map(|one| primitive_of(inputs.scene, one));
    let materials: BTreeSet<usize> = primitives.map(|primitive| primitive.material).collect();
    let of_material = |index: usize| {
        let slots = TextureSlot::ALL.into_iter().filter(|slot| slot.encoding() != TextureEncoding::Normal);
        slots.filter_map(move |slot| slot.of(&model.materials[index]))
    };
    let references = materials.into_iter().flat_map(of_material);
    model.decode_images(references.filter_map(|reference| Some(model.textures.get(reference.texture)?.image)));
}

/// Returns the light on the triangles `indices`, what `use_surfaces` computes from the light that leaves their surfaces,
/// and their geometry. If the geometry of the same triangles is already known, it is given as `geometry`.
fn gathered<T: Send>(
    inputs: &PrepareInputs<'_>,
    indices: &[Vec<u32>],
    geometry: Option<Arc<MeshGeometry>>,
    sky: &Sky,
    options: BakeOptions,
    use_surfaces: impl FnOnce(Vec<LitSurface>) -> T + Send,
) -> (SurfaceLight, T, Arc<MeshGeometry>) {
    let scene = inputs.scene;
    let mut meshes = bake_meshes(scene, inputs.posed, indices);
    meshes.extend(inputs.floor.map(floor_grid));
    let lights = bake_lights(scene, sky.sun.as_ref());
    let geometry = geometry.unwrap_or_else(|| Arc::new(MeshGeometry::new(&meshes, &options)));
    let (mut baked, used) = bake_light(&geometry, &meshes, &sky.map, &lights, &eyes(scene), &options, use_surfaces);
    let floor_ambient = if inputs.floor.is_some() {
        let floor = baked.pop().unwrap_or_default();
        let grid: Vec<f32> = floor.front.iter().map(|v| v.direct.dot(Vec3::splat(1.0 / 3.0))).collect();
        softened(&grid, AMBIENT_SIDE as usize)
    } else {
        Vec::new()
    };
    // An exponent of 1 changes nothing.
    if (scene.occlusion - 1.0).abs() > 0.0 {
        for light in baked.iter_mut().flat_map(BakedMesh::all_mut) {
            *light = light.occluded(scene.occlusion);
        }
    }
    (SurfaceLight { baked, floor_ambient }, used, geometry)
}

/// The environment as a light source.
pub(crate) struct Sky {
    /// The panorama without its sun. Directional lights are drawn into the panorama as soft discs.
    pub(super) map: EnvironmentMap,
    pub(super) sun: Option<Sun>,
}

impl Sky {
    pub(crate) fn of(scene: &Scene) -> Self {
        let (map, sun) = extract_sun(&scene.environment);
        Self { map: with_soft_lights(map, &scene.lights), sun }
    }
}

/// Returns the options of the bake, which determine its quality.
pub(super) fn bake_options(inputs: &PrepareInputs<'_>) -> BakeOptions {
    let options = BakeOptions::default();
    let detail = inputs.scene.light_detail;
    let options = match detail {
        LightDetail::Interactive => options.interactive(),
        LightDetail::Draft => options.draft(),
        LightDetail::Usual => options,
        LightDetail::Fine => options.finer(),
    };
    let is_moving = !detail.is_draft() && PoseTimes::for_inputs(inputs).is_some();
    let options = if is_moving { options.coarser() } else { options };
    BakeOptions { surfaces: is_worthwhile(inputs.scene, inputs.posed), ..options }
}

/// Blurs a square grid with binomial weights.
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

/// Angular radius of the lights that are drawn into the environment, in radians.
const SOFT_LIGHT_RADIUS: f32 = 0.3;
/// Minimum number of columns of a panorama into which lights are drawn. A light is then twelve texels wide.
const MIN_SOFT_LIGHT_WIDTH: u32 = 128;
/// Minimum number of rows of a panorama into which lights are drawn.
const MIN_SOFT_LIGHT_HEIGHT: u32 = 64;

/// Draws directional lights into the environment as soft discs. As part of the environment, these lights need not be
/// computed for each pixel. Such lights cast no sharp shadows, but are occluded by the model and have soft highlights.
fn with_soft_lights(environment: EnvironmentMap, lights: &[PointLikeLight]) -> EnvironmentMap {
    let edge = SOFT_LIGHT_RADIUS.cos();
    // A disc whose radiance falls off with the cosine has half the irradiance of a uniform disc with the same solid
    // angle.
    let disc = |light: &PointLikeLight| match *light {
        PointLikeLight::Directional { to_light, irradiance } => {
            Some((to_light, irradiance / (0.5 * PI * SOFT_LIGHT_RADIUS.sin().powi(2))))
        }
        PointLikeLight::Point { .. } => None,
    };
    let discs: Vec<(Vec3, Vec3)> = lights.iter().filter_map(disc).collect();
    if discs.is_empty() {
        return environment;
    }
    let mut environment = environment.enlarged(MIN_SOFT_LIGHT_WIDTH, MIN_SOFT_LIGHT_HEIGHT).into_owned();
    let directions = environment.directions();
    environment.pixels.par_chunks_mut(environment.width as usize).zip(0..environment.height).for_each(|(row, y)| {
        for (pixel, direction) in row.iter_mut().zip(directions.of_row(y)) {
            for (to_light, radiance) in &discs {
                let facing = direction.dot(*to_light);
                if facing > edge {
                    let shape = (facing - edge) / (1.0 - edge);
                    *pixel = (Vec3::from(*pixel) + *radiance * shape).to_array();
                }
            }
        }
    });
    environment
}

/// Returns the lights whose reflected light is baked: the sun and the key light.
fn bake_lights(scene: &Scene, sun: Option<&Sun>) -> Vec<BakeLight> {
    let sun = sun.map(|s| BakeLight::Directional { to_light: s.to_light, irradiance: s.irradiance });
    let key = scene.key_light.map(|key| BakeLight::Point {
        position: key.position,
        intensity: key.irradiance * key.position.distance_squared(key.target),
    });
    sun.into_iter().chain(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the irradiance of a surface with the normal `n`.
    fn irradiance(map: &EnvironmentMap, n: Vec3) -> Vec3 {
        let mut sum = Vec3::ZERO;
        for y in 0..map.height {
            let theta = (y as f32 + 0.5) / map.height as f32 * PI;
            let solid_angle = theta.sin() * (PI / map.height as f32) * (2.0 * PI / map.width as f32);
            for x in 0..map.width {
                let weight = map.direction(x, y).dot(n).max(0.0) * solid_angle;
                sum += Vec3::from(map.pixels[(y * map.width + x) as usize]) * weight;
            }
        }
        sum
    }

    #[test]
    fn the_irradiance_of_a_directional_light_does_not_depend_on_the_size_of_the_panorama() {
        let directions = [Vec3::new(1.0, 0.35, 0.8), Vec3::new(0.5, 0.7, -1.0), Vec3::Y, Vec3::NEG_X];
        for (width, height) in [(2, 1), (4, 2), (8, 4), (16, 8), (64, 32), (512, 256)] {
            for to_light in directions.map(Vec3::normalize) {
                let night = EnvironmentMap { width, height, pixels: vec![[0.0; 3]; (width * height) as usize] };
                let light = PointLikeLight::Directional { to_light, irradiance: Vec3::new(0.5, 1.0, 2.0) };
                let [r, g, b] = irradiance(&with_soft_lights(night, &[light]), to_light).to_array();
                assert!((g - 1.0).abs() < 0.1, "{width}×{height}, {to_light}: {g}");
                assert!((r - 0.5 * g).abs() < 1e-3 && (b - 2.0 * g).abs() < 1e-3, "{r} {g} {b}");
            }
        }
    }

    #[test]
    fn a_small_panorama_gives_the_same_light_after_lights_are_drawn_into_it() {
        let pixels = vec![[1.0, 0.0, 0.5], [0.0, 0.0, 0.5], [0.0, 2.0, 0.5], [0.0, 1.0, 0.5]];
        let map = EnvironmentMap { width: 2, height: 2, pixels };
        let black = PointLikeLight::Directional { to_light: Vec3::Y, irradiance: Vec3::ZERO };
        let drawn = with_soft_lights(map.clone(), &[black]);
        for y in 0..drawn.height {
            for x in 0..drawn.width {
                let found = Vec3::from(drawn.pixels[(y * drawn.width + x) as usize]);
                assert!((found - map.radiance(drawn.direction(x, y))).length() < 1e-5, "{x} {y}: {found}");
            }
        }
        let large = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.5; 3]; 256 * 128] };
        assert_eq!(with_soft_lights(large.clone(), &[black]), large);
        assert_eq!(with_soft_lights(map.clone(), &[]), map);
    }
}
