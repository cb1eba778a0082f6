//! The entry: meshes and light in, light per vertex out.

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::bounce::Bounces;
use crate::gather::{Gathered, Scene};
use crate::hemisphere::Hemisphere;
use crate::neighbours::{Light, Neighbours};
use crate::types::{BakeLight, BakeMesh, BakeOptions, BakedVertex};
use crate::weld::{Receiver, weld};

/// Share of rays that meet the inner side of a surface, above which a place is taken to be inside of a body.
const INSIDE: f32 = 0.5;

/// Gathers light for every vertex of every receiving mesh.
/// Shape: a list per mesh with an entry per vertex; empty for meshes that do not receive.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    options: &BakeOptions,
) -> Vec<Vec<BakedVertex>> {
    let welded = weld(meshes);
    let neighbours = Neighbours::new(meshes, &welded);
    let scene = Scene::new(meshes, environment, lights);
    let samples = options.ray_budget / welded.receivers.len().max(1);
    let hemisphere = Hemisphere::new(samples.clamp(options.min_samples, options.max_samples));
    let first: Vec<Gathered> = welded.receivers.par_iter().map(|r| scene.gather(r, &hemisphere)).collect();
    let trusted: Vec<bool> = first.iter().map(|g| g.inside < INSIDE).collect();
    let mut bounces = Bounces::new(&scene, &welded, &first, hemisphere.count());
    for _ in 0..options.bounces {
        bounces.advance();
    }
    let light = first
        .iter()
        .zip(bounces.indirect.iter().zip(bounces.blocked()))
        .map(|(one, (indirect, blocked))| Light {
            direct: one.direct_share(),
            indirect: *indirect,
            visibility: one.visibility,
            blocked,
        })
        .collect();
    let light = neighbours.smoothed(neighbours.filled(light, &trusted), &welded);
    let value = |r: &u32| light.get(*r as usize).copied().map(BakedVertex::from).unwrap_or_default();
    let of_mesh = |(mesh, of_vertex): (&BakeMesh, &Vec<u32>)| {
        if mesh.is_floor() {
            floor(&scene, mesh)
        } else if mesh.receives {
            of_vertex.iter().map(value).collect()
        } else {
            Vec::new()
        }
    };
    meshes.iter().zip(&welded.of_vertex).map(of_mesh).collect()
}

/// Rays for each place of a floor: it is one smooth surface, on which noise would show.
const FLOOR_SAMPLES: usize = 128;

/// What arrives directly. Every place takes the same directions.
fn floor(scene: &Scene<'_>, mesh: &BakeMesh) -> Vec<BakedVertex> {
    let hemisphere = Hemisphere::new(FLOOR_SAMPLES);
    let receivers: Vec<Receiver> = mesh
        .positions
        .iter()
        .zip(&mesh.normals)
        .map(|(position, normal)| Receiver { position: *position, normal: *normal, inset: Vec3::ZERO })
        .collect();
    let direct = |r: &Receiver| BakedVertex { direct: scene.probe(r, &hemisphere), ..BakedVertex::default() };
    receivers.par_iter().map(direct).collect()
}

impl From<Light> for BakedVertex {
    fn from(light: Light) -> Self {
        Self {
            direct: light.direct,
            indirect: light.indirect,
            visibility: light.visibility.to_array(),
            blocked: light.blocked.to_array(),
        }
    }
}
