//! Computes the light on all meshes. `bake` and `bake_light` are the entry points of the crate.

use std::convert::identity;

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::coarse::CoarseSamples;
use crate::gather::{GatherResult, Occluder, Scene};
use crate::geometry::MeshGeometry;
use crate::grids::grids;
use crate::light::{LightValue, LitPoint};
use crate::lit_surface::{LitSurface, lit_surfaces};
use crate::neighbours::Neighbours;
use crate::point_lists::PointLists;
use crate::radiosity::Radiosity;
use crate::refine::{Refiner, SubTriangle, initial_sub_triangles};
use crate::samples::{NO_SAMPLE, SamplePoints, VertexSamples};
use crate::sampling::RayDirections;
use crate::types::{BakeLight, BakeMesh, BakeOptions, Baked, BakedMesh, GatheredLight, LightGrid};

/// Computes the light on every mesh that receives light, like [`bake_light`], with the geometry of `meshes`.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    camera_positions: &[Vec3],
    options: &BakeOptions,
) -> Baked {
    let geometry = MeshGeometry::new(meshes, options);
    let (meshes, surfaces) = bake_light(&geometry, meshes, environment, lights, camera_positions, options, identity);
    Baked { meshes, surfaces }
}

/// Computes the light on every mesh that receives light. `geometry` must have been computed from the same `meshes` and
/// `options`, except that shadow catchers at the end of `meshes` may be others. More points are sampled where the light
/// varies on a surface that is visible from one of `camera_positions`. `use_surfaces` is called with
/// [`Baked::surfaces`], and may run while these points are sampled.
/// Shape: the lists have one entry per mesh. The entry of a mesh that does not receive light is empty.
/// Returns [`Baked::meshes`], and the result of `use_surfaces`.
pub fn bake_light<T: Send>(
    geometry: &MeshGeometry,
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    camera_positions: &[Vec3],
    options: &BakeOptions,
    use_surfaces: impl FnOnce(Vec<LitSurface>) -> T + Send,
) -> (Vec<BakedMesh>, T) {
    let scene = Scene::new(meshes, &geometry.occluders, environment, lights);
    let samples = SamplePoints::new(meshes, &geometry.vertices);
    let rays_per_vertex = (options.ray_budget / samples.len().max(1)).clamp(options.min_samples, options.max_samples);
    // The fraction of the ray budget that is used for sample points at vertices.
    let vertex_ray_share = ((samples.len() * rays_per_vertex) as f32 / options.ray_budget as f32).min(1.0);
    let coarse = CoarseSamples::new(samples, options, vertex_ray_share);
    let sub_triangles = initial_sub_triangles(&coarse, options.max_refined);
    let seen = visible_to_cameras(&scene, &coarse, &sub_triangles, camera_positions);
    let (gathered, occluders) = gather(&scene, &coarse, &seen, rays_per_vertex, options);
    let radiosity = Radiosity::solve(&scene, &coarse, &gathered, &occluders, options.bounces);
    let mut light: Vec<LightValue> = gathered
        .par_iter()
        .zip(radiosity.indirect.par_iter().zip(radiosity.occluder_luminance()))
        .map(|(gathered, (indirect, blocked))| LightValue::new(gathered, *indirect, blocked))
        .collect();
    let reliable: Vec<bool> = gathered.iter().map(|g| !g.is_inside_body()).collect();
    geometry.smoothing.fill(&mut light, &reliable);
    geometry.smoothing.smooth(&mut light, &gathered, rays_per_vertex);
    Neighbours::on_lattices(&coarse).fit(&mut light, &gathered, &coarse.samples);
    let mut lit: Vec<LitPoint> = light
        .par_iter()
        .zip(&gathered)
        .zip(&seen)
        .map(|((light, gathered), seen)| LitPoint::new(*light, gathered, *seen))
        .collect();
    let surfaces = if options.surfaces {
        lit_surfaces(&scene, &coarse, &gathered, &lit, options.shared_cell > 0.0)
    } else {
        Vec::new()
    };
    let budget = options.probe_budget as f32 * (1.0 - vertex_ray_share * PROBES_SAVED_BY_VERTICES);
    let probe_directions = RayDirections::fixed_per_normal(options.probe_samples);
    let max_probes = budget as usize / probe_directions.len();
    let refiner = Refiner {
        scene: &scene,
        radiosity: &radiosity,
        directions: &probe_directions,
        max_probes,
        camera_positions,
        options,
    };
    let mut samples = coarse.samples.clone();
    let refine = || {
        refiner.refine(sub_triangles, &mut samples, &mut lit);
        grids(&coarse, &samples, &lit, options.min_spacing)
    };
    let (grids, used) = rayon::join(refine, || use_surfaces(surfaces));
    (baked_meshes(&scene, &samples, &lit, grids, options), used)
}

/// Returns the light of the sample points, grouped by mesh.
fn baked_meshes(
    scene: &Scene<'_>,
    samples: &SamplePoints<'_>,
    lit: &[LitPoint],
    grids: Vec<Vec<LightGrid>>,
    options: &BakeOptions,
) -> Vec<BakedMesh> {
    let light_of_sample = |sample: &u32| {
        if *sample == NO_SAMPLE { GatheredLight::default() } else { GatheredLight::from(lit[*sample as usize].light) }
    };
    let light_at_vertices = |vertex_samples: &[u32]| vertex_samples.par_iter().map(light_of_sample).collect();
    let of_mesh = |((mesh, vertex_samples), grids): ((&BakeMesh, &VertexSamples), Vec<LightGrid>)| {
        if mesh.is_shadow_catcher {
            let front = light_on_shadow_catcher(scene, mesh, options.shadow_catcher_samples);
            return BakedMesh { front, ..BakedMesh::default() };
        }
        BakedMesh {
            front: light_at_vertices(&vertex_samples.front),
            back: light_at_vertices(&vertex_samples.back),
            grids,
        }
    };
    samples.meshes.par_iter().zip(&samples.vertex_samples).zip(grids).map(of_mesh).collect()
}

/// Returns for each sample point whether a camera sees it. Only points that are a corner of one of `sub_triangles` are
/// tested. The entries of all other points are false and are not used.
fn visible_to_cameras(
    scene: &Scene<'_>,
    coarse: &CoarseSamples<'_>,
    sub_triangles: &[SubTriangle],
    camera_positions: &[Vec3],
) -> Vec<bool> {
    let mut is_corner = vec![false; coarse.samples.len()];
    for sample in sub_triangles.iter().filter_map(|triangle| triangle.corners(&coarse.samples)).flatten() {
        is_corner[sample as usize] = true;
    }
    coarse
        .samples
        .list
        .par_iter()
        .zip(is_corner)
        .map(|(sample, is_corner)| is_corner && scene.is_seen(sample, camera_positions))
        .collect()
}

/// Fraction of `BakeOptions::probe_budget` that is not used if the sample points at vertices use the whole
/// `BakeOptions::ray_budget`.
const PROBES_SAVED_BY_VERTICES: f32 = 0.85;

/// Casts the rays of all coarse sample points. A sample point at a vertex casts `rays_per_vertex` rays. Returns the results
/// of all points, and their occluders.
fn gather(
    scene: &Scene<'_>,
    coarse: &CoarseSamples<'_>,
    seen: &[bool],
    rays_per_vertex: usize,
    options: &BakeOptions,
) -> (Vec<GatherResult>, PointLists<Occluder>) {
    let vertex_directions = RayDirections::jittered(rays_per_vertex);
    let seen_directions = RayDirections::jittered(options.seen_samples);
    let unseen_directions = RayDirections::jittered(options.unseen_samples);
    let directions = |i: usize| match (i < coarse.vertex_count, seen[i]) {
        (true, _) => &vertex_directions,
        (false, true) => &seen_directions,
        (false, false) => &unseen_directions,
    };
    let points = &coarse.samples.list;
    PointLists::compute(points.len(), |i, occluders| scene.gather(&points[i], directions(i), occluders))
}

/// Computes the light that arrives at the vertices of a shadow catcher without being reflected.
fn light_on_shadow_catcher(scene: &Scene<'_>, mesh: &BakeMesh, samples: usize) -> Vec<GatheredLight> {
    let directions = RayDirections::fixed_per_normal(samples);
    // A shadow catcher is usually flat, so the rays of all its vertices have the same directions.
    let mut positions = mesh.positions.as_slice();
    let same_normal = mesh.normals.chunk_by(PartialEq::eq).map(|normals| {
        let (points, rest) = positions.split_at(normals.len().min(positions.len()));
        positions = rest;
        (points, normals[0])
    });
    let shares = |(points, normal): (&[Vec3], Vec3)| scene.direct_shares(points, normal, &directions);
    let shares: Vec<Vec<Vec3>> = same_normal.collect::<Vec<_>>().into_par_iter().map(shares).collect();
    shares.into_iter().flatten().map(|direct| GatheredLight { direct, ..GatheredLight::default() }).collect()
}
