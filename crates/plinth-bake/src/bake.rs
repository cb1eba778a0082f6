//! The entry: meshes and light in, light on surfaces out.

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::coarse::Coarse;
use crate::gather::{Gathered, Scene};
use crate::grids::grids;
use crate::light::{Light, Lit};
use crate::lit_surface::lit_surfaces;
use crate::neighbours::Neighbours;
use crate::places::{NONE, Place, Places};
use crate::radiosity::Radiosity;
use crate::refine::{Part, Refiner, first_parts};
use crate::sampling::Directions;
use crate::types::{BakeLight, BakeMesh, BakeOptions, Baked, BakedMesh, GatheredLight};

/// Gathers light for every mesh that receives it, the finer where a camera at one of the `eyes` sees it change.
/// Shape: one entry per mesh in each list; empty for meshes that do not receive.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    eyes: &[Vec3],
    options: &BakeOptions,
) -> Baked {
    let scene = Scene::new(meshes, environment, lights);
    let places = Places::of_vertices(meshes);
    let samples = (options.ray_budget / places.len().max(1)).clamp(options.min_samples, options.max_samples);
    // Share of their rays that the vertices take.
    let spent = ((places.len() * samples) as f32 / options.ray_budget as f32).min(1.0);
    let coarse = Coarse::new(places, options, spent);
    let parts = first_parts(&coarse);
    let seen = seen(&scene, &coarse, &parts, eyes);
    let gathered = gather(&scene, &coarse, &seen, samples, options);
    let radiosity = Radiosity::solved(&scene, &coarse, &gathered, options.bounces);
    let neighbours = Neighbours::of_vertices(&coarse.places, coarse.vertices);
    let mut light: Vec<Light> = gathered
        .iter()
        .zip(radiosity.indirect.iter().zip(radiosity.blocked()))
        .map(|(one, (indirect, blocked))| Light::new(one, *indirect, blocked))
        .collect();
    let trusted: Vec<bool> = gathered.iter().map(|g| !g.is_inside()).collect();
    neighbours.fill(&mut light, &trusted);
    neighbours.smooth(&mut light, &coarse.places);
    Neighbours::on_lattices(&coarse).fit(&mut light, &gathered, &coarse.places);
    let mut lit: Vec<Lit> = light
        .par_iter()
        .zip(&gathered)
        .zip(&seen)
        .map(|((light, gathered), seen)| Lit::new(*light, gathered, *seen))
        .collect();
    let surfaces = if options.surfaces { lit_surfaces(&scene, &coarse, &gathered, &lit) } else { Vec::new() };
    let budget = options.probe_budget as f32 * (1.0 - spent * DENSE);
    let probes = Directions::alike(options.probe_samples);
    let most = budget as usize / probes.len();
    let refiner = Refiner { scene: &scene, radiosity: &radiosity, directions: &probes, most, eyes, options };
    let mut places = coarse.places.clone();
    refiner.refine(parts, &mut places, &mut lit);
    let grids = grids(&coarse, &places, &lit, options.finest);
    let at_vertices = |of_vertex: &[u32]| {
        let value = |place: &u32| {
            if *place == NONE { GatheredLight::default() } else { GatheredLight::from(lit[*place as usize].light) }
        };
        of_vertex.iter().map(value).collect()
    };
    let of_mesh = |((mesh, of_vertex), grids)| {
        let mesh: &BakeMesh = mesh;
        if mesh.is_floor() {
            return BakedMesh { front: floor(&scene, mesh), ..BakedMesh::default() };
        }
        let of_vertex: &crate::places::VertexPlaces = of_vertex;
        BakedMesh { front: at_vertices(&of_vertex.front), back: at_vertices(&of_vertex.back), grids }
    };
    Baked { meshes: meshes.iter().zip(&places.of_vertex).zip(grids).map(of_mesh).collect(), surfaces }
}

/// Which places a camera sees. Only corners of the parts are asked: for other places nothing depends on it.
fn seen(scene: &Scene<'_>, coarse: &Coarse<'_>, parts: &[Part], eyes: &[Vec3]) -> Vec<bool> {
    let mut asked = vec![false; coarse.places.len()];
    for place in parts.iter().filter_map(|part| part.corners(&coarse.places)).flatten() {
        asked[place as usize] = true;
    }
    coarse.places.list.par_iter().zip(asked).map(|(place, asked)| asked && scene.is_seen(place, eyes)).collect()
}

/// Share of the comparisons that is saved where the vertices alone take all rays that they may.
const DENSE: f32 = 0.85;

/// Casts the rays of all coarse places, `samples` from each vertex.
fn gather(
    scene: &Scene<'_>,
    coarse: &Coarse<'_>,
    seen: &[bool],
    samples: usize,
    options: &BakeOptions,
) -> Vec<Gathered> {
    let at_vertices = Directions::scattered(samples);
    let at_seen = Directions::scattered(options.place_samples);
    let at_unseen = Directions::scattered(options.unseen_samples);
    let directions = |i: usize| match (i < coarse.vertices, seen[i]) {
        (true, _) => &at_vertices,
        (false, true) => &at_seen,
        (false, false) => &at_unseen,
    };
    coarse.places.list.par_iter().enumerate().map(|(i, place)| scene.gather(place, directions(i))).collect()
}

/// Rays for each place of a floor: it is one smooth surface, on which noise would show.
const FLOOR_SAMPLES: usize = 128;

/// What arrives directly.
fn floor(scene: &Scene<'_>, mesh: &BakeMesh) -> Vec<GatheredLight> {
    let directions = Directions::alike(FLOOR_SAMPLES);
    let direct = |(position, normal): (&Vec3, &Vec3)| {
        let place = Place { position: *position, normal: *normal, inset: Vec3::ZERO };
        GatheredLight { direct: scene.probe(&place, &directions), ..GatheredLight::default() }
    };
    mesh.positions.par_iter().zip(&mesh.normals).map(direct).collect()
}
