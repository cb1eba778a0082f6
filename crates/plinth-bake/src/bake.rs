//! The entry: meshes and light in, light on surfaces out.

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::coarse::Coarse;
use crate::gather::{Gathered, Scene};
use crate::grids::grids;
use crate::light::{Light, Lit};
use crate::neighbours::Neighbours;
use crate::places::{NONE, Place, Places};
use crate::radiosity::Radiosity;
use crate::refine::Refiner;
use crate::sampling::Directions;
use crate::types::{BakeLight, BakeMesh, BakeOptions, BakedMesh, GatheredLight};

/// Gathers light for every mesh that receives it, the finer where a camera at one of the `eyes` sees it change.
/// Shape: one entry per mesh; empty for meshes that do not receive.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    eyes: &[Vec3],
    options: &BakeOptions,
) -> Vec<BakedMesh> {
    let scene = Scene::new(meshes, environment, lights);
    let coarse = Coarse::new(Places::of_vertices(meshes), options);
    let at_places = Directions::scattered(options.place_samples);
    let probes = Directions::alike(options.probe_samples);
    let gathered = gather(&scene, &coarse, options, &at_places);
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
        .zip(&coarse.places.list)
        .map(|((light, gathered), place)| Lit::new(*light, gathered, scene.is_seen(place, eyes)))
        .collect();
    let refiner =
        Refiner { scene: &scene, radiosity: &radiosity, directions: &probes, eyes, options };
    let mut places = coarse.places.clone();
    refiner.refine(&coarse, &mut places, &mut lit);
    eprintln!("vertices {} coarse {} added {}", coarse.vertices, coarse.places.len(), places.len() - coarse.places.len());
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
    meshes.iter().zip(&places.of_vertex).zip(grids).map(of_mesh).collect()
}

/// Casts the rays of all coarse places: those on large triangles have many, vertices as many as there is time for.
fn gather(scene: &Scene<'_>, coarse: &Coarse<'_>, options: &BakeOptions, at_places: &Directions) -> Vec<Gathered> {
    let samples = options.ray_budget / coarse.vertices.max(1);
    let at_vertices = Directions::scattered(samples.clamp(options.min_samples, options.max_samples));
    let directions = |i: usize| if i < coarse.vertices { &at_vertices } else { at_places };
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
