//! The entry: meshes and light in, light per vertex out.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::gather::{Blocked, Gathered, Scene, corners};
use crate::hemisphere::Hemisphere;
use crate::neighbours::{Light, Neighbours};
use crate::types::{BakeLight, BakeMesh, BakeOptions, BakedVertex};
use crate::weld::{NONE, Welded, weld};

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
    let indirect = bounce(&scene, &welded, &first, options.bounces, hemisphere.count());
    let light = first
        .iter()
        .zip(indirect)
        .map(|(one, indirect)| Light { direct: one.direct_share(), indirect, visibility: one.visibility })
        .collect();
    let light = neighbours.smoothed(neighbours.filled(light, &trusted), &welded);
    let unused = Light { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: Vec4::X };
    let value = |r: &u32| light.get(*r as usize).copied().unwrap_or(unused).into();
    let of_mesh = |(mesh, of_vertex): (&BakeMesh, &Vec<u32>)| {
        if mesh.receives { of_vertex.iter().map(value).collect() } else { Vec::new() }
    };
    meshes.iter().zip(&welded.of_vertex).map(of_mesh).collect()
}

impl From<Light> for BakedVertex {
    fn from(light: Light) -> Self {
        Self { direct: light.direct, indirect: light.indirect, visibility: light.visibility.to_array() }
    }
}

/// Lets light bounce between the places that rays found (Goral et al. 1984), without new rays.
fn bounce(scene: &Scene<'_>, welded: &Welded, first: &[Gathered], bounces: usize, samples: usize) -> Vec<Vec3> {
    let own: Vec<Vec3> = first.iter().map(|g| g.direct + g.beams).collect();
    let mut indirect = vec![Vec3::ZERO; first.len()];
    let scale = PI / samples as f32;
    for _ in 0..bounces {
        let radiance = |hit: &Blocked| {
            let mesh = &scene.meshes[hit.id.mesh as usize];
            let of_vertex = &welded.of_vertex[hit.id.mesh as usize];
            let at = |corner: usize| {
                let emitted = mesh.emission.get(corner).copied().unwrap_or(Vec3::ZERO);
                match of_vertex[corner] {
                    NONE => emitted,
                    r => emitted + mesh.albedo[corner] * (own[r as usize] + indirect[r as usize]) / PI,
                }
            };
            let [a, b, c] = corners(mesh, hit.id).map(at);
            (a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v) * hit.share
        };
        indirect = first.par_iter().map(|g| g.blocked.iter().map(radiance).sum::<Vec3>() * scale).collect();
    }
    indirect
}

#[cfg(test)]
mod tests {
    use super::*;

    fn white() -> EnvironmentMap {
        EnvironmentMap { width: 16, height: 8, pixels: vec![[1.0; 3]; 128] }
    }

    /// A square grid in the plane z = `z`, facing `normal`.
    fn plane(size: f32, z: f32, normal: Vec3, albedo: Vec3) -> BakeMesh {
        let n = 9_u32;
        let at = |i: u32| (i as f32 / (n - 1) as f32 - 0.5) * size;
        let positions: Vec<Vec3> = (0..n * n).map(|i| Vec3::new(at(i % n), at(i / n), z)).collect();
        let indices = (0..(n - 1) * (n - 1))
            .flat_map(|i| {
                let a = i / (n - 1) * n + i % (n - 1);
                [a, a + 1, a + n, a + 1, a + n + 1, a + n]
            })
            .collect();
        BakeMesh {
            normals: vec![normal; positions.len()],
            albedo: vec![albedo; positions.len()],
            positions,
            indices,
            occludes: true,
            receives: true,
            ..BakeMesh::default()
        }
    }

    fn options() -> BakeOptions {
        BakeOptions { ray_budget: 1 << 20, ..BakeOptions::default() }
    }

    #[test]
    fn nothing_in_the_way_leaves_all_light() {
        let baked = bake(&[plane(1.0, 0.0, Vec3::Z, Vec3::ONE)], &white(), &[], &options());
        for v in &baked[0] {
            assert_eq!(v.direct, Vec3::ONE);
            assert_eq!(v.indirect, Vec3::ZERO);
            assert!((v.visibility[0] - 1.0).abs() < 1e-3, "{v:?}");
        }
    }

    #[test]
    fn a_wide_cover_close_by_takes_nearly_all_light_and_returns_its_colour() {
        let floor = plane(1.0, 0.0, Vec3::Z, Vec3::splat(0.5));
        let cover = plane(20.0, 0.1, Vec3::NEG_Z, Vec3::new(0.9, 0.1, 0.1));
        let baked = bake(&[floor, cover], &white(), &[], &options());
        let middle = baked[0][40];
        assert!(middle.direct.x < 0.05, "{middle:?}");
        assert!(middle.indirect.x >= middle.indirect.y, "{middle:?}");
    }

    #[test]
    fn half_a_sky_blocked_by_a_tall_wall_is_about_half() {
        // A wall in the plane x = 0 seen from a floor point right beside it.
        let floor = plane(0.02, 0.0, Vec3::Z, Vec3::ZERO);
        let mut wall = plane(40.0, 0.0, Vec3::X, Vec3::ZERO);
        wall.positions = wall.positions.iter().map(|p| Vec3::new(-0.02, p.x, p.y)).collect();
        let baked = bake(&[floor, wall], &white(), &[], &options());
        assert!((baked[0][40].direct.x - 0.5).abs() < 0.06, "{:?}", baked[0][40]);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let meshes = [plane(1.0, 0.0, Vec3::Z, Vec3::ONE), plane(1.0, 0.4, Vec3::NEG_Z, Vec3::ONE)];
            pool.install(|| bake(&meshes, &white(), &[], &options()))
        };
        assert_eq!(run(1), run(4));
    }

    #[test]
    fn glass_lets_its_share_through() {
        let floor = plane(0.5, 0.0, Vec3::Z, Vec3::ZERO);
        let mut glass = plane(40.0, 0.1, Vec3::NEG_Z, Vec3::ZERO);
        glass.transparency = vec![0.6; glass.positions.len()];
        let baked = bake(&[floor, glass], &white(), &[], &options());
        assert!((baked[0][40].direct.x - 0.6).abs() < 0.03, "{:?}", baked[0][40]);
    }
}
